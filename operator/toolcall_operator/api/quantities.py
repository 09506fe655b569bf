"""Amounts as Kubernetes writes them (``500m``, ``1.5Gi``, ``2e3``), read exactly: bytes and thousandths of a CPU."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, PlainSerializer, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from toolcall_operator.api.schema import RULES, cel, refused

PATTERN = r"^[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
LONGEST_TEXT = 32
LARGEST = 2**63 - 1

_FORM = re.compile(
    r"[+]?(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?", re.ASCII
)
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {letter: 1000**power for power, letter in enumerate("kMGTPE", 1)}
_SMALL = {letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", 1)}
_FACTORS = {"": Fraction(1), **_BINARY, **_DECIMAL, **_SMALL}


def parse_bytes(value: str | int) -> int:
    """A whole number of bytes; ValueError names the text when it is none."""
    return _whole(value, Fraction(1), "a whole number of bytes")


def parse_cpu(value: str | int) -> int:
    """Thousandths of a CPU; ValueError names the text when it is finer than that."""
    return _whole(value, Fraction(1000), "no finer than 1m (a thousandth of a CPU)")


def render_bytes(count: int) -> str:
    """The shortest text that names exactly ``count`` bytes."""
    for suffix, factor in reversed(_BINARY.items()):
        if count and count % factor == 0:
            return f"{count // factor}{suffix}"
    return str(count)


def render_cpu(thousandths: int) -> str:
    """The shortest text that names exactly so many thousandths of a CPU."""
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def _whole(value: str | int, scale: Fraction, words: str) -> int:
    amount = _exact(value) * scale
    if amount.denominator != 1:
        raise ValueError(f"must be {words}, not {value!r}")
    if not 0 <= amount <= LARGEST:
        raise ValueError(f"must be at least 0 and below 8Ei, not {value!r}")
    return int(amount)


def _exact(value: str | int) -> Fraction:
    if isinstance(value, int):
        return Fraction(value)
    form = _FORM.fullmatch(value) if len(value) <= LONGEST_TEXT else None
    if not form:
        raise ValueError(f"must be a quantity such as 500m, 64Mi or 1.5Gi, not {value[:LONGEST_TEXT]!r}")
    return Fraction(f"0{form['number']}".rstrip(".")) * _factor(form["suffix"] or "")


def _factor(suffix: str) -> Fraction:
    if suffix[:1] in {"e", "E"} and len(suffix) > 1 and suffix != "Ei":
        return Fraction(10) ** int(suffix[1:])
    return Fraction(_FACTORS[suffix])


def _from_manifest(value: object, parse: Callable[[str | int], int]) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise refused("must be a quantity: a whole number, or text in quotes such as '500m' or '64Mi'")
    try:
        return parse(value)
    except ValueError as error:
        raise refused(str(error)) from None


@dataclass(frozen=True)
class AtMost:
    """An upper bound in bytes, for the model and for the API server alike."""

    limit: int

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check, after the type's own."""
        inner = handler(source)
        way_back = inner.get("serialization")  # kept on the outside, where the default of a CRD is drawn from
        return core_schema.no_info_after_validator_function(self._check, inner, serialization=way_back)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The same check as a rule."""
        text = render_bytes(self.limit)
        rule = f"type(self) == int ? self <= {self.limit} : quantity(self).compareTo(quantity('{text}')) <= 0"
        return {**handler(core), RULES: [cel(rule, self._words)]}

    @property
    def _words(self) -> str:
        return f"must be at most {render_bytes(self.limit)}"

    def _check(self, count: int) -> int:
        if count > self.limit:
            raise refused(self._words)
        return count


_SCHEMA = WithJsonSchema({"x-kubernetes-int-or-string": True, "maxLength": LONGEST_TEXT, "pattern": PATTERN})

Bytes = Annotated[
    int, BeforeValidator(lambda value: _from_manifest(value, parse_bytes)), PlainSerializer(render_bytes), _SCHEMA
]
"""A number of bytes."""

Cpu = Annotated[
    int, BeforeValidator(lambda value: _from_manifest(value, parse_cpu)), PlainSerializer(render_cpu), _SCHEMA
]
"""Thousandths of a CPU. A number given to a constructor counts CPUs, as in a manifest: ``"500m"``, not ``500``."""
