"""What the scripts say while they work: on standard error, because standard output is for the shell."""

import sys


class Impossible(Exception):
    """Something cannot be done here; the text says what and why."""


def say(text: str) -> None:
    """Show one line of progress."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)
