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

PATTERN = r"^([0-9]+(\.0+)?ms|[0-9]+(\.[0-9]{1,3}0*)?s|[0-9]+(\.[0-9]{1,4}0*)?m|[0-9]+(\.[0-9]{1,5}0*)?h)+$"
"""Go's syntax, with no more digits behind the point than make whole milliseconds of every part."""
LONGEST_TEXT = 64
LONGEST = timedelta(milliseconds=(2**63 - 1) // 1_000_000)
"""The longest length Go can hold (about 292 years), so that every reader of a manifest understands what we accept."""
_LONGEST_WORDS = "a duration of at most 2562047h"

_MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)", re.ASCII)
_MILLISECOND = timedelta(milliseconds=1)


def parse(text: str) -> timedelta:
    """The length that ``text`` names; ValueError says what is wrong with it, without repeating it."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"must be a duration of at most {LONGEST_TEXT} characters")
    if not re.fullmatch(f"({_PART.pattern})+", text, re.ASCII):
        raise ValueError("must be a duration: numbers with a unit of ms, s, m or h, such as 90s or 1h30m")
    if not re.fullmatch(PATTERN, text, re.ASCII):
        raise ValueError("must be a duration no finer than 1ms")
    exact = sum(Fraction(number) * _MS_PER_UNIT[unit] for number, unit in _PART.findall(text))
    if exact > LONGEST // _MILLISECOND:
        raise ValueError(f"must be {_LONGEST_WORDS}")
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
class _AtMost:
    """An upper bound, and whether 0 is below the lower one, for the model and for the API server alike."""

    longest: timedelta
    positive: bool = False

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler(source)
        way_back = inner.get("serialization")  # kept on the outside, where the default of a CRD is drawn from
        return core_schema.no_info_after_validator_function(self._check, inner, serialization=way_back)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        upper = f"duration(self) <= duration('{render(self.longest)}')"
        rule = f"duration(self) > duration('0s') && {upper}" if self.positive else upper
        return {**handler(core), RULES: [cel(rule, self._words)]}

    @property
    def _words(self) -> str:
        most = f"at most {render(self.longest)}"
        return f"must be more than 0s and {most}" if self.positive else f"must be {most}"

    def _check(self, length: timedelta) -> timedelta:
        if length > self.longest or (self.positive and not length):
            raise refused(self._words)
        return length


_TEXT = {"type": "string", "maxLength": LONGEST_TEXT, "pattern": PATTERN}
# What Go cannot hold, the API server's own function cannot read either: then the rule fails, and refuses.
_HOLDABLE = cel("duration(self) >= duration('0s')", f"must be {_LONGEST_WORDS}")

Duration = Annotated[
    timedelta,
    BeforeValidator(_from_manifest),
    PlainSerializer(render),
    WithJsonSchema({**_TEXT, RULES: [_HOLDABLE]}),
]
"""Text in manifests, a timedelta in Python."""

UpToADay = Annotated[Duration, _AtMost(timedelta(hours=24), positive=True)]
UpToTenMinutes = Annotated[Duration, _AtMost(timedelta(minutes=10), positive=True)]
UpToAWeek = Annotated[Duration, _AtMost(timedelta(days=7))]
