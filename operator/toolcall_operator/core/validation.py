"""Whether a call may run, and as what: a list of checks, in the order in which a caller would fix what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from toolcall_operator.api import paths
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core import entropy, envnames, execenv, readiness, support
from toolcall_operator.core import target as targets
from toolcall_operator.core.credentials import referring
from toolcall_operator.core.credentials.references import Reference
from toolcall_operator.core.outcomes import ExecRequest, Refused, Wait
from toolcall_operator.core.policy import judging
from toolcall_operator.core.policy.deciding.candidates import Allowed, Decision
from toolcall_operator.core.policy.probing import Probe, Versions
from toolcall_operator.core.readiness import Objection
from toolcall_operator.core.reasons import Reason
from toolcall_operator.core.target import Target
from toolcall_operator.core.world import World

ARGUMENT_BYTES = 131_071
"""The longest argument Linux hands to a process: 32 pages of 4 KiB (MAX_ARG_STRLEN) less the closing NUL."""

_TOOLS_NAMED = 12
_NAME_SHOWN = 64
_NO_NAME = "a name that no process can be given: at most 256 letters, digits and _, no digit first"
_TELLING_NAME = (
    "a name that suggests a secret; secrets do not belong in a ToolCall; if it is none, its class can list it in "
    "allowedEnvNames"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that may run, with what it runs in; `high_entropy` names the fields of it that look like secrets.

    `accepted_by` is the toolspec that allowed it, empty where calls are not judged. `world` is what was decided on.
    `only_followed`: what a claimed call was accepted by is not there any more, or would not accept it now; its process
    may be attached to, and is not started by whoever finds that nobody started it. `references` are the credentials its
    process is given; the request has them only once they were had. `asked_at` is when the call was made.
    """

    session: SpiceboxSession
    session_class: SpiceboxClass
    request: ExecRequest
    world: World
    accepted_by: str = ""
    high_entropy: tuple[str, ...] = ()
    only_followed: bool = False
    references: tuple[Reference, ...] = ()
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unprobed:
    """A call that cannot be decided on before a program of its sandbox was asked for its version, by `probe`.

    `otherwise` is the decision if nobody asks. `world` is what was decided on.
    """

    session: SpiceboxSession
    session_class: SpiceboxClass
    probe: Probe
    world: World
    otherwise: Plan | Refused | Wait


def plan(call: ToolCall, world: World, now: datetime | None = None) -> Plan | Refused | Wait:
    """What is decided where no program can be asked for its version; see `considered`."""
    found = considered(call, world, now)
    return found.otherwise if isinstance(found, Unprobed) else found


def considered(
    call: ToolCall, world: World, now: datetime | None = None, versions: Versions = judging.NO_VERSIONS
) -> Plan | Refused | Wait | Unprobed:
    """The plan of a call that passes every check and is allowed by its toolspecs, or the first objection.

    Rules of toolspecs may ask for the time, `now`, and for the version of the program, one of `versions`.

    Raises:
        LookupError: there are no checks, or they let a call pass whose session, class or tool is not there.
    """
    if not CHECKS:
        raise LookupError("without checks nothing is allowed")
    if objection := next(_objections(call, world), None):
        return objection
    found = targets.found(call, world)
    if found is None:
        raise LookupError("no check objected to a call whose session, class or tool is not there")
    if not judging.is_judged(found):
        return _equipped(call, found, world, None)
    decision = judging.decided(call, found, world.toolspecs or (), now, versions)
    if probe := judging.unasked(decision):
        return Unprobed(found.session, found.session_class, probe, world, _meant(decision, call, found, world))
    return _meant(decision, call, found, world)


def _meant(decision: Decision, call: ToolCall, found: Target, world: World) -> Plan | Refused | Wait:
    """What the decision of the toolspecs means for the call."""
    if isinstance(decision, Allowed):
        return _equipped(call, found, world, judging.accepted(decision))
    return judging.objection(decision)


def _equipped(call: ToolCall, found: Target, world: World, accepted: judging.Accepted | None) -> Plan | Refused | Wait:
    """What is run of a call that may run, with the credentials it asks for, if it may ask for them."""
    references = referring.references(call, world)
    if not isinstance(references, tuple):
        return references
    return replace(_planned(call, found, world, accepted), references=references)


