"""The command line: `toolcall`."""
