"""Marks on fields that decide what the generated CRD says about them.

The models are the one source of the CRDs. Where both judge alike, one mark carries the check and its keywords (``Text``). Where the
API server is stricter than the models, the difference is written with ``schema_only`` and nowhere else: such an object is refused at
admission in a cluster, while a manifest that arrives another way is parsed, and ends with a reason of its own (``ArgumentsTooLong``,
``StreamTokenHashMissing``, …) instead of ``MalformedObject``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

RULES = "x-kubernetes-validations"


@dataclass(frozen=True)
class Keywords:
    """Adds keywords to the schema of a field; what the model accepts does not change."""

    keywords: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the field, with the keywords put over it."""
        return {**handler(core), **self.keywords}


@dataclass(frozen=True)
class Text:
    """Text of a bounded length that follows a pattern, which ``words`` tells in plain words."""

    pattern: str
    longest: int
    words: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check, after the type's own."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The same check in the keywords of a CRD."""
        return {**handler(core), "maxLength": self.longest, "pattern": self.pattern}

    def _check(self, value: str) -> str:
        if len(value) > self.longest or not re.fullmatch(self.pattern, value):
            raise refused(f"must be {self.words}, at most {self.longest} characters")
        return value


def in_schema(**keywords: Any) -> Keywords:  # noqa: ANN401 (keywords of JSON schema are of any type)
    """Keywords that say in the CRD what the model checks in another way, or what only the API server has a use for."""
    return Keywords(keywords)


def schema_only(**keywords: Any) -> Keywords:  # noqa: ANN401 (keywords of JSON schema are of any type)
    """Keywords by which the API server refuses what the model lets pass: the core answers that with a reason of its own."""
    return Keywords(keywords)


def cel(rule: str, message: str, field: str | None = None) -> dict[str, str]:
    """One rule in the API server's expression language; ``field`` is the part it speaks about, below the place where it stands."""
    place = {"fieldPath": f".{field}"} if field else {}
    return {"rule": rule, "message": message, **place}


def rules(*every: Mapping[str, str]) -> Callable[[dict[str, Any]], None]:
    """For ``json_schema_extra``: the rules of a model."""

    def add(schema: dict[str, Any]) -> None:
        schema[RULES] = [dict(rule) for rule in every]

    return add


def refused(message: str) -> PydanticCustomError:
    """An objection in our own words. They never hold the value: it may be a secret."""
    return PydanticCustomError("refused", "{message}", {"message": message})
