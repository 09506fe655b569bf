"""What is said of a setting, wherever it is listed: its meaning, its values, its default."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from toolcall_operator.settings import OperatorSettings


def meaning(name: str) -> str:
    """What a setting is for, which values it may have, and the one it has when nobody sets it, if that is any."""
    said = (OperatorSettings.model_fields[name].description, *_allowed(name), *_default(name))
    return " ".join(filter(None, said))


def shown(value: object) -> str:
    """A value as it would be written."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ",".join(value)
        case _:
            return str(value)


def _allowed(name: str) -> Iterator[str]:
    """The values it may have, where not every one of its kind will do."""
    match _schema()[name]:
        case {"enum": [*most, last]}:
            yield f"{', '.join(most)} or {last}."
        case {"type": "boolean"}:
            yield "true or false."
        case {"minimum": least}:
            yield f"At least {least}."


def _default(name: str) -> Iterator[str]:
    """Its value when nobody sets it; what an empty one means, the description says."""
    if value := shown(_defaults()[name]):
        yield f"[default: {value}]"


@cache
def _schema() -> dict[str, Any]:
    properties: dict[str, Any] = OperatorSettings.model_json_schema()["properties"]
    return properties


@cache
def _defaults() -> dict[str, Any]:
    """Every default as it would be written, whatever the environment says."""
    return OperatorSettings.model_construct().model_dump(mode="json")
