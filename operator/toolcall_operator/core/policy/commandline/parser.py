"""A command line read as its program will read it, or refused: what the toolkit does not describe is never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from toolcall_operator.core.policy.commandline.flagvalues import FlagValues
from toolcall_operator.core.policy.commandline.flagwords import FlagRule, Scope, Uses
from toolcall_operator.core.policy.commandline.grammar import Command, Grammar, Node
from toolcall_operator.core.policy.commandline.places import Places
from toolcall_operator.core.policy.commandline.quoting import quoted
from toolcall_operator.core.policy.commandline.values import CommandLine, Misuse, ParseProblem, Reading, Role, Unparsed

_WORDS_SHOWN = 8
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(grammar: Grammar, argv: Sequence[str]) -> CommandLine | Unparsed:
    """Read `argv`, everything behind the program's own name; in time linear in its length. Never raises."""
    run = _Run(tuple(argv))
    try:
        return run.line(grammar)
    except _Refused as refused:
        return refused.unparsed


def render(line: CommandLine, told: Callable[[str], str] = quoted) -> str:
    """One line for each argument: what it was read as. `told` is how an argument is shown, what is secret left out."""
    return "\n".join(
        f"{told(line.argv[index])}: {', '.join(map(_words, readings))}"
        for index, readings in groupby(line.readings, lambda reading: reading.index)
    )


def _words(reading: Reading) -> str:
    of = "value of" if reading.role is Role.VALUE else str(reading.role)
    return f"{of} {reading.name}".strip()


class _Refused(Exception):
    """What ends a reading early; it never leaves this module."""

    def __init__(self, misuse: Misuse, index: int | None) -> None:
        super().__init__(misuse.message)
        self.unparsed = Unparsed(misuse.problem, misuse.message, index)


