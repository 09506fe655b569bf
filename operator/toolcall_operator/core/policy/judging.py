"""What the toolspecs of a session say of a call, in the words of the core: it may run so, must not run, has to wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.toolcallstatus import Confinement as StatusConfinement
from toolcall_operator.core import execenv
from toolcall_operator.core.outcomes import Confinement, Refused, Wait
from toolcall_operator.core.policy import probing
from toolcall_operator.core.policy.cel import values
from toolcall_operator.core.policy.deciding import candidates, decision, telling
from toolcall_operator.core.policy.deciding import confinement as confining
from toolcall_operator.core.policy.deciding.candidates import Allowed, Candidate, Decision, Denied, Waiting
from toolcall_operator.core.policy.deciding.decision import Invocation
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.policy.probing import Probe, Version, Versions
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.reasons import Waiting as WaitingFor
from toolcall_operator.core.target import Target

PATIENCE = timedelta(seconds=30)
"""How long a call waits for a toolspec or toolkit that nobody has judged yet."""

NO_VERSIONS: Versions = {}
"""Nobody was asked."""

CREDENTIAL = "[credential]"
"""What rules see in the place of a credential: that a variable carries one, and not which."""

_WORKSPACE = "/workspace"
_UNKNOWN = Version(None)
_NOTHING = StatusConfinement(network="None", writable=())
"""How a call runs whose status does not tell how it was to be confined."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """By which toolspec a call was accepted, and what comes with that: variables, and how it is confined."""

    name: str
    toolkit_env: Mapping[str, str] = field(repr=False)
    confinement: StatusConfinement | None


def is_judged(target: Target) -> bool:
    """Whether calls of the tool need a toolspec that allows them: class or session name some, and it is a program.

    A session that names none, which is not the same as naming nothing, allows nothing.
    """
    named = bool(target.session_class.spec.toolspecs) or target.session.spec.toolspecs is not None
    return named and target.tool.command is not None


def decided(
    call: ToolCall,
    target: Target,
    toolspecs: Sequence[Candidate],
    now: datetime | None = None,
    versions: Versions = NO_VERSIONS,
) -> Decision:
    """The decision on a call that has to be judged; `toolspecs` are those of its session, in their order.

    One of which it is not known of what tool it speaks may speak of this one. Without `now`, a rule that asks for the
    time has no value, and denies; so does one that requires a version which is not among `versions`.
    """
    speaking = [each for each in toolspecs if each.tool in {call.spec.tool, ""}]
    return candidates.decide(call.spec.tool, speaking, _asked(call, target, now, versions).under)


def invocation(
    call: ToolCall, target: Target, toolspec: Toolspec, now: datetime | None, versions: Versions = NO_VERSIONS
) -> Invocation:
    """What one toolspec judges of a call: see `decided`."""
    return _asked(call, target, now, versions).under(toolspec)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call that is asked about, with all that toolspecs may want to know of it."""

    call: ToolCall
    target: Target
    now: datetime | None
    versions: Versions
    config_trouble: str

    def under(self, toolspec: Toolspec) -> Invocation:
        """What there is to judge: the call as its process would see it, with the defaults of the toolspec's toolkit."""
        target, defaults = self.target, toolspec.toolkit.spec.env_defaults
        env, session_env = self.call.spec.env, target.session.spec.default_env
        program, *argv = target.argv(self.call)
        probe = probing.of(toolspec, program)
        version = self.versions.get(probe, _UNKNOWN) if probe else _UNKNOWN
        credentials = dict.fromkeys(_carrying(self.call), CREDENTIAL)
        return Invocation(
            program=program,
            argv=tuple(argv),
            env={**target.class_env, **execenv.assemble(env, session_env, defaults, target.class_env), **credentials},
            given=frozenset({*_chosen(env, defaults), *session_env}),
            cwd=_WORKSPACE,
            config=target.config,
            config_trouble=self.config_trouble,
            has_stdin=bool(self.call.spec.stdin),
            binary_version=version.text,
            version_trouble=version.why,
            class_env=frozenset(target.session_class.spec.allowed_env_names),
            credential_env=frozenset(credentials),
            now=self.now,
        )


def _asked(call: ToolCall, target: Target, now: datetime | None, versions: Versions) -> _Asked:
    """The session's values are looked through once, however many toolspecs judge."""
    return _Asked(call, target, now, versions, values.unseen(target.config, "config"))


def _chosen(env: Mapping[str, str], defaults: Mapping[str, str]) -> Iterator[str]:
    """The names that a call sets itself: runners copy the toolkit's defaults into calls, and those count as defaults.

    Of a session all names count: its values win over the defaults.
    """
    return (name for name, value in env.items() if defaults.get(name) != value)


def _carrying(call: ToolCall) -> Iterator[str]:
    """The variables of a process that carry its credentials."""
    return (name for each in call.spec.credentials if (name := each.inject.env_var))


def unasked(found: Decision) -> Probe | None:
    """The program that has to be asked for its version before the decision stands; None if it stands."""
    match found:
        case Allowed():
            return probing.missing(found.before)
        case Denied():
            return probing.missing(found.judgements)
        case Waiting():  # an answer may spare the wait
            return probing.missing(found.refusal.judgements)


def objection(found: Denied | Waiting) -> Refused | Wait:
    """What a decision that does not allow the call means for it."""
    if isinstance(found, Waiting):
        return Wait(WaitingFor.POLICY, PATIENCE, _refused(found.refusal), found.message)
    return _refused(found)


def accepted(found: Allowed) -> Accepted:
    """What comes with a decision that allows."""
    toolspec = found.toolspec
    return Accepted(toolspec.name, toolkit_env(toolspec), told(confining.of(found.judgement)))


def told(confinement: Confinement) -> StatusConfinement:
    """How a call is confined, as its status tells it."""
    network: Literal["Sandbox", "None"] = "Sandbox" if confinement.network else "None"
    return StatusConfinement(network=network, writable=confinement.writable)


def stands(call: ToolCall, target: Target, toolspec: Candidate | None, now: datetime | None) -> bool:
    """Whether the toolspec that accepted a call would accept it now; one that is not there, or not judged, does not.

    Nor does one that requires a version of the program: nobody asks for it again.
    """
    if not isinstance(toolspec, Toolspec):
        return False
    return decision.judge(toolspec, invocation(call, target, toolspec, now)).denial is None


def toolkit_env(toolspec: Candidate | None) -> Mapping[str, str]:
    """The defaults that come with the toolspec a call was accepted by."""
    return toolspec.toolkit.spec.env_defaults if isinstance(toolspec, Toolspec) else {}


def confinement(found: Accepted | None) -> Confinement:
    """What the sandbox keeps the process from; of a call that was claimed, as its status tells."""
    if found is None:
        return Confinement()
    confined = found.confinement or _NOTHING
    return Confinement(network=confined.network != "None", writable=confined.writable, trusted=True)


def _refused(denied: Denied) -> Refused:
    """The refusal; where nothing but a variable stands in the way of every toolspec, that is the reason."""
    by_env = all(failure.path == decision.ENV for failure in denied.failures)
    reason = Reason.ENV_NAME_FORBIDDEN if by_env and denied.failures else Reason.TOOLSPEC_DENIED
    return Refused(reason, denied.message, failures=telling.told(denied.failures))
