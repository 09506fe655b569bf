"""A secret as a value, which shows itself nowhere."""

from __future__ import annotations

from typing import NoReturn, final

_SHOWN = "****"


@final
class Hidden:
    """A secret. It has one way out, `reveal`; in texts, logs and exceptions it is four stars.

    It is no dataclass: `dataclasses.asdict`, and whatever writes dataclasses as JSON, would tell its field.
    """

    __slots__ = ("_text",)

    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        """The secret itself, for whoever carries it to where it is used."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Hidden) else NotImplemented

    def __hash__(self) -> int:
        return hash((Hidden, self._text))

    def __repr__(self) -> str:
        return _SHOWN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(_SHOWN, spec)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret does not change")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not kept in any other form")

    __getstate__ = __reduce__  # object's own tells the slots: serializers other than pickle ask it directly
