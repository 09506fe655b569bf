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
CPU_PATTERN = r"^[+]?(([0-9]+(\.[0-9]{0,3})?|\.[0-9]{1,3})([KMGTPE]i|[kMGTPE]|[eE][+]?[0-9]{1,2})?|[0-9]+m)$"
"""No more digits than make whole thousandths."""
LONGEST_TEXT = 32
MOST_BYTES = 4 * 1024**5
MOST_CPU = 1_000_000 * 1000
"""Bounds that no sandbox comes near, below which every reader of a manifest counts exactly."""

_FORM = re.compile(
    r"[+]?(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?", re.ASCII
)
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {letter: 1000**power for power, letter in enumerate("kMGTPE", 1)}
_SMALL = {letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", 1)}
_FACTORS = {"": Fraction(1), **_BINARY, **_DECIMAL, **_SMALL}


def parse_bytes(value: str | int) -> int:
    """A whole number of bytes, at most 4Pi; ValueError says what is wrong, and names the text when it is short."""
    amount = exact(value)
    if amount.denominator != 1:
        raise ValueError(f"must be a whole number of bytes, not {value!r}")
    return _within(amount, MOST_BYTES, "4Pi")


def parse_cpu(value: str | int) -> int:
    """Thousandths of a CPU, at most a million CPUs; ValueError says what is wrong."""
    amount = exact(value) * 1000
    if isinstance(value, str) and not re.fullmatch(CPU_PATTERN, value, re.ASCII):
        raise ValueError(f"must be no finer than 1m (a thousandth of a CPU), as in 500m or 1.5, not {value!r}")
    return _within(amount, MOST_CPU, "1000000")


def render_bytes(count: int) -> str:
    """The shortest text that names exactly ``count`` bytes."""
    for suffix, factor in reversed(_BINARY.items()):
        if count and count % factor == 0:
            return f"{count // factor}{suffix}"
    return str(count)


def render_cpu(thousandths: int) -> str:
    """The shortest text that names exactly so many thousandths of a CPU."""
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def _within(amount: Fraction, most: int, words: str) -> int:
    if not 0 <= amount <= most:
        raise ValueError(f"must be at least 0 and at most {words}")
    return int(amount)


def exact(value: str | int) -> Fraction:
    """The amount itself; ValueError when the text is no quantity."""
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
        """The same check as a rule, besides those of the type."""
        drawn, text = handler(core), render_bytes(self.limit)
        rule = f"type(self) == int || quantity(self).compareTo(quantity('{text}')) <= 0"
        return {**drawn, "maximum": self.limit, RULES: [*drawn[RULES], cel(rule, self._words)]}

    @property
    def _words(self) -> str:
        return f"must be at most {render_bytes(self.limit)}"

    def _check(self, count: int) -> int:
        if count > self.limit:
            raise refused(self._words)
        return count


def _schema(pattern: str, most: int, *rules: dict[str, str]) -> WithJsonSchema:
    """What the API server is told: numbers within bounds, or text that follows a pattern and the rules."""
    return WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "minimum": 0,
            "maximum": most,
            "maxLength": LONGEST_TEXT,
            "pattern": pattern,
            RULES: list(rules),
        }
    )


# Quantities are compared exactly, but made whole only by way of a float, which up to 4Pi holds every whole number.
_WHOLE = "quantity(self).sub(int(quantity(self).asApproximateFloat() + 0.5)).compareTo(quantity('0')) == 0"

Bytes = Annotated[
    int,
    BeforeValidator(lambda value: _from_manifest(value, parse_bytes)),
    PlainSerializer(render_bytes),
    _schema(
        PATTERN,
        MOST_BYTES,
        cel(
            f"type(self) == int || (quantity(self).compareTo(quantity('4Pi')) <= 0 && {_WHOLE})",
            "must be a whole number of bytes, at most 4Pi",
        ),
    ),
]
"""A number of bytes."""

Cpu = Annotated[
    int,
    BeforeValidator(lambda value: _from_manifest(value, parse_cpu)),
    PlainSerializer(render_cpu),
    _schema(
        CPU_PATTERN,
        MOST_CPU // 1000,
        cel("type(self) == int || quantity(self).compareTo(quantity('1000000')) <= 0", "must be at most 1000000"),
    ),
]
"""Thousandths of a CPU. A number given to a constructor counts CPUs, as in a manifest: ``"500m"``, not ``500``."""
