"""The way a command ends when it cannot begin its work."""

from __future__ import annotations

import click


class Refusal(click.ClickException):
    """One clear line on stderr, and exit code 2: what was asked cannot be done, and nothing was."""

    exit_code = 2
