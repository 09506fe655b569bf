"""Marks on fields that decide what the generated CRD says about them.

The models are the one source of the CRDs. Where both judge alike, one mark carries the check and its keywords
(``Text``, ``KeyedBy``). Where the API server is stricter than the models, the difference is written with
``schema_only`` (keywords) or ``cel_only`` (rules) and nowhere else: a cluster refuses such an object at admission,
while a manifest that arrives another way is parsed, and its call ends with a reason of its own (``ArgumentsTooLong``,
``StreamTokenHashMissing``, …) instead of ``MalformedObject``. These two leave a mark (``STRICTER``), by which a test
knows every place where the two judges differ; no CRD shows it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

RULES = "x-kubernetes-validations"
STRICTER = "stricter than the model"


@dataclass(frozen=True, eq=False)  # by identity: a mapping has no hash, and annotations need one
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


@dataclass(frozen=True)
class KeyedBy:
    """A list whose items are told apart by one field: no two have the same, and server-side apply merges by it."""

    field: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check, after the type's own."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The same in the keywords of a CRD."""
        return {**handler(core), **list_map(self.field)}

    def _check(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        keys = [getattr(item, self.field) for item in items]
        if twice := sorted({key for key in keys if keys.count(key) > 1}):
            raise refused(f"must not hold the same {self.field} twice: {', '.join(twice)}")
        return items


@dataclass(frozen=True)
class AtMostBytes:
    """Text that is at most so long in UTF-8; ``words`` tells how long."""

    limit: int
    words: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check, after the type's own."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The same check as a rule, and a bound in characters, without which the rule's cost would have none."""
        rule = cel(f"bytes(self).size() <= {self.limit}", f"must be at most {self.words}")
        return {**handler(core), "maxLength": self.limit, RULES: [rule]}

    def _check(self, text: str) -> str:
        if bytes_in(text) > self.limit:
            raise refused(f"must be at most {self.words}")
        return text


def bytes_in(text: str) -> int:
    """How many bytes the text takes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Distinct:
    """A list that holds nothing twice, which server-side apply merges as a set."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check, after the type's own."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The same in the keywords of a CRD."""
        return {**handler(core), "x-kubernetes-list-type": "set"}

    def _check(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(items)) < len(items):
            raise refused("must not hold the same entry twice")
        return items


def list_map(field: str) -> dict[str, Any]:
    """The keywords of a list whose items are told apart by ``field``."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [field]}


def in_schema(**keywords: Any) -> Keywords:  # noqa: ANN401 (keywords of JSON schema are of any type)
    """Keywords for what the model checks in another way, or what only the API server has a use for."""
    return Keywords(keywords)


def schema_only(**keywords: Any) -> Keywords:  # noqa: ANN401 (keywords of JSON schema are of any type)
    """Keywords by which the API server refuses what the model lets pass, for the core to answer with its own reason."""
    return Keywords({**keywords, STRICTER: list(keywords)})


def cel(rule: str, message: str, field: str | None = None) -> dict[str, str]:
    """One rule in the API server's expression language; ``field`` is the part it speaks about, seen from its place."""
    place = {"fieldPath": f".{field}"} if field else {}
    return {"rule": rule, "message": message, **place}


def cel_only(rule: str, message: str, field: str | None = None) -> dict[str, str]:
    """A rule by which the API server refuses what the model lets pass, for the core to answer with its own reason."""
    return {**cel(rule, message, field), STRICTER: "rule"}


def unchanging(field: str, message: str) -> dict[str, str]:
    """The rule that a field stays as it was, absence included.

    Written out, although ``self.?field == oldSelf.?field`` says the same: the API server cannot bound the cost of
    comparing optional values, and refuses the whole CRD (Kubernetes 1.36).
    """
    return cel(stays(field), message, field)


def all_unchanging(fields: Sequence[str], place: str, message: str) -> dict[str, str]:
    """The rule that all these fields stay as they were; `message` follows on the first that does not, as a path.

    One rule for all, which looks at the whole first: the API server evaluates it at every write to the object, a rule
    for each field took a fifth of the time of a write to the status (measured with 17 fields, Kubernetes 1.36).
    """
    stay = " && ".join(f"({stays(field)})" for field in fields)
    moved = " : ".join(f"!({stays(field)}) ? '{field}'" for field in fields[:-1])
    told = f"'{place}.' + ({moved} : '{fields[-1]}') + ' {message}'"
    return {"rule": f"self == oldSelf || ({stay})", "message": f"{place} {message}", "messageExpression": told}


def stays(field: str) -> str:
    """The condition that a field is as it was, absence included; of a field in a field that is always there."""
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"


def rules(*every: Mapping[str, str]) -> Callable[[dict[str, Any]], None]:
    """For ``json_schema_extra``: the rules of a model."""

    def add(schema: dict[str, Any]) -> None:
        schema[RULES] = [dict(rule) for rule in every]

    return add


def refused(message: str) -> PydanticCustomError:
    """An objection in our own words. They never hold the value: it may be a secret."""
    return PydanticCustomError("refused", "{message}", {"message": message})
