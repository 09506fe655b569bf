"""Toolkits in few words, as command lines need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.grammar import Grammar
from toolcall_operator.core.policy.commandline.values import CommandLine, ParseProblem, Unparsed, Value

NOTHING: Mapping[str, Any] = {
    "destructive": False,
    "reads": [],
    "writes": [],
    "network": {},
    "filesystem": {},
    "creds": {},
}
"""What a subcommand does that does nothing."""

JOINED: Mapping[str, Any] = {"bundledShorts": True, "attachedValues": True}
"""A parser as GNU programs have it."""


def named(names: str, type_: str = "bool", **more: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A flag by its names as they are written, such as `--all -a`."""
    texts = {"long" if text.startswith("--") else "short": text.lstrip("-") for text in names.split()}
    return {**texts, "type": type_, **more}


def slot(name: str, type_: str = "string", **more: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A place for an argument that is no flag."""
    return {"name": name, "type": type_, **more}


def command(path: str, *parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A subcommand by its words; parts with a name are its places, the others its flags."""
    return {
        "path": path.split(),
        "effects": NOTHING,
        "flags": [part for part in parts if "name" not in part],
        "positional": [part for part in parts if "name" in part],
        **more,
    }


def toolkit(
    *commands: Mapping[str, Any],
    flags: tuple[Mapping[str, Any], ...] = (),
    **parser_fields: Any,  # noqa: ANN401 (fields of a manifest)
) -> SpiceboxToolkitSpec:
    """A toolkit of these subcommands and global flags."""
    return SpiceboxToolkitSpec.model_validate(
        {
            "name": "tool",
            "toolkitRevision": "1",
            "target": {"binary": "tool"},
            "parser": {"kind": "declarative", **parser_fields},
            "env": {"allowed": []},
            "globalFlags": flags,
            "subcommands": commands,
        }
    )


def parsed(spec: SpiceboxToolkitSpec, *argv: str) -> CommandLine | Unparsed:
    """What the command line is read as."""
    return parser.parse(Grammar.of(spec), argv)


def accepted(spec: SpiceboxToolkitSpec, *argv: str) -> CommandLine:
    """The command line, which is one that the toolkit describes."""
    line = parsed(spec, *argv)
    assert isinstance(line, CommandLine), line
    return line


def flags(spec: SpiceboxToolkitSpec, *argv: str) -> Mapping[str, Value]:
    """The flags of a command line."""
    return accepted(spec, *argv).flags


def places(spec: SpiceboxToolkitSpec, *argv: str) -> Mapping[str, Value]:
    """The other arguments of a command line."""
    return accepted(spec, *argv).positional


def refused(spec: SpiceboxToolkitSpec, *argv: str) -> Unparsed:
    """Why the command line is refused."""
    line = parsed(spec, *argv)
    assert isinstance(line, Unparsed), line
    return line


def problem(spec: SpiceboxToolkitSpec, *argv: str) -> ParseProblem:
    """The problem that the command line is refused for."""
    return refused(spec, *argv).problem
