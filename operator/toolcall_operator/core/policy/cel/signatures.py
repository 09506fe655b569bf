"""Every operator and function with the types it takes and gives, and every variable with its type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from toolcall_operator.core.policy.cel.statictypes import BOOL, DYN, STRING, Type, list_of, map_of, record


@dataclass(frozen=True, slots=True)
class Signature:
    """The types that go in and the one that comes out."""

    takes: tuple[Type, ...]
    gives: Type


_WORD = re.compile(r"[A-Za-z_]+|[(),]")


def _type(words: list[str]) -> Type:
    name = words.pop(0)
    if words[:1] != ["("]:
        return Type(name)
    return Type(name, _types(words))


def _types(words: list[str]) -> tuple[Type, ...]:
    found = []
    while words.pop(0) != ")":
        if words[0] != ")":
            found.append(_type(words))
    return tuple(found)


def _signature(written: str) -> Signature:
    words = _WORD.findall(written)
    takes = _types(words)
    return Signature(takes, _type(words))


def _table(written: Mapping[str, str]) -> Mapping[str, tuple[Signature, ...]]:
    return MappingProxyType({name: tuple(map(_signature, text.split("; "))) for name, text in written.items()})


_ORDERED = "; ".join(
    f"({each}, {each}) bool" for each in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
)
_NUMBERS = "(int, int) int; (uint, uint) uint; (double, double) double"
_MOMENT = "(timestamp) int; (timestamp, string) int"
_SIZED = "(string) int; (bytes) int; (list(A)) int; (map(A, B)) int"
_TWO_TEXTS = "(string, string) bool"

FUNCTIONS = _table(
    {
        "!_": "(bool) bool",
        "-_": "(int) int; (double) double",
        "_+_": f"{_NUMBERS}; (string, string) string; (bytes, bytes) bytes; (list(A), list(A)) list(A); "
        "(timestamp, duration) timestamp; (duration, timestamp) timestamp; (duration, duration) duration",
        "_-_": f"{_NUMBERS}; (timestamp, timestamp) duration; (timestamp, duration) timestamp; "
        "(duration, duration) duration",
        "_*_": _NUMBERS,
        "_/_": _NUMBERS,
        "_%_": "(int, int) int; (uint, uint) uint",
        "_==_": "(A, A) bool",
        "_!=_": "(A, A) bool",
        "_<_": _ORDERED,
        "_<=_": _ORDERED,
        "_>_": _ORDERED,
        "_>=_": _ORDERED,
        "_in_": "(A, list(A)) bool; (A, map(A, B)) bool",
        "_[_]": "(list(A), int) A; (map(A, B), A) B",
        "size": _SIZED,
        "matches": _TWO_TEXTS,
        "type": "(A) type",
        "dyn": "(A) dyn",
        "bool": "(bool) bool; (string) bool",
        "bytes": "(bytes) bytes; (string) bytes",
        "double": "(double) double; (int) double; (uint) double; (string) double",
        "duration": "(duration) duration; (string) duration",
        "int": "(int) int; (uint) int; (double) int; (string) int; (timestamp) int; (duration) int",
        "string": "(string) string; (bool) string; (int) string; (uint) string; (double) string; (bytes) string; "
        "(timestamp) string; (duration) string",
        "timestamp": "(timestamp) timestamp; (string) timestamp; (int) timestamp",
        "uint": "(uint) uint; (int) uint; (double) uint; (string) uint",
        "now": "() timestamp",
        "path.isUnder": _TWO_TEXTS,
        "host.of": "(string) string",
        "host.matches": _TWO_TEXTS,
        "glob.match": _TWO_TEXTS,
        "semver.satisfies": _TWO_TEXTS,
        "call.flag": "(string) string",
        "call.hasFlag": "(string) bool",
        "call.hasEnv": "(string) bool",
    }
)
"""What is called by its name alone, the operators included."""

METHODS = _table(
    {
        "size": _SIZED,
        "startsWith": _TWO_TEXTS,
        "endsWith": _TWO_TEXTS,
        "contains": _TWO_TEXTS,
        "matches": _TWO_TEXTS,
        "getFullYear": _MOMENT,
        "getMonth": _MOMENT,
        "getDate": _MOMENT,
        "getDayOfMonth": _MOMENT,
        "getDayOfWeek": _MOMENT,
        "getDayOfYear": _MOMENT,
        "getHours": f"{_MOMENT}; (duration) int",
        "getMinutes": f"{_MOMENT}; (duration) int",
        "getSeconds": f"{_MOMENT}; (duration) int",
        "getMilliseconds": f"{_MOMENT}; (duration) int",
    }
)
"""What is called on a value, which is the first that a signature takes."""

TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
"""The types that have a name in the language."""

_TEXTS = list_of(STRING)
_ANYTHING = map_of(STRING, DYN)

VARIABLES: Mapping[str, Type] = MappingProxyType(
    {
        "call": record(
            {
                "subcommand": STRING,
                "subcommandPath": _TEXTS,
                "argv": _TEXTS,
                "tail": _TEXTS,
                "flags": _ANYTHING,
                "positional": _ANYTHING,
                "env": map_of(STRING, STRING),
                "cwd": STRING,
                "binaryVersion": STRING,
                "resourceId": STRING,
                "hasStdin": BOOL,
                "effects": record(
                    {
                        "destructive": BOOL,
                        "reads": _TEXTS,
                        "writes": _TEXTS,
                        "network": record({"destinations": _TEXTS}),
                        "filesystem": record({"paths": _TEXTS}),
                        "creds": record({"required": _TEXTS, "writes": _TEXTS}),
                    }
                ),
            }
        ),
        "config": _ANYTHING,
        "args": _ANYTHING,
    }
)
"""What an expression may be about. Keys of `call` other than these are refused when a policy loads."""
