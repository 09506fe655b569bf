"""Whether a call may run, and as what: a list of checks, in the order in which a caller would fix what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.api.tools import Tool
from toolcall_operator.core import entropy, envnames, execenv, support
from toolcall_operator.core.outcomes import ExecRequest, Refused
from toolcall_operator.core.reasons import Reason
from toolcall_operator.errors import foreign

ARGUMENT_BYTES = 131_071
"""The longest argument Linux hands to a process: 32 pages of 4 KiB (MAX_ARG_STRLEN) less the closing NUL."""

_TOOLS_NAMED = 12


@dataclass(frozen=True, slots=True)
class World:
    """Everything besides the call that decides about it; `lacking` are the fields this place cannot carry out.

    Raises:
        ValueError: `lacking` names something that is no matter of a place, and would silently lack nothing.
    """

    session: SpiceboxSession | None
    session_class: SpiceboxClass | None
    lacking: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if unknown := set(self.lacking) - support.OF_THE_PLACE:
            raise ValueError(f"not among support.OF_THE_PLACE: {', '.join(sorted(unknown))}")


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that may run, with what it runs in; `high_entropy` names the fields of it that look like secrets."""

    session: SpiceboxSession
    session_class: SpiceboxClass
    tool: Tool
    request: ExecRequest
    high_entropy: tuple[str, ...] = ()


def plan(call: ToolCall, world: World) -> Plan | Refused:
    """The plan of a call that passes every check, or the first objection.

    Raises:
        LookupError: there are no checks, or they let a call pass whose session, class or tool is not there.
    """
    if not CHECKS:
        raise LookupError("without checks nothing is allowed")
    for check in CHECKS:
        if objection := check(call, world):
            return objection
    session, session_class, tool = _found(call, world)
    request = ExecRequest(
        uid=call.metadata.uid,
        argv=(*(tool.command or ()), *tool.default_args, *call.spec.args),
        env=execenv.assemble(call.spec.env, session.spec.default_env),
        stdin=(call.spec.stdin or "").encode(),
        timeout=call.spec.timeout,
        grace=session_class.spec.termination_grace_period,
        output_bytes=session_class.spec.limits.output_bytes,
        pids=session_class.spec.resources.pids_limit,
    )
    return Plan(session, session_class, tool, request, tuple(_high_entropy(call)))


def session_exists(call: ToolCall, world: World) -> Refused | None:
    """The session is there."""
    if world.session:
        return None
    wanted = f"SpiceboxSession {call.spec.session} in namespace {call.metadata.namespace}"
    return Refused(Reason.SESSION_GONE, f"spec.session: there is no {wanted}")


def class_exists(call: ToolCall, world: World) -> Refused | None:
    """The session's class is there."""
    if world.session_class:
        return None
    wanted = f"SpiceboxClass {world.session.spec.class_}" if world.session else "class"
    return Refused(Reason.SESSION_NOT_ACTIVE, f"SpiceboxSession {call.spec.session} cannot run: there is no {wanted}")


def tool_is_known(call: ToolCall, world: World) -> Refused | None:
    """The class has the tool."""
    name, tools = _catalogue(world)
    if call.spec.tool in tools:
        return None
    has = ", ".join(tools[:_TOOLS_NAMED]) + (", …" if len(tools) > _TOOLS_NAMED else "")
    return Refused(Reason.TOOL_UNKNOWN, f"spec.tool: {name} has no tool {call.spec.tool}; it has {has or 'none'}")


def every_field_is_carried_out(call: ToolCall, world: World) -> Refused | None:
    """Nothing is asked for that this version, or this place, would silently leave undone."""
    session, session_class, tool = _found(call, world)
    field = support.unsupported(call, session, session_class, tool, world.lacking)
    return Refused(Reason.NOT_SUPPORTED, f"{field} asks for something that is not supported here") if field else None


def fields_fit_the_tool(call: ToolCall, world: World) -> Refused | None:
    """A program is given `args`; `arguments` are for tools that answer over HTTP."""
    _, _, tool = _found(call, world)
    if tool.command is None or call.spec.arguments is None:
        return None
    message = f"spec.arguments: tool {tool.name} is a program; its arguments are spec.args"
    return Refused(Reason.UNSUPPORTED_FOR_TOOL, message)


