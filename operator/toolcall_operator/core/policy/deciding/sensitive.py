"""Which values of a call must not be shown, because its toolkit, its toolspec or the name of a variable says so."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from toolcall_operator.api.commandline import Flag
from toolcall_operator.core import envnames
from toolcall_operator.core.policy import filepaths, templates
from toolcall_operator.core.policy.commandline.values import CommandLine, ParseProblem, Unparsed
from toolcall_operator.core.policy.deciding.redaction import Redactor
from toolcall_operator.core.policy.templates import Sources, Template

if TYPE_CHECKING:
    from toolcall_operator.core.policy.loading.toolspecs import Toolspec

_QUOTING = frozenset({ParseProblem.UNKNOWN_FLAG, ParseProblem.UNKNOWN_SUBCOMMAND})
"""What is wrong with an argument that the message quotes."""

_secret_like = functools.lru_cache(maxsize=4_096)(envnames.secret_like)


def redactor(toolspec: Toolspec, env: Mapping[str, str], cwd: str, line: CommandLine | None) -> Redactor:
    """Knows the sensitive values of a call, with the hosts and paths that effects make of them."""
    found = Redactor()
    names = [("env", name) for name in env if _is_sensitive(toolspec, name)]
    for _, name in names:
        found.register(env[name])
    if line is not None:
        flags = _flags(toolspec, line)
        positional = toolspec.spec.sensitive.positional
        found.register([each for name in flags for each in _texts(line.flags.get(name))])
        found.register([each for name in positional for each in _texts(line.positional.get(name))])
        names += [*(("flag", name) for name in flags), *(("positional", name) for name in positional)]
        _register_effects(found, names, line, Sources(line.flags, line.positional, env, cwd))
    return found


def words_of(toolspec: Toolspec, unparsed: Unparsed, argv: tuple[str, ...], known: Redactor) -> str:
    """What may be said of a command line that was not understood; `known` knows the sensitive variables.

    What looks like a flag or a subcommand and is none is quoted by the message, and perhaps cut. It is not shown if a
    sensitive value is in it, or if it may be a sensitive argument itself: nobody knows what it would have been.
    """
    index = unparsed.index
    if index is None or unparsed.problem not in _QUOTING:
        return unparsed.message
    argument = argv[index]
    may_be = bool(toolspec.spec.sensitive.positional) and argument not in _words(toolspec)
    if may_be or known.shown(argument) != argument:
        return f"argument {index + 1} is refused ({unparsed.problem}); it is not shown, as it may be sensitive"
    return unparsed.message


def _is_sensitive(toolspec: Toolspec, name: str) -> bool:
    known = toolspec.toolkit.env.get(name)
    return (known is not None and known.sensitive) or name in toolspec.spec.sensitive.env or _secret_like(name)


def _flags(toolspec: Toolspec, line: CommandLine) -> list[str]:
    """The names of the flags of the call that are sensitive; a toolspec may name them by their letters, too."""
    named = {name.lstrip("-") for name in toolspec.spec.sensitive.flags}
    flags = itertools.chain(line.subcommand.flags, toolspec.toolkit.spec.global_flags)
    return [flag.name for flag in flags if flag.sensitive or not named.isdisjoint(_names(flag))]


def _names(flag: Flag) -> set[str]:
    return {flag.long or "", flag.short or ""} - {""}


def _texts(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _register_effects(found: Redactor, names: Iterable[tuple[str, str]], line: CommandLine, sources: Sources) -> None:
    """A host or a path that a sensitive value was put into tells a part of it, or another spelling."""
    effects = line.subcommand.effects
    for text in (*effects.network.destinations, *effects.filesystem.paths):
        template = templates.compiled(text)
        if any(template.names(kind, name) for kind, name in names):
            found.register(_spellings(template, sources))


def _spellings(template: Template, sources: Sources) -> list[str]:
    texts = [*template.filled(sources).texts, *template.as_paths(sources).texts]
    return [*texts, *filter(None, (filepaths.normalised(text, sources.cwd) for text in texts))]


def _words(toolspec: Toolspec) -> set[str]:
    """Every text of the toolkit's command lines that is no value: words of subcommands, and flags."""
    spec = toolspec.toolkit.spec
    flags = itertools.chain(spec.global_flags, *(subcommand.flags for subcommand in spec.subcommands))
    words = itertools.chain.from_iterable(subcommand.path for subcommand in spec.subcommands)
    named = [*flags]
    longs, shorts = (
        (f"--{flag.long}" for flag in named if flag.long),
        (f"-{flag.short}" for flag in named if flag.short),
    )
    return {*words, "--", *longs, *shorts}
