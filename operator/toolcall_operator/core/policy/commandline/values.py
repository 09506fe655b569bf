"""What the parser gives: a command line that was understood, or why it was not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from toolcall_operator.api.spiceboxtoolkit import Subcommand

Value = bool | int | str | tuple[str, ...]


class ParseProblem(StrEnum):
    """Why a command line is refused."""

    UNKNOWN_SUBCOMMAND = "UnknownSubcommand"
    UNKNOWN_FLAG = "UnknownFlag"
    MISSING_FLAG_VALUE = "MissingFlagValue"
    FLAG_TYPE_MISMATCH = "FlagTypeMismatch"
    ENUM_VALUE_INVALID = "EnumValueInvalid"
    ARG_COUNT_MISMATCH = "ArgCountMismatch"
    REPEATED_FLAG = "RepeatedFlag"
    ARGUMENT_TYPE_MISMATCH = "ArgumentTypeMismatch"


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A command line that is refused, since the toolkit does not describe it.

    The message is for people. It quotes names of flags and words that stand where a subcommand should, 64 characters of
    each at most, and never a value: that may be a secret. `index` is the argument that is refused; None if one is
    missing.
    """

    problem: ParseProblem
    message: str
    index: int | None


@dataclass(frozen=True, slots=True)
class Misuse:
    """What is wrong with one argument, wherever it stands; the message is such a one as that of `Unparsed`."""

    problem: ParseProblem
    message: str


class Role(StrEnum):
    """What a part of a command line is."""

    GLOBAL_FLAG = "global flag"
    SUBCOMMAND = "subcommand"
    FLAG = "flag"
    VALUE = "value"
    POSITIONAL = "positional"
    SEPARATOR = "end of the flags"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the argument at `index`, or a part of it, was read as; `name` is the flag's, the subcommand's or the slot's.

    Several readings may have one index: `-la` holds two flags, `--name=value` a flag and its value.
    """

    index: int
    role: Role
    name: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line as the program will read it.

    A flag or a positional argument that is not there is not in its mapping. `tail` is everything behind a double dash,
    or behind a flag that ends the flags. `readings` explain every argument, in the order of `argv`.
    """

    argv: tuple[str, ...] = field(repr=False)
    subcommand: Subcommand
    flags: Mapping[str, Value] = field(repr=False)
    positional: Mapping[str, Value] = field(repr=False)
    tail: tuple[str, ...] = field(repr=False)
    readings: tuple[Reading, ...]
