"""Lengths of time as manifests write them: ``90s``, ``1h30m``, ``1.5s``, down to one millisecond."""

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainSerializer, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from toolcall_operator.api.schema import RULES, cel, refused

PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
LONGEST_TEXT = 64
LONGEST = timedelta(milliseconds=(2**63 - 1) // 1_000_000)
"""The longest length Go can hold (about 292 years), so that every reader of a manifest understands what we accept."""

_MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_MILLISECOND = timedelta(milliseconds=1)


def parse(text: str) -> timedelta:
    """The length that ``text`` names; ValueError says what is wrong with it, without repeating it."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"must be a duration of at most {LONGEST_TEXT} characters")
    if not re.fullmatch(PATTERN, text, re.ASCII):
        raise ValueError("must be a duration: numbers with a unit of ms, s, m or h, such as 90s or 1h30m")
    exact = sum(Fraction(number) * _MS_PER_UNIT[unit] for number, unit in _PART.findall(text))
    if exact.denominator != 1:
        raise ValueError("must be a duration no finer than 1ms")
    if exact > LONGEST // _MILLISECOND:
        raise ValueError("must be a duration of at most 2562047h")
    return timedelta(milliseconds=int(exact))


def render(length: timedelta) -> str:
    """The shortest text that ``parse`` turns into the same length; ValueError if there is none."""
    if length < timedelta(0) or length > LONGEST or length % _MILLISECOND:
        raise ValueError("a duration is a whole number of milliseconds, neither negative nor above 2562047h")
    rest, text = length // _MILLISECOND, ""
    for unit in ("h", "m", "s", "ms"):
        count, rest = divmod(rest, _MS_PER_UNIT[unit])
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def _from_manifest(value: object) -> timedelta:
    if isinstance(value, timedelta):
        render(value)
        return value
    if not isinstance(value, str):
        raise refused("must be a duration in quotes, such as '60s'")
    try:
        return parse(value)
    except ValueError as error:
        raise refused(str(error)) from None


@dataclass(frozen=True)
class _Positive:
    """A length above zero and at most so long, for the model and for the API server alike."""

    longest: timedelta

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler(source)
        way_back = inner.get("serialization")  # kept on the outside, where the default of a CRD is drawn from
        return core_schema.no_info_after_validator_function(self._check, inner, serialization=way_back)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        rule = f"duration(self) > duration('0s') && duration(self) <= duration('{render(self.longest)}')"
        return {**handler(core), RULES: [cel(rule, self._words)]}

    @property
    def _words(self) -> str:
        return f"must be more than 0s and at most {render(self.longest)}"

    def _check(self, length: timedelta) -> timedelta:
        if not timedelta(0) < length <= self.longest:
            raise refused(self._words)
        return length


Duration = Annotated[
    timedelta,
    BeforeValidator(_from_manifest),
    PlainSerializer(render),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_TEXT, "pattern": PATTERN}),
]
"""Text in manifests, a timedelta in Python."""

UpToADay = Annotated[Duration, _Positive(timedelta(hours=24))]
UpToTenMinutes = Annotated[Duration, _Positive(timedelta(minutes=10))]
