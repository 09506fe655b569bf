"""What can go wrong on our side, as one tree.

OperatorError
├── Unavailable       as far as anyone knows, nothing happened; the same request may succeed later
├── ProtocolBroken    the other end speaks something else; trying again does not help
├── Rejected          the API server will not have what we wrote; trying again does not help
├── Gone              the object is no more; another of its name does not count
├── Superseded        the object moved on without us
├── Denied            a request must not be sent; trying again does not help
└── SandboxLost       the sandbox in which a call ran cannot answer for it any more

A refused call and a failing tool are values (`core.outcomes`), never exceptions.
No text here holds a secret or unbounded foreign text.
"""

from __future__ import annotations

import traceback

FOREIGN_TEXT_LIMIT = 256


class OperatorError(Exception):
    """A fault of ours, not of the caller and not of the tool."""


class Unavailable(OperatorError):
    """Something of ours could not be reached, or did not answer.

    As far as anyone knows nothing happened: only the answer may be lost. A retry may succeed.
    """


class ProtocolBroken(OperatorError):
    """The other end of a channel broke the protocol; the channel is closed."""


class Rejected(OperatorError):
    """The API server refuses a write for what is in it: too large, or against a rule; nothing changed."""


class Gone(OperatorError):
    """The object is no more. One of the same name with another UID is another object."""


class Superseded(OperatorError):
    """Somebody else changed the object, or we did and did not hear of it; nothing changed. Read it anew."""


class Denied(OperatorError):
    """A request that must not be sent, for where it goes or what it holds; nothing was sent."""


class SandboxLost(OperatorError):
    """The sandbox of a started call cannot answer for it; `reason`, one of `core.reasons`, says what is known."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def sayable(error: BaseException) -> str:
    """What may be said of an error: its text if it is one of ours, else its kind alone: a text can hold anything."""
    return str(error) if isinstance(error, OperatorError) else type(error).__name__


def place(bug: BaseException) -> str:
    """Where a bug is, line by line, without its text."""
    return "".join(traceback.format_tb(bug.__traceback__))


def foreign(text: str) -> str:
    """Text from outside, made fit for a message: one line, printable, at most 256 characters."""
    line = "".join(char if char.isprintable() else " " for char in text).strip()
    return line if len(line) <= FOREIGN_TEXT_LIMIT else line[: FOREIGN_TEXT_LIMIT - 1] + "…"
