"""The words of a source with one word of foresight, and how deep its brackets lie in each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolcall_operator.core.policy.cel import tokens
from toolcall_operator.core.policy.cel.errors import Fault
from toolcall_operator.core.policy.cel.tokens import Token

LEVELS = 32
"""How deep brackets, arguments and else branches may lie in each other."""

_WANTED = {"end": "the end", "name": "a name"}


class Reading:
    """Words are taken from left to right; `kind` is that of the next one."""

    def __init__(self, source: str) -> None:
        self._words = tokens.words(source)
        self._next = next(self._words)
        self._level = 0

    @property
    def kind(self) -> str:
        """The kind of the next word."""
        return self._next.kind

    @property
    def at(self) -> int:
        """Where the next word stands."""
        return self._next.at

    def take(self, kind: str) -> Token:
        """The next word, which must be of this kind.

        Raises:
            Fault: it is of another.
        """
        token = self._next
        if token.kind != kind:
            raise self.unexpected(kind)
        self._next = next(self._words, token)
        return token

    def taken(self, kind: str) -> bool:
        """Whether the next word was of this kind; if so it is taken."""
        if self._next.kind != kind:
            return False
        self.take(kind)
        return True

    def unexpected(self, wanted: str) -> Fault:
        """That something else was wanted in place of the next word."""
        found = "the expression ends" if self._next.kind == "end" else f"{self._next.text} stands"
        return Fault(self._next.at, f"{found} where {_WANTED.get(wanted, wanted)} is expected")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level further in.

        Raises:
            Fault: that is too deep.
        """
        if self._level == LEVELS:
            raise Fault(self.at, f"brackets, arguments and branches lie more than {LEVELS} deep in each other")
        self._level += 1
        yield
        self._level -= 1
