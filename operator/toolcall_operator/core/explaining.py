"""What would become of a call, told to people: what speaks against it, and what its toolspecs make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import target as targets
from toolcall_operator.core import validation
from toolcall_operator.core.credentials import referring
from toolcall_operator.core.outcomes import Refused, Wait
from toolcall_operator.core.policy import judging
from toolcall_operator.core.policy.deciding import explanation
from toolcall_operator.core.policy.deciding.candidates import Allowed, Decision
from toolcall_operator.core.readiness import Objection
from toolcall_operator.core.target import Target
from toolcall_operator.core.world import World

_VERDICTS = {True: "would run", False: "would not run"}


@dataclass(frozen=True, slots=True)
class Explained:
    """Whether the call would run for certain, and why, in lines without secrets."""

    allowed: bool
    lines: tuple[str, ...]


def explained(call: ToolCall, world: World, now: datetime) -> Explained:
    """What would become of the call in this world; nothing is run, and nothing waited for."""
    checks = [found for check in validation.CHECKS for found in check(call, world)]
    checks += referring.objections(call, world)
    found = targets.found(call, world)
    decision = _decision(call, found, world, now)
    allowed = not checks and (decision is None or isinstance(decision, Allowed))
    probed = not checks and decision is not None and judging.unasked(decision) is not None
    verdict = "is decided when its program was asked for its version" if probed else _VERDICTS[allowed]
    return Explained(
        allowed and not probed,
        (*_told(call, found, verdict), *_checks(checks), *_policy(found, decision), *_credentials(call, world)),
    )


def _decision(call: ToolCall, found: Target | None, world: World, now: datetime) -> Decision | None:
    if found is None or not judging.is_judged(found):
        return None
    return judging.decided(call, found, world.toolspecs or (), now)


def _told(call: ToolCall, found: Target | None, verdict: str) -> Iterator[str]:
    yield f"ToolCall {call.metadata.namespace}/{call.metadata.name} {verdict}"
    if found:
        names = found.session.metadata.name, found.session_class.metadata.name, found.tool.name
        yield "  session {}, class {}, tool {}".format(*names)


def _checks(found: list[Objection]) -> Iterator[str]:
    for each in found:
        match each:
            case Refused():
                yield f"  refused: {each.reason}: {each.message}"
            case Wait():
                yield f"  would wait: {each.refusal.message}"


def _policy(found: Target | None, decision: Decision | None) -> Iterator[str]:
    if decision is None:
        if found:
            yield "  not judged: the class declares no toolspecs, or the tool is no program"
        return
    yield from (f"  {line}".rstrip() for line in explanation.text(decision).splitlines())
    if isinstance(decision, Allowed):
        yield from _confined(decision)


def _credentials(call: ToolCall, world: World) -> Iterator[str]:
    """Which Secrets would be asked for; whether they are there, and may be used, is seen when the call runs."""
    references = referring.references(call, world)
    for each in references if isinstance(references, tuple) else ():
        where = f"Secret {each.source.namespace}/{each.source.secret}"
        key = f", key {each.source.key}" if each.source.key else ""
        yield f"  credential: {each.env_var or each.header} from {where}{key} ({each.source.kind})"


def _confined(allowed: Allowed) -> Iterator[str]:
    """What the sandbox keeps the process from, whatever its arguments say."""
    told = judging.told(judging.confinement(judging.accepted(allowed)))
    yield "  confined: network " + ("as its sandbox" if told.network == "Sandbox" else "none")
    if told.writable is not None:
        yield "  confined: writes only below " + (", ".join(told.writable) or "nothing")