class _Run:
    """One reading of one command line, from its first argument to its last."""

    __slots__ = ("argv", "at", "flags", "readings", "tail")

    def __init__(self, argv: tuple[str, ...]) -> None:
        self.argv = argv
        self.at = 0
        self.readings: list[Reading] = []
        self.flags = FlagValues()
        self.tail = len(argv)

    def line(self, grammar: Grammar) -> CommandLine:
        """The whole command line."""
        self._must_be_text()
        unknown = self._leading(grammar.leading)
        node, command = self._subcommand(grammar.root, unknown)
        places = Places(command)
        self._rest(node, command, places)
        if places.missing is not None:
            raise _Refused(Misuse(ParseProblem.ARG_COUNT_MISMATCH, f"{places.missing} is missing"), None)
        tail, readings = self.argv[self.tail :], tuple(self.readings)
        return CommandLine(self.argv, command.subcommand, self.flags.values, places.values, tail, readings)

    def _must_be_text(self) -> None:
        """No process can be given a NUL, or what has no UTF-8."""
        if _is_text("".join(self.argv)):
            return
        index = next(at for at, argument in enumerate(self.argv) if not _is_text(argument))
        raise _Refused(Misuse(ParseProblem.ARGUMENT_TYPE_MISMATCH, f"argument {index + 1} is no text"), index)

    # Before and at the subcommand ------------------------------------------------------------------------------------
    def _leading(self, scope: Scope) -> Misuse | None:
        """The global flags before the subcommand. One that is unknown ends them: it may be the bare program's."""
        while self.at < len(self.argv) and _is_flag(self.argv[self.at]):
            uses = scope.uses(self.argv[self.at])
            if isinstance(uses, Misuse) and uses.problem is ParseProblem.UNKNOWN_FLAG:
                return uses
            self._use(uses)
        return None

    def _subcommand(self, root: Node, unknown: Misuse | None) -> tuple[Node, Command]:
        """The subcommand of the most words, and the node at which these words end."""
        node, at = root, self.at
        found, end = root, at
        while at < len(self.argv) and self.argv[at] in node.children:
            node, at = node.children[self.argv[at]], at + 1
            if node.command is not None:
                found, end = node, at
        command = found.command
        if command is None:
            raise self._no_subcommand(node, at, unknown)
        self._must_not_be_hidden(command)
        self.readings += [Reading(place, Role.SUBCOMMAND, command.subcommand.name) for place in range(self.at, end)]
        self.at = end
        return found, command

    def _must_not_be_hidden(self, command: Command) -> None:
        """Nobody who judges the line could tell two flags of one name apart."""
        for reading in self.readings if command.hidden else ():
            if reading.name in command.hidden:
                message = f"{reading.name} must not stand before a subcommand that has a flag of this name"
                raise _Refused(Misuse(ParseProblem.UNKNOWN_FLAG, message), reading.index)

    def _no_subcommand(self, node: Node, at: int, unknown: Misuse | None) -> _Refused:
        """What to say of the argument at which the words of a subcommand should begin or go on."""
        missing = at >= len(self.argv)
        if unknown is not None:
            found = f"before the subcommand: {unknown.message}"
        else:
            found = "a subcommand is missing" if missing else _no_word(self.argv[self.at : at], self.argv[at])
        known = ", ".join([*node.children][:_WORDS_SHOWN]) + (", …" if len(node.children) > _WORDS_SHOWN else "")
        message = f"{found}; there are: {known}" if known else found
        return _Refused(Misuse(ParseProblem.UNKNOWN_SUBCOMMAND, message), None if missing else at)

    # Behind the subcommand -------------------------------------------------------------------------------------------
    def _rest(self, node: Node, command: Command, places: Places) -> None:
        """Flags and other arguments in any order until nothing is a flag any more, then other arguments alone."""
        flags = True
        while self.at < len(self.argv):
            argument = self.argv[self.at]
            if not (flags and _is_flag(argument)):
                self._put(argument, node, places)
                flags = flags and not command.ends_at_positional
                continue
            ends = self._double_dash(command) if argument == "--" else self._use(command.scope.uses(argument))
            if ends:
                flags, self.tail = False, self.at
                places.go_behind_double_dash()

    def _double_dash(self, command: Command) -> bool:
        if not command.knows_double_dash:
            message = "a double dash does not keep what follows from being read as flags here"
            raise _Refused(Misuse(ParseProblem.UNKNOWN_FLAG, message), self.at)
        self.readings.append(Reading(self.at, Role.SEPARATOR, ""))
        self.at += 1
        return True

    def _put(self, argument: str, node: Node, places: Places) -> None:
        """One argument that is no flag."""
        if argument in node.children and places.empty:
            # Some programs find the words of a subcommand between flags: to `git remote -v add`, add is no argument.
            message = f"{quoted(argument)} may be read as the word of another subcommand here"
            raise _Refused(Misuse(ParseProblem.UNKNOWN_SUBCOMMAND, message), self.at)
        name = places.put(argument)
        if isinstance(name, Misuse):
            raise _Refused(name, self.at)
        self.readings.append(Reading(self.at, Role.POSITIONAL, name))
        self.at += 1

    # Flags -----------------------------------------------------------------------------------------------------------
    def _use(self, uses: Uses | Misuse) -> bool:
        """The flags in one argument, with the arguments that are their values; whether they end the flags."""
        here = self.at
        if isinstance(uses, Misuse):
            raise _Refused(uses, here)
        self.at += 1
        for use in uses:
            self.readings.append(Reading(here, use.rule.role, use.rule.name))
            if use.attached is not None:
                self._value(use.rule, use.attached, here)
            elif use.rule.takes:
                self._values(use.rule, here)
            elif misuse := self.flags.give(use.rule):
                raise _Refused(misuse, here)
        return uses[-1].rule.ends_flags

    def _values(self, rule: FlagRule, here: int) -> None:
        """The next arguments, whatever they look like: even a double dash is a value here."""
        end = self.at + rule.takes
        if end > len(self.argv):
            message = f"{rule.shown} needs a value" if rule.takes == 1 else f"{rule.shown} needs {rule.takes} values"
            raise _Refused(Misuse(ParseProblem.MISSING_FLAG_VALUE, message), here)
        for index in range(self.at, end):
            self._value(rule, self.argv[index], index)
        self.at = end

    def _value(self, rule: FlagRule, text: str, index: int) -> None:
        if misuse := self.flags.put(rule, text):
            raise _Refused(misuse, index)
        self.readings.append(Reading(index, Role.VALUE, rule.name))


def _is_flag(argument: str) -> bool:
    """Whether it begins with a dash and is more than that: a lone dash is a name for standard input."""
    return argument.startswith("-") and argument != "-"


def _is_text(text: str) -> bool:
    return "\0" not in text and (text.isascii() or _SURROGATE.search(text) is None)


def _no_word(words: tuple[str, ...], argument: str) -> str:
    """Only what could be a name is quoted: the rest of the argument may be a value."""
    if _is_flag(argument):
        return f"a flag stands within the words of a subcommand, behind {quoted(' '.join(words))}"
    return f"unknown subcommand {quoted(' '.join((*words, argument.partition('=')[0])))}"
