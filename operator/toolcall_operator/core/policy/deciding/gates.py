"""The rules that no exception lifts: whether the toolspec speaks of this program, and of this use of it, at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolcall_operator.core.policy.cel import versions
from toolcall_operator.core.policy.commandline import quoting
from toolcall_operator.core.policy.deciding import environment
from toolcall_operator.core.policy.deciding.case import Case

_SHOWN = 8

BINARY_VERSION = "binaryVersion"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its path in the toolspec: whether it `binds` a call, and what it then objects to."""

    path: str
    binds: Callable[[Case], bool]
    objection: Callable[[Case], str | None]


def listed(texts: Iterable[str], where: str) -> str:
    """What a list allows, for people."""
    every = tuple(texts)
    if not every:
        return f"{where} is empty and allows nothing"
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"{where} has {', '.join(map(quoting.quoted, every[:_SHOWN]))}{more}"


def always(_case: Case) -> bool:
    """Binds every call."""
    return True


def _revision(case: Case) -> str | None:
    wanted, found = case.toolspec.spec.toolkit.revision, case.toolspec.toolkit.spec.toolkit_revision
    if wanted == found:
        return None
    return f"the toolspec is for revision {quoting.quoted(wanted)} of the toolkit, this is {quoting.quoted(found)}"


def _config(case: Case) -> str | None:
    trouble = case.invocation.config_trouble
    return f"the toolConfig of the session cannot be used: {trouble}" if trouble else None


def _judges_version(case: Case) -> bool:
    return case.toolspec.spec.require.verified_binary_version or case.invocation.binary_version is not None


def _binary_version(case: Case) -> str | None:
    version, wanted = case.invocation.binary_version, case.toolspec.toolkit.spec.target.version_range
    if version is None:
        return f"the version of the program must have been verified, {_why_unknown(case)}"
    if wanted is None or versions.satisfies(version, wanted):
        return None
    return f"version {case.quoted(version)} of the program is not in the range {quoting.quoted(wanted)} of its toolkit"


def _why_unknown(case: Case) -> str:
    if case.toolspec.toolkit.spec.target.version_probe is None:
        return "and its toolkit has no target.versionProbe to ask it by"
    return case.invocation.version_trouble or "and it is asked only in its sandbox, when a call is about to run"


def _env(case: Case) -> str | None:
    invocation, of_toolkit = case.invocation, case.toolspec.toolkit.env
    for name in sorted((invocation.given | invocation.credential_env).difference(of_toolkit)):
        if environment.forbidden(name):
            return f"variable {case.quoted(name)} steers programs, and the toolkit does not list it in env.allowed"
        if name in invocation.given and name not in invocation.class_env:
            where = "the toolkit's env.allowed nor in the class's allowedEnvNames"
            return f"variable {case.quoted(name)} is neither in {where}"
    return None


def _stdin(case: Case) -> str | None:
    program = case.line.subcommand.stdin == "Program"
    if not case.invocation.has_stdin or not program or case.toolspec.spec.allow.stdin:
        return None
    return "standard input is a program to be run here, and the toolspec does not allow one"


def _subcommand(case: Case) -> str | None:
    allowed, name = case.toolspec.spec.allow_subcommands, case.line.subcommand.name
    if name in allowed:
        return None
    return f"subcommand {quoting.quoted(name)} is not allowed: {listed(allowed, 'allowSubcommands')}"


def _flags(case: Case) -> str | None:
    used = case.toolspec.unconstrained.intersection(case.line.flags)
    if not used:
        return None
    name = min(used)
    shown = f"-{name}" if len(name) == 1 else f"--{name}"
    return f"flag {quoting.quoted(shown)} may only be used where a constraint of the toolspec names it, and none does"


GATES: tuple[Rule, ...] = (
    Rule("revision", always, _revision),
    Rule("config", always, _config),
    Rule(BINARY_VERSION, _judges_version, _binary_version),
    Rule("env", always, _env),
    Rule("allow.stdin", always, _stdin),
    Rule("allowSubcommands", always, _subcommand),
    Rule("flags", always, _flags),
)
"""In this order; the first objection counts."""