def arguments_are_short_enough(call: ToolCall, world: World) -> Refused | None:
    """Linux can hand every argument to a process; all together are judged when it is started."""
    _, session_class, tool = _found(call, world)
    where = f"SpiceboxClass {session_class.metadata.name} spec.tools[{tool.name}]"
    fields = {
        f"{where}.command": tool.command or (),
        f"{where}.defaultArgs": tool.default_args,
        "spec.args": call.spec.args,
    }
    for field, items in fields.items():
        for index, item in enumerate(items):
            if (size := len(item.encode())) > ARGUMENT_BYTES:
                message = f"{field}[{index}] has {size} bytes; a process can be given {ARGUMENT_BYTES}"
                return Refused(Reason.ARGUMENTS_TOO_LONG, message)
    return None


def env_names_are_valid(call: ToolCall, world: World) -> Refused | None:
    """A process can be given every variable, those of the session, too."""
    session, _, _ = _found(call, world)
    of_session = f"SpiceboxSession {session.metadata.name} spec.defaultEnv"
    for field, env in (("spec.env", call.spec.env), (of_session, session.spec.default_env)):
        for name in sorted(env):
            if not envnames.is_env_name(name):
                rule = "a name has at most 256 letters, digits and _, no digit first"
                message = f"{field}: {foreign(name)!r} cannot be given to a process; {rule}"
                return Refused(Reason.ENV_NAME_INVALID, message)
    return None


def env_holds_no_secret(call: ToolCall, world: World) -> Refused | None:
    """No variable of the call has a name that suggests a secret, but for those its class excepts.

    The session's `defaultEnv` is not judged: a caller could not mend it, and sessions written for the public operator
    of this API may hold such names.
    """
    _, session_class, _ = _found(call, world)
    for name in sorted(set(call.spec.env) - set(session_class.spec.allowed_env_names)):
        if envnames.secret_like(name):
            advice = "secrets do not belong in a ToolCall; if it is none, its class can list it in allowedEnvNames"
            return Refused(Reason.ENV_SECRET_LIKE, f"spec.env: the name {name} suggests a secret; {advice}")
    return None


CHECKS: tuple[Callable[[ToolCall, World], Refused | None], ...] = (
    session_exists,  # or there is nothing to run in
    class_exists,  # or nothing is known about what may run
    tool_is_known,  # and from here on session, class and tool are there
    every_field_is_carried_out,  # before looking into fields that would not be used
    fields_fit_the_tool,  # the right kind of arguments
    arguments_are_short_enough,  # and none longer than a process can be given
    env_names_are_valid,  # before what names suggest: API-KEY is no name at all
    env_holds_no_secret,  # last: it takes most thought to fix
)


def _found(call: ToolCall, world: World) -> tuple[SpiceboxSession, SpiceboxClass, Tool]:
    """What the call names; the checks made sure that it is there."""
    session, session_class = world.session, world.session_class
    tools = session_class.spec.tools if session_class else ()
    tool = next((tool for tool in tools if tool.name == call.spec.tool), None)
    if session is None or session_class is None or tool is None:
        raise LookupError("no check objected to a call whose session, class or tool is not there")
    return session, session_class, tool


def _catalogue(world: World) -> tuple[str, tuple[str, ...]]:
    """The class, as messages name it, and the names of its tools."""
    if world.session_class is None:
        return "no SpiceboxClass", ()
    spec = world.session_class.spec
    return f"SpiceboxClass {world.session_class.metadata.name}", tuple(tool.name for tool in spec.tools)


def _high_entropy(call: ToolCall) -> Iterator[str]:
    """The fields of the call with values that look like keys."""
    yield from (f"spec.env.{name}" for name, value in sorted(call.spec.env.items()) if entropy.high_entropy(value))
    if entropy.holds_high_entropy("\n".join(call.spec.args)):
        yield "spec.args"
    if entropy.holds_high_entropy(call.spec.stdin or ""):
        yield "spec.stdin"
