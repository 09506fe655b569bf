"""Which flags one argument holds, at a place of the command line where there are these flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolcall_operator.api.commandline import Flag
from toolcall_operator.api.spiceboxtoolkit import Parser
from toolcall_operator.core.policy.commandline import readers
from toolcall_operator.core.policy.commandline.quoting import quoted
from toolcall_operator.core.policy.commandline.readers import Reader
from toolcall_operator.core.policy.commandline.values import Misuse, ParseProblem, Role

LONGEST_BUNDLE = 64
"""Letters in one argument; more are refused, so that an argument of 128 KiB is not 131,000 flags."""


@dataclass(frozen=True, slots=True)
class FlagRule:
    """How a flag is read: how many of the next arguments it takes, and whether a value may be attached to it.

    `name` is its key among the values, `shown` how people know it: with its dashes.
    """

    name: str
    shown: str
    role: Role
    takes: int
    attachable: bool
    ends_flags: bool
    reader: Reader


def rule(flag: Flag, role: Role) -> FlagRule:
    """How this flag is read. Only lists take several arguments, whatever is described."""
    valued, arity = flag.type != "bool", flag.arity if flag.type == "stringList" else 1
    takes = 0 if flag.optional_value or not valued else arity
    shown = f"--{flag.long}" if flag.long else f"-{flag.name}"
    return FlagRule(flag.name, shown, role, takes, valued and arity == 1, flag.ends_flags, readers.of(flag))


@dataclass(frozen=True, slots=True)
class Use:
    """A flag in an argument, and the value attached to it there."""

    rule: FlagRule
    attached: str | None


Uses = tuple[Use, ...]


def tokens(flags: Iterable[Flag], role: Role) -> dict[str, Uses]:
    """The flags by the texts that name them: `--long` and `-s`."""
    found: dict[str, Uses] = {}
    for flag in flags:
        uses = (Use(rule(flag, role), None),)
        found |= {f"--{flag.long}": uses} if flag.long else {}
        found |= {f"-{flag.short}": uses} if flag.short else {}
    return found


@dataclass(frozen=True, slots=True)
class Scope:
    """The flags there are, by the texts that name them, and how the program lets them be written."""

    named: Mapping[str, Uses]
    parser: Parser

    def uses(self, argument: str) -> Uses | Misuse:
        """The flags in an argument that begins with a dash and is longer than that; in time linear in its length.

        The problem is UNKNOWN_FLAG if it names, or joins, what is not described, and another one if a flag that is
        described is written in a way it is not.
        """
        exact = self.named.get(argument)
        if exact is not None:
            return exact
        return self._long(argument) if argument.startswith("--") else self._letters(argument)

    def _long(self, argument: str) -> Uses | Misuse:
        """`--name=value`. Abbreviated names are unknown, as the program may know a longer one that they abbreviate."""
        name, equals, value = argument.partition("=")
        found = self.named.get(name) if equals else None
        if found is None:
            return Misuse(ParseProblem.UNKNOWN_FLAG, f"unknown flag {quoted(name)}")
        if not found[0].rule.attachable:
            return Misuse(ParseProblem.FLAG_TYPE_MISMATCH, f"{name} takes no value behind a '='")
        return (Use(found[0].rule, value),)

    def _letters(self, argument: str) -> Uses | Misuse:
        """`-la`, `-n5`, `-lan5`: letters without values of their own, then perhaps one with its value."""
        uses: list[Use] = []
        last = len(argument) - 1
        for place in range(1, min(last, LONGEST_BUNDLE) + 1):
            letter = f"-{argument[place]}"
            found = self.named.get(letter)
            if found is None:
                return Misuse(ParseProblem.UNKNOWN_FLAG, f"unknown flag {quoted(letter)}")
            if place < last and argument[place + 1] == "=" and not self._drops_equals(found[0].rule):
                return _equals(letter)
            if place < last and found[0].rule.attachable:
                return self._attached(letter, argument[place + 1 :], tuple(uses))
            if not self._joins(found[0].rule, alone=place == last):
                return _joined(letter)
            uses += found
        return tuple(uses) if last <= LONGEST_BUNDLE else _joined(argument)

    def _attached(self, letter: str, rest: str, before: Uses) -> Uses | Misuse:
        """The flags `before` and this one with the rest as its value, if that may follow, and the letter others."""
        equals = self.parser.attached_equals and rest.startswith("=")
        if not (self.parser.attached_values or equals):
            return Misuse(ParseProblem.UNKNOWN_FLAG, f"the value of {letter} must be an argument of its own")
        if before and not self.parser.bundled_shorts:
            return _joined(letter)
        return (*before, Use(self.named[letter][0].rule, rest[1:] if equals else rest))

    def _drops_equals(self, rule: FlagRule) -> bool:
        return self.parser.attached_equals and rule.attachable

    def _joins(self, rule: FlagRule, *, alone: bool) -> bool:
        """Whether a letter may stand in one argument with others; `alone` if none follows it."""
        return self.parser.bundled_shorts and rule.takes <= 1 and (alone or not rule.ends_flags)


def _equals(letter: str) -> Misuse:
    """To getopt the '=' is a part of the value, to pflag and argparse it is not."""
    return Misuse(ParseProblem.FLAG_TYPE_MISMATCH, f"{letter} must be followed by its value, if any, without a '='")


def _joined(letter: str) -> Misuse:
    return Misuse(ParseProblem.UNKNOWN_FLAG, f"{quoted(letter)} must be an argument of its own")
