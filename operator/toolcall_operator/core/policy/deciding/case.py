"""One call under one toolspec: what is given, and what rules ask of it, found out once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolcall_operator.core.policy.cel.programs import Scope
from toolcall_operator.core.policy.commandline.values import CommandLine
from toolcall_operator.core.policy.deciding import effects, redaction, resource, sensitive
from toolcall_operator.core.policy.deciding.effects import Resolved
from toolcall_operator.core.policy.deciding.redaction import Redactor

if TYPE_CHECKING:
    from toolcall_operator.core.policy.loading.toolspecs import Toolspec


@dataclass(frozen=True, slots=True)
class Invocation:
    """A process as it would be started.

    `program` is the first word of the tool's command and `argv` everything behind it that the process gets. `env` is
    its environment as far as the operator knows it, `given` the names in it that the call or its session set,
    `class_env` those that the class lets them set, and `credential_env` those that carry credentials. `config` are the
    session's values for rules, and `config_trouble` why one of them can be seen by no rule. `binary_version` is the
    program's version if somebody found it out, and `version_trouble` why nobody could who tried.
    """

    program: str
    argv: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    given: frozenset[str]
    cwd: str
    config: Mapping[str, Any] = field(repr=False)
    has_stdin: bool
    binary_version: str | None = None
    version_trouble: str = ""
    class_env: frozenset[str] = frozenset()
    credential_env: frozenset[str] = frozenset()
    config_trouble: str = ""
    now: datetime | None = None


@dataclass(frozen=True)
class Case:
    """A command line that was understood, under a toolspec."""

    toolspec: Toolspec
    invocation: Invocation
    line: CommandLine

    @cached_property
    def effects(self) -> Resolved:
        """What the call does to the world."""
        return effects.resolved(self.line.subcommand, self.line, self.invocation.env, self.invocation.cwd)

    @cached_property
    def scope(self) -> Scope:
        """What expressions see."""
        invocation, line = self.invocation, self.line
        call = {
            "subcommand": line.subcommand.name,
            "subcommandPath": line.subcommand.path,
            "argv": line.argv,
            "tail": line.tail,
            "flags": line.flags,
            "positional": line.positional,
            "env": invocation.env,
            "cwd": invocation.cwd,
            "binaryVersion": invocation.binary_version or "",
            "resourceId": resource.resource_id(self.toolspec.toolkit, line),
            "hasStdin": invocation.has_stdin,
            "effects": self.effects.seen_by_cel(),
        }
        return Scope(now=invocation.now, call=call, config=invocation.config)

    @cached_property
    def redactor(self) -> Redactor:
        """Hides what must not be shown. Made only when something is shown: most calls are allowed."""
        return sensitive.redactor(self.toolspec, self.invocation.env, self.invocation.cwd, self.line)

    def shown(self, text: str) -> str:
        """A text without the values that must not be shown."""
        return self.redactor.shown(text)

    def quoted(self, text: str) -> str:
        """A text of the call as a reason may quote it."""
        return redaction.quoted(text, self.shown)
