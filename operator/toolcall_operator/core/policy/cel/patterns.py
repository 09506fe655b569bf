"""Regular expressions: RE2, whose time is linear in the text and in the pattern, and what that time costs."""

from __future__ import annotations

from collections.abc import Callable

import re2  # type: ignore[import-untyped]  # the package has no annotations

from toolcall_operator.core.policy.cel import globs
from toolcall_operator.core.policy.cel.frame import Frame

LONGEST = 1_024
"""The longest pattern, in characters, that a policy can name."""

LONGEST_COMPUTED = 128
"""The longest pattern that only an evaluation knows."""

_COMPILING = 20_000
"""What it costs to make a pattern within an evaluation, in steps: 3 ms at worst (measured: `\\pL` repeated)."""

_PER_STEP = 16
"""Measured: at worst 8 ns for each byte and instruction (a DFA that was given up); at best 300 times less."""

_MEMORY = 1 << 17
"""What RE2 may use for a pattern and its automaton, in bytes: it bounds the instructions, so the time to compile."""


class BadPattern(ValueError):
    """A pattern that is none, or too large; the message is fit to be shown after the pattern's name."""


class Pattern:
    """A regular expression, ready to be searched for."""

    __slots__ = ("_regexp", "_size")

    def __init__(self, source: str) -> None:
        """Compile it.

        Raises:
            BadPattern: it is none, or too large.
        """
        try:
            self._regexp = re2.compile(source.encode(errors="surrogatepass"), _options())
        except re2.error:
            raise BadPattern("is no regular expression of RE2, or too large") from None
        self._size: int = self._regexp.programsize

    def found(self, frame: Frame, text: str) -> bool:
        """Whether some part of the text matches."""
        encoded = text.encode(errors="surrogatepass")
        frame.charge(1 + len(encoded) * self._size // _PER_STEP)
        return self._regexp.search(encoded) is not None


def regular(source: str, *, known: bool = True) -> Pattern:
    """The pattern of matches(); `known` when the policy names it, and not the call.

    Raises:
        BadPattern: it is none, or too large.
    """
    return _made(source, source, known=known)


def glob(source: str, *, known: bool = True) -> Pattern:
    """The pattern of glob.match(); `known` as above.

    Raises:
        BadPattern: it is none, or too large.
    """
    written = globs.regular(source[: LONGEST + 1])
    if written is None:
        raise BadPattern("is no file pattern")
    return _made(source, written, known=known)


def _made(source: str, written: str, *, known: bool) -> Pattern:
    longest = LONGEST if known else LONGEST_COMPUTED
    if len(source) > longest:
        raise BadPattern(f"has more than {longest} characters")
    return Pattern(written)


def computed(frame: Frame, source: str, made: Callable[..., Pattern]) -> Pattern:
    """A pattern that only an evaluation knows, by `regular` or `glob`; one evaluation makes it once.

    Raises:
        BadPattern: it cannot be made.
    """
    known = frame.patterns.get((source, made))
    if known is None:
        frame.charge(_COMPILING)
        known = frame.patterns[source, made] = made(source, known=False)
    return known


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.never_capture = True
    options.log_errors = False
    return options
