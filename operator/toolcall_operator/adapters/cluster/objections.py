"""Why the API server will not have a manifest: each field that is wrong, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core

from toolcall_operator import errors

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


def error(status: int, body: bytes) -> errors.OperatorError:
    """What an answer to an apply means that is none: NotTaken for what is in the manifest, else Unavailable."""
    said = _status(body)
    message = str(said.get("message") or "")
    if status in _FINAL or any(words in message for words in _UNFIT):
        found = tuple(dict.fromkeys(_objections(said, message)))
        unnamed = Objection("", errors.foreign(message) or f"is refused with HTTP {status}")
        return NotTaken(*found or [unnamed], status=status)
    return errors.Unavailable(f"the API server answers with HTTP {status}: {errors.foreign(message)}")


def _status(body: bytes) -> Mapping[str, Any]:
    try:
        said = pydantic_core.from_json(body)
    except ValueError:
        return {}
    return said if isinstance(said, Mapping) else {}


def _objections(said: Mapping[str, Any], message: str) -> Iterator[Objection]:
    """Each field that is named; a rule that was not checked, because another was broken, names none."""
    if _MISTYPED in message:
        for path, problem in _FIELD.findall(message):
            yield Objection(path, errors.foreign(problem))
    details = said.get("details")
    causes = details.get("causes") if isinstance(details, Mapping) else None
    for cause in causes if isinstance(causes, list) else ():
        path = str(cause.get("field") or "").lstrip(".")
        if path and path != "<nil>":
            yield Objection(path, errors.foreign(_worded(path, str(cause.get("message") or ""))))


def _worded(path: str, message: str) -> str:
    """A cause in words that follow its path, without the value that it is about."""
    if conflict := _CONFLICT.match(message):
        return f"was set by {conflict[1]} to something else"
    return _VALUE.sub("", message).removeprefix(f"{path} in body ")
