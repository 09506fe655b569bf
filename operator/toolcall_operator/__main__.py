"""`python -m toolcall_operator` is the command `toolcall`."""

from toolcall_operator.cli.main import main

if __name__ == "__main__":
    main(prog_name="toolcall")
