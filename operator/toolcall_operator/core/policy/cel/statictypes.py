"""The types that are known of an expression before it is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name, with those of its parts; `A` and `B` in a signature stand for any type.

    A map whose keys are known beforehand has their types as its `fields`, and can be used as any map with text keys.
    """

    name: str
    parts: tuple[Type, ...] = ()
    fields: Mapping[str, Type] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parts))})" if self.parts else self.name


BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
DYN = Type("dyn")
A = Type("A")
B = Type("B")

Bound = dict[str, Type]
"""What the `A` and `B` of a signature turned out to be."""


def list_of(element: Type) -> Type:
    """The type of lists of this."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from this to that."""
    return Type("map", (key, value))


def record(fields: Mapping[str, Type]) -> Type:
    """The type of maps that have these keys."""
    return Type("map", (STRING, DYN), fields)


def agree(one: Type, other: Type) -> bool:
    """Whether a value may be of both types, as far as they tell."""
    if DYN in {one, other}:
        return True
    return one.name == other.name and len(one.parts) == len(other.parts) and all(map(agree, one.parts, other.parts))


def joined(one: Type, other: Type) -> Type:
    """What is known of a value that is of one of two types."""
    if one == other:
        return one if one.fields is other.fields else Type(one.name, one.parts)
    if not agree(one, other) or DYN in {one, other}:
        return DYN
    return Type(one.name, tuple(map(joined, one.parts, other.parts)))


def common(types: Iterable[Type]) -> Type:
    """What is known of each of several values; dyn when there are none."""
    found: Type | None = None
    for each in types:
        found = each if found is None else joined(found, each)
    return found or DYN


def fits(wanted: Type, given: Type, bound: Bound) -> bool:
    """Whether an argument of type `given` can be what a signature wants; what `A` and `B` are is noted in `bound`."""
    if wanted in {A, B}:
        known = bound.get(wanted.name, given)
        bound[wanted.name] = joined(known, given)
        return agree(known, given)
    if DYN in {wanted, given}:
        return True
    if wanted.name != given.name or len(wanted.parts) != len(given.parts):
        return False
    return all(fits(part, other, bound) for part, other in zip(wanted.parts, given.parts, strict=True))


def resolved(result: Type, bound: Bound) -> Type:
    """The result of a signature with its `A` and `B` filled in."""
    if result in {A, B}:
        return bound.get(result.name, DYN)
    return Type(result.name, tuple(resolved(part, bound) for part in result.parts)) if result.parts else result
