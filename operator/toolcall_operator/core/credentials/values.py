"""A secret as a value, which shows itself nowhere."""

from __future__ import annotations

from dataclasses import dataclass, field

_SHOWN = "****"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A secret. It has one way out, `reveal`; in texts, logs and exceptions it is four stars."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """The secret itself, for whoever carries it to where it is used."""
        return self._text

    def __repr__(self) -> str:
        return _SHOWN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(_SHOWN, spec)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not kept in any other form")