def resumed(call: ToolCall, world: World, now: datetime | None = None) -> Plan | None:
    """The plan by which a claimed call was started: that it may run was decided then, and is not asked again.

    It is asked whether it could still be started, should nobody have done so: with another environment than it was
    judged with, the same command line may do something else, and without its credentials. None: what it runs in is not
    to be found any more.
    """
    found = targets.found(call, world)
    if found is None:
        return None
    planned, references = _resumed(call, found, world, now), referring.references(call, world)
    if not isinstance(references, tuple):
        return replace(planned, only_followed=True)
    return replace(planned, references=references)


def _resumed(call: ToolCall, found: Target, world: World, now: datetime | None) -> Plan:
    status = call.status
    accepted_by = (status.toolspec.accepted_by if status and status.toolspec else None) or ""
    toolspec = next((each for each in world.toolspecs or () if each.name == accepted_by), None)
    judged = judging.Accepted(accepted_by, judging.toolkit_env(toolspec), status.confinement if status else None)
    if not accepted_by:
        return _planned(call, found, world, None)
    stands = judging.stands(call, found, toolspec, now)
    return replace(_planned(call, found, world, judged), only_followed=not stands)


def objections(call: ToolCall, world: World, now: datetime | None = None) -> Iterator[Objection]:
    """Everything that speaks against a call, in the order in which it is decided; the toolspecs are asked once.

    Their rules may ask for the time, `now`. That the version of a program is not known is no objection: it is asked for
    it before the call runs.
    """
    yield from _objections(call, world)
    found = targets.found(call, world)
    if found and judging.is_judged(found):
        decision = judging.decided(call, found, world.toolspecs or (), now)
        if not isinstance(decision, Allowed) and not judging.unasked(decision):
            yield judging.objection(decision)
    yield from referring.objections(call, world)


def _objections(call: ToolCall, world: World) -> Iterator[Objection]:
    for check in CHECKS:
        yield from check(call, world)


def _planned(call: ToolCall, found: Target, world: World, accepted: judging.Accepted | None) -> Plan:
    """What is run of a call that may run."""
    spec = found.session_class.spec
    toolkit_env = accepted.toolkit_env if accepted else {}
    request = ExecRequest(
        uid=call.metadata.uid,
        argv=found.argv(call),
        env=execenv.assemble(call.spec.env, found.session.spec.default_env, toolkit_env, found.class_env),
        stdin=(call.spec.stdin or "").encode(),
        timeout=call.spec.timeout,
        grace=spec.termination_grace_period,
        output_bytes=spec.limits.output_bytes,
        pids=spec.resources.pids_limit,
        confinement=judging.confinement(accepted),
    )
    accepted_by = accepted.name if accepted else ""
    return Plan(
        found.session,
        found.session_class,
        request,
        world,
        accepted_by,
        tuple(_high_entropy(call)),
        asked_at=call.metadata.creation_timestamp,
    )


def class_exists(call: ToolCall, world: World) -> Iterator[Refused]:
    """The session's class is there."""
    if world.session is not None and world.session_class is None and world.on_demand:
        named = f"SpiceboxClass {world.session.spec.class_}"
        found = f"its {named} cannot be read: {world.unread}" if world.unread else f"there is no {named}"
        yield Refused(Reason.SESSION_NOT_ACTIVE, f"SpiceboxSession {call.spec.session} cannot run: {found}")


def tool_is_known(call: ToolCall, world: World) -> Iterator[Refused]:
    """The class has the tool."""
    if world.session is not None and world.session_class is not None and targets.found(call, world) is None:
        tools = [tool.name for tool in world.session_class.spec.tools]
        has = ", ".join(tools[:_TOOLS_NAMED]) + (", …" if len(tools) > _TOOLS_NAMED else "")
        where = f"SpiceboxClass {world.session_class.metadata.name}"
        words = f"names {call.spec.tool}, which is no tool of {where}; it has {has or 'none'}"
        yield _refused(Reason.TOOL_UNKNOWN, "spec.tool", words)


def every_field_is_carried_out(call: ToolCall, world: World) -> Iterator[Refused]:
    """Nothing is asked for that this version, or this place, would silently leave undone."""
    for path in _unsupported(call, world):
        yield _refused(Reason.NOT_SUPPORTED, path, "asks for something that is not supported here")


def fields_fit_the_tool(call: ToolCall, world: World) -> Iterator[Refused]:
    """A program is given `args`; `arguments` are for tools that answer over HTTP."""
    found = targets.found(call, world)
    if found and found.tool.command is not None and call.spec.arguments is not None:
        words = f"cannot be given to {call.spec.tool}, which is a program; a program is given spec.args"
        yield _refused(Reason.UNSUPPORTED_FOR_TOOL, "spec.arguments", words)


