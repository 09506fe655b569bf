"""The toolkits and toolspecs of examples/, as the operator reads them, and what they say of command lines."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcall_operator.api import parsing
from toolcall_operator.api.parsing import Parsed
from toolcall_operator.api.spiceboxclass import SpiceboxClass
from toolcall_operator.api.spiceboxsession import SpiceboxSession
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, ToolkitRef
from toolcall_operator.api.toolcall import ToolCall
from toolcall_operator.core.policy import judging
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.values import CommandLine, Unparsed
from toolcall_operator.core.policy.deciding import decision
from toolcall_operator.core.policy.deciding.candidates import Denied
from toolcall_operator.core.policy.deciding.decision import Invocation, Judgement
from toolcall_operator.core.policy.loading import toolkits, toolspecs
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.target import Target
from toolcall_operator.local import manifests

EXAMPLES = Path(__file__).parents[3] / "examples"
WORKSPACE = "/workspace"


def objects(folder: str) -> Iterator[tuple[str, Parsed]]:
    """Everything in a folder of the examples, each with the name of its file without its ending."""
    for document in manifests.load([EXAMPLES / folder]):
        yield Path(document.source).stem, parsing.parse(document.raw)


@functools.cache
def toolkit_objects() -> Mapping[str, SpiceboxToolkit]:
    """The toolkits by the names of their files."""
    return {file: each for file, each in objects("toolkits") if isinstance(each, SpiceboxToolkit)}


@functools.cache
def toolspec_objects() -> Mapping[str, SpiceboxToolspec]:
    """The toolspecs by the names of their files."""
    return {file: each for file, each in objects("toolspecs") if isinstance(each, SpiceboxToolspec)}


@functools.cache
def toolkit(name: str) -> Toolkit:
    """A toolkit, ready for use."""
    found = toolkits.judged(toolkit_objects()[name])
    assert isinstance(found, Toolkit), found
    return found


@functools.cache
def toolspec(name: str) -> Toolspec:
    """A toolspec, ready for use."""
    found = toolspecs.judged(toolspec_objects()[name], _toolkit)
    assert isinstance(found, Toolspec), found
    return found


def _toolkit(wanted: ToolkitRef) -> Toolkit | str:
    found = toolkit(wanted.name)
    return found if found.spec.toolkit_revision == wanted.revision else "another revision"


@functools.cache
def policy() -> tuple[SpiceboxClass, SpiceboxSession, Mapping[str, ToolCall]]:
    """The class, the session and the calls of examples/policy."""
    every = [each for _, each in objects("policy")]
    (spicebox_class,) = (each for each in every if isinstance(each, SpiceboxClass))
    (session,) = (each for each in every if isinstance(each, SpiceboxSession))
    return spicebox_class, session, {each.metadata.name: each for each in every if isinstance(each, ToolCall)}


def read(tool: str, line: str) -> CommandLine | Unparsed:
    """A command line, written as for a shell and without the program, as the tool's toolkit reads it."""
    return parser.parse(toolkit(tool).grammar, shlex.split(line))


@dataclass(frozen=True, slots=True)
class Setting:
    """What a call meets besides its arguments: by default, nothing but the class and the session of examples/policy."""

    stdin: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None
    class_arguments: bool = True


def judged(name: str, *argv: str, setting: Setting = Setting()) -> Judgement:
    """What a toolspec says of a command line in /workspace; the class's own arguments come first."""
    spec = toolspec(name)
    spicebox_class, session, _ = policy()
    (tool,) = (each for each in spicebox_class.spec.tools if each.name == spec.tool)
    program, *own = (*(tool.command or ()), *tool.default_args)
    invocation = Invocation(
        program=program,
        argv=(*own, *argv) if setting.class_arguments else argv,
        env={**spec.toolkit.spec.env_defaults, **setting.env},
        given=frozenset(setting.env),
        cwd=WORKSPACE,
        config=(session.spec.tool_config or {}) if setting.config is None else setting.config,
        has_stdin=setting.stdin,
    )
    return decision.judge(spec, invocation)


def decided_by(name: str, line: str, env: Mapping[str, str] | None = None) -> str | None:
    """The path of the rule that refuses a call as the operator is given it; None if none does."""
    spec = toolspec(name)
    spicebox_class, session, _ = policy()
    fields = {"session": session.metadata.name, "tool": spec.tool, "args": shlex.split(line), "env": env or {}}
    call = ToolCall.model_validate({"metadata": {"name": "one"}, "spec": fields})
    (tool,) = (each for each in spicebox_class.spec.tools if each.name == spec.tool)
    decision = judging.decided(call, Target(session, spicebox_class, tool), [spec])
    return decision.failures[0].path if isinstance(decision, Denied) else None


def refused_by(name: str, line: str, setting: Setting = Setting()) -> str | None:
    """The path of the rule of a toolspec that refuses a command line, written as for a shell; None if none does."""
    denial = judged(name, *shlex.split(line), setting=setting).denial
    return denial.path if denial else None
