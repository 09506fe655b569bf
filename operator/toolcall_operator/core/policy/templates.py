"""Text of a toolkit with parts in braces that stand for what a call gives: `{flag:output}`, `{env:HOST}`, `{cwd}`."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from toolcall_operator import errors
from toolcall_operator.core import envnames
from toolcall_operator.core.policy.cel import hosts
from toolcall_operator.core.policy.commandline.values import Value

MOST_ENTRIES = 1_024
"""More than any command line is judged by: the product of several lists could be millions."""

_PART = re.compile(r"\{([^{}]*)\}")
_OR = "or:"
_FROM_ROOT_OR_HOME = ("/", "~")


class Sources(NamedTuple):
    """What parts are filled in from; a flag or argument that the call does not give is not in its mapping."""

    flags: Mapping[str, Value]
    positional: Mapping[str, Value]
    env: Mapping[str, str]
    cwd: str


class Filled(NamedTuple):
    """What became of a template: the texts it stands for, or the `problem`: why nobody can tell them.

    No text and no problem: it names a flag or an argument that the call does not give.
    """

    texts: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a template: `kind` is text, flag, positional, env or cwd; empty if nobody knows what it means."""

    text: str
    kind: str = ""
    name: str = ""
    filters: tuple[str, ...] = ()

    def values(self, sources: Sources) -> tuple[str, ...] | None:
        """The texts it stands for, none if the call does not give it; None if that cannot be told."""
        found = self._found(sources)
        for wanted in self.filters:
            if found is None:
                break
            found = _hosts(found) if wanted == "host" else found or (wanted.removeprefix(_OR),)
        return found

    def _found(self, sources: Sources) -> tuple[str, ...] | None:
        match self.kind:
            case "text":
                return (self.text,)
            case "flag":
                return _texts(sources.flags.get(self.name, ()))
            case "positional":
                return _texts(sources.positional.get(self.name, ()))
            case "env":  # an image may set what is not known here: absent is not the same as not there
                return (sources.env[self.name],) if self.name in sources.env else None
            case "cwd":
                return (sources.cwd,)
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Template:
    """A template, read."""

    text: str
    parts: tuple[Part, ...]

    def filled(self, sources: Sources) -> Filled:
        """The texts it stands for: one for each value of a list."""
        combinations, problem = self._combinations(sources)
        return Filled(tuple(map("".join, combinations)), problem)

    def as_paths(self, sources: Sources) -> Filled:
        """The paths it stands for.

        A value that begins at the root or at home may be meant to go below the text before it, or to take its place as
        most programs have it (`-C dir add /etc/passwd`): it gives both paths, and either must be allowed.
        """
        combinations, problem = self._combinations(sources)
        return Filled(tuple(itertools.chain.from_iterable(map(self._readings, combinations))), problem)

    def names(self, kind: str, name: str) -> bool:
        """Whether a part of it is filled in from this flag, argument or variable."""
        return any((part.kind, part.name) == (kind, name) for part in self.parts)

    def _combinations(self, sources: Sources) -> tuple[Iterable[tuple[str, ...]], str]:
        choices: list[tuple[str, ...]] = []
        for part in self.parts:
            found = part.values(sources)
            if found is None:
                return (), f"what {errors.foreign(part.text)} stands for cannot be told"
            choices.append(found)
        if math.prod(map(len, choices)) > MOST_ENTRIES:
            return (), f"{errors.foreign(self.text)} stands for more than {MOST_ENTRIES} texts"
        return itertools.product(*choices), ""

    def _readings(self, combination: tuple[str, ...]) -> Iterator[str]:
        yield "".join(combination)
        for index, part in enumerate(self.parts):
            if index and part.kind != "text" and combination[index].startswith(_FROM_ROOT_OR_HOME):
                yield "".join(combination[index:])


@functools.lru_cache(maxsize=16_384)
def compiled(text: str) -> Template:
    """The template of a text; parts that `objections` speaks against stand for nothing that could be told."""
    return Template(text, tuple(_parts(text)))


def objections(text: str, flags: Collection[str], positionals: Collection[str]) -> str | None:
    """What is wrong with a template of a subcommand that has these flags and arguments, by their names."""
    for part in compiled(text).parts:
        if objection := _objection(part, flags, positionals):
            return f"{errors.foreign(part.text)} {objection}"
    return None


def _objection(part: Part, flags: Collection[str], positionals: Collection[str]) -> str | None:
    has = {"flag": flags, "positional": positionals}.get(part.kind, (part.name,))
    if not part.kind:
        return (
            "is no part of a template: there are {flag:NAME}, {positional:NAME}, {env:NAME} and {cwd}, the first two "
            "also with |or:TEXT, all but {cwd} with |host"
        )
    return None if part.name in has else f"names no {part.kind} that the subcommand has"


def _parts(text: str) -> Iterator[Part]:
    for index, piece in enumerate(_PART.split(text)):
        if index % 2:
            yield _part(piece)
        elif piece:
            yield Part(piece, "" if "{" in piece or "}" in piece else "text")


def _part(inside: str) -> Part:
    """The part with this text between its braces."""
    head, *filters = inside.split("|")
    kind, colon, name = head.partition(":")
    named = {"flag": bool(name), "positional": bool(name), "env": envnames.is_env_name(name), "cwd": not colon}
    can_be_absent = kind in {"flag", "positional"}
    known = all((given == "host" and kind != "cwd") or (can_be_absent and _is_or(given)) for given in filters)
    return Part(f"{{{inside}}}", kind, name, tuple(filters)) if named.get(kind) and known else Part(f"{{{inside}}}")


def _is_or(wanted: str) -> bool:
    return wanted.startswith(_OR) and wanted != _OR


def _texts(value: Value) -> tuple[str, ...] | None:
    """A value as texts; a flag that stands there without its value says nothing about what the program takes."""
    if isinstance(value, tuple):
        return value
    return None if isinstance(value, bool) else (str(value),)


def _hosts(texts: Sequence[str]) -> tuple[str, ...] | None:
    found = tuple(map(hosts.of, texts))
    return found if all(found) else None