def arguments_are_short_enough(call: ToolCall, world: World) -> Iterator[Refused]:
    """Linux can hand every argument to a process; all together are judged when it is started."""
    if found := targets.found(call, world):
        tool = f"SpiceboxClass {found.session_class.metadata.name} spec.tools[{found.tool.name}]"
        yield from _too_long(f"{tool}.command", found.tool.command or ())
        yield from _too_long(f"{tool}.defaultArgs", found.tool.default_args)
        yield from _too_long("spec.args", call.spec.args)


def env_names_are_valid(call: ToolCall, world: World) -> Iterator[Refused]:
    """A process can be given every variable, those of the session and the class, too."""
    yield from _no_names("spec.env", call.spec.env)
    if session := world.session:
        yield from _no_names(f"SpiceboxSession {session.metadata.name} spec.defaultEnv", session.spec.default_env)
    if found := world.session_class:
        yield from _no_names(f"SpiceboxClass {found.metadata.name} spec.envDefaults", found.spec.env_defaults)


def env_holds_no_secret(call: ToolCall, world: World) -> Iterator[Refused]:
    """No variable of the call has a name that suggests a secret, but for those its class excepts.

    The session's `defaultEnv` is not judged: a caller could not mend it, and sessions written for the public operator
    of this API may hold such names.
    """
    if world.session_class:
        for name in sorted(set(call.spec.env) - set(world.session_class.spec.allowed_env_names)):
            if envnames.secret_like(name):
                yield _refused(Reason.ENV_SECRET_LIKE, _variable("spec.env", name), f"has {_TELLING_NAME}")


CHECKS: tuple[Callable[[ToolCall, World], Iterator[Objection]], ...] = (
    readiness.session_exists,  # or there is nothing to run in
    readiness.call_belongs_to_session,  # before anything is told about a session that is not the caller's
    readiness.session_is_ready,  # or nothing is known yet about what may run
    class_exists,  # the same, where the class is not part of the session
    tool_is_known,  # and of a call without a target only what needs none is told besides
    every_field_is_carried_out,  # before looking into fields that would not be used
    fields_fit_the_tool,  # the right kind of arguments
    arguments_are_short_enough,  # and none longer than a process can be given
    env_names_are_valid,  # before what names suggest: API-KEY is no name at all
    env_holds_no_secret,  # last: it takes most thought to fix
)
"""Each yields every objection it has; one that needs a session, a class or a tool has none where that is missing."""


def _refused(reason: Reason, path: str, words: str) -> Refused:
    """An objection to the field at `path`, which is the call's own unless it begins with the name of another object."""
    return Refused(reason, f"{path} {words}", path if path.startswith("spec.") else "")


def _unsupported(call: ToolCall, world: World) -> Iterator[str]:
    """The fields nobody would carry out, of the call, its tool, its class and its session."""
    if targets.found(call, world):
        yield from ("spec" + below for below in support.unsupported(call.spec, "ToolCall spec", world.lacking))
        yield from world.unsupported[call.spec.tool]


def _too_long(path: str, items: Sequence[str]) -> Iterator[Refused]:
    for index, item in enumerate(items):
        if (size := len(item.encode())) > ARGUMENT_BYTES:
            words = f"has {size} bytes; a process can be given {ARGUMENT_BYTES}"
            yield _refused(Reason.ARGUMENTS_TOO_LONG, f"{path}[{index}]", words)


def _no_names(path: str, env: Mapping[str, str]) -> Iterator[Refused]:
    for name in sorted(env):
        if not envnames.is_env_name(name):
            yield _refused(Reason.ENV_NAME_INVALID, _variable(path, name), f"has {_NO_NAME}")


def _variable(path: str, name: str) -> str:
    """The path of a variable; a name without end, which would leave no room for the message, is cut."""
    return path + paths.step(name[:_NAME_SHOWN])


def _high_entropy(call: ToolCall) -> Iterator[str]:
    """The fields of the call with values that look like keys."""
    yield from (f"spec.env.{name}" for name, value in sorted(call.spec.env.items()) if entropy.high_entropy(value))
    if entropy.holds_high_entropy("\n".join(call.spec.args)):
        yield "spec.args"
    if entropy.holds_high_entropy(call.spec.stdin or ""):
        yield "spec.stdin"
