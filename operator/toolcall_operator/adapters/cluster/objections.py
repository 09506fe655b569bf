"""Why the API server will not have a manifest: each field that is wrong, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolcall_operator import errors
from toolcall_operator.adapters.cluster.refusals import Refusal

_VALUE = re.compile(
    r'^(?:Invalid|Unsupported|Duplicate) value: (?:(?:"(?:[^"\\]|\\.)*"|[\d.eE+-]+|true|false|null|\{.*\}|\[.*\]): )?',
    re.DOTALL,
)
_CONFLICT = re.compile(r'conflict with ("[^"]*")')
_MISTYPED = "failed to create typed patch object"
_UNFIT = (_MISTYPED, "failed to convert new object", "request is too large")
"""How answers begin or read that have status 500, and are about the manifest all the same."""
_FIELD = re.compile(r"(?<=\s)\.([^\s:]+): ((?:(?!, got ).)+)")
_FINAL = frozenset({400, 403, 404, 405, 406, 409, 413, 415, 422})


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that is wrong: where (empty for the whole object), and what. It holds no value of the manifest."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path} {self.message}" if self.path else self.message


class NotTaken(errors.Rejected):
    """The API server will not have a manifest; nothing changed. `status` is HTTP's, 0 when we knew without asking."""

    def __init__(self, *objections: Objection, status: int = 0) -> None:
        super().__init__("; ".join(map(str, objections)))
        self.objections = objections
        self.status = status


def error(refusal: Refusal) -> errors.OperatorError:
    """What a refused apply means: NotTaken for what is in the manifest, else Unavailable."""
    said = errors.foreign(refusal.message)
    if refusal.status in _FINAL or any(words in refusal.message for words in _UNFIT):
        unnamed = Objection("", said or f"is refused with HTTP {refusal.status}")
        return NotTaken(*tuple(dict.fromkeys(_objections(refusal))) or (unnamed,), status=refusal.status)
    return errors.Unavailable(f"the API server answers with HTTP {refusal.status}{f': {said}' if said else ''}")


def _objections(refusal: Refusal) -> Iterator[Objection]:
    """Each field that is named; a rule that was not checked, because another was broken, names none."""
    if _MISTYPED in refusal.message:
        for path, problem in _FIELD.findall(refusal.message):
            yield Objection(path, errors.foreign(problem))
    for field, message in refusal.causes:
        if field and field != "<nil>":
            yield _objection(field.lstrip("."), message)


def _objection(path: str, message: str) -> Objection:
    """A cause in words that follow its path, without the value that it is about."""
    if conflict := _CONFLICT.match(message):
        return Objection(path, f"was set by {errors.foreign(conflict[1])} to something else")
    said = _VALUE.sub("", message).removeprefix(f"{path} in body ")
    first, _, rest = said.partition(" ")
    if first.startswith(f"{path}."):  # a rule about several fields names the one it means
        return Objection(errors.foreign(first), errors.foreign(rest))
    return Objection(path, errors.foreign(said))
