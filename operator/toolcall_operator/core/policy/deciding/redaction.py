"""Values that must not be shown, replaced in every text that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolcall_operator.core.policy.commandline import quoting

LONGEST = 512
"""Characters of a text that is fit to be shown."""


class Redactor:
    """Knows the values that must not be shown; each is shown as `<redacted id="N"/>`, the same everywhere."""

    __slots__ = ("_forms", "_ids")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._forms: dict[str, int] = {}

    def register(self, value: object) -> None:
        """Show this text, number or list of texts no more. An empty text hides nothing, nor does true or false."""
        if isinstance(value, tuple | list):
            for each in value:
                self.register(each)
        elif isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            self._add(str(value), *_forms(str(value)))

    def shown(self, text: str) -> str:
        """The text without any of the values; where two overlap, the longer one counts and takes the other along."""
        parts, at = [], 0
        for start, end, number in _merged(sorted(self._found(text))):
            parts += [text[at:start], f'<redacted id="{number}"/>']
            at = end
        return "".join([*parts, text[at:]])

    def fit(self, text: str, longest: int = LONGEST) -> str:
        """The text as it may stand in a status: one printable line, without the values, of a bounded length."""
        return _line(self.shown(text), longest)

    def _add(self, value: str, *forms: str) -> None:
        number = self._ids.setdefault(value, len(self._ids) + 1)
        for form in forms:
            self._forms.setdefault(form, number)

    def _found(self, text: str) -> Iterator[tuple[int, int, int]]:
        for form, number in self._forms.items():
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form), number
                at = text.find(form, at + len(form))


def quoted(text: str, shown: Callable[[str], str]) -> str:
    """A text of a call as a sentence may quote it. A value is hidden before anything is cut: no part of it is left."""
    hidden = shown(text)
    return quoting.quoted(text) if hidden == text else _line(hidden, quoting.LONGEST)


def _line(text: str, longest: int) -> str:
    line = "".join(char if char.isprintable() else " " for char in text).strip()
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _forms(value: str) -> set[str]:
    """The value as it is, and as it stands in quotes, where it may be cut."""
    return {value, quoting.quoted(value)[1:-1]}


def _merged(found: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """The places one after the other; those that overlap as one, under the number of the longest."""
    whole: tuple[int, int, int] | None = None
    longest = 0
    for start, end, number in found:
        if whole is None or start >= whole[1]:
            if whole is not None:
                yield whole
            whole, longest = (start, end, number), end - start
        else:
            kept = number if end - start > longest else whole[2]
            whole, longest = (whole[0], max(whole[1], end), kept), max(longest, end - start)
    if whole is not None:
        yield whole
