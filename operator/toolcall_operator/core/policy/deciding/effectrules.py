"""The rules about what a call does to the world. An exception may lift each of them."""

from __future__ import annotations

from collections.abc import Iterable

from toolcall_operator.core.policy import filepaths
from toolcall_operator.core.policy.deciding.case import Case
from toolcall_operator.core.policy.deciding.effects import Touched
from toolcall_operator.core.policy.deciding.gates import Rule, listed


def _destructive(case: Case) -> str | None:
    return "the subcommand can destroy what cannot be had again" if case.effects.described.destructive else None


def _reads(case: Case) -> str | None:
    denied = case.toolspec.spec.deny.effects.reads
    return _common(case.effects.described.reads, denied, "the subcommand reads from the")


def _writes(case: Case) -> str | None:
    denied = case.toolspec.spec.deny.effects.writes
    return _common(case.effects.described.writes, denied, "the subcommand writes to the")


def _common(found: Iterable[str], denied: Iterable[str], words: str) -> str | None:
    both = sorted({*found} & {*denied})
    return f"{words} {' and the '.join(both)}" if both else None


def _creds_writes(case: Case) -> str | None:
    changed = case.effects.described.creds.writes
    return f"the subcommand changes credentials: {', '.join(changed)}" if changed else None


def _destinations(case: Case) -> str | None:
    allowed, found = case.toolspec.spec.allow.network.destinations or (), case.effects.destinations
    if objection := _untold(case, found, "destination"):
        return objection
    if case.effects.described.uses_network and not found.known:
        return "the call uses the network, and where it connects to cannot be told"
    other = next((each for each in found.known if each not in allowed), None)
    return (
        None
        if other is None
        else f"destination {case.quoted(other)} is not allowed: {_listed(allowed, 'network.destinations')}"
    )


def _paths_under(case: Case) -> str | None:
    allowed, found = case.toolspec.spec.allow.filesystem.paths_under or (), case.effects.paths
    if objection := _untold(case, found, "path"):
        return objection
    described = case.effects.described
    if "filesystem" in {*described.reads, *described.writes} and not described.filesystem.paths:
        return "the call uses the filesystem, and its toolkit does not say which files"
    folders = folders_of(allowed)
    other = next((path for path in found.known if not any(filepaths.is_under(path, each) for each in folders)), None)
    return (
        None
        if other is None
        else f"path {case.quoted(other)} is not allowed: {_listed(allowed, 'filesystem.pathsUnder')}"
    )


def folders_of(listed: Iterable[str]) -> tuple[str, ...]:
    """The folders of a list of allowed ones; what is no plain absolute path allows nothing."""
    return tuple(filter(None, (filepaths.normalised(each, "") for each in listed)))


def _creds_required(case: Case) -> str | None:
    allowed = case.toolspec.spec.allow.creds.required or ()
    other = next((name for name in case.effects.described.creds.required if name not in allowed), None)
    return None if other is None else f"credential {other} is not allowed: {_listed(allowed, 'creds.required')}"


def _untold(case: Case, found: Touched, what: str) -> str | None:
    """An objection to what cannot be judged, as a rule that binds must judge everything."""
    if found.untold:
        return found.untold[0]
    if not found.refused:
        return None
    return f"where {what} {case.quoted(found.refused[0])} leads cannot be told: {_why(found.refused[0])}"


def _why(path: str) -> str:
    if not path:
        return "it is empty"
    return "it begins with '~'" if path.startswith("~") else "it has '..' in it"


def _listed(allowed: Iterable[str], where: str) -> str:
    return listed(allowed, f"allow.{where}")


EFFECT_RULES: tuple[Rule, ...] = (
    Rule("deny.effects.destructive", lambda case: case.toolspec.spec.deny.effects.destructive, _destructive),
    Rule("deny.effects.reads", lambda case: bool(case.toolspec.spec.deny.effects.reads), _reads),
    Rule("deny.effects.writes", lambda case: bool(case.toolspec.spec.deny.effects.writes), _writes),
    Rule("deny.effects.creds.writes", lambda case: case.toolspec.spec.deny.effects.creds.writes, _creds_writes),
    Rule(
        "allow.network.destinations",
        lambda case: case.toolspec.spec.allow.network.destinations is not None,
        _destinations,
    ),
    Rule(
        "allow.filesystem.pathsUnder",
        lambda case: case.toolspec.spec.allow.filesystem.paths_under is not None,
        _paths_under,
    ),
    Rule("allow.creds.required", lambda case: case.toolspec.spec.allow.creds.required is not None, _creds_required),
)
"""In this order; all are looked at, and the first objection that no exception lifts counts."""
