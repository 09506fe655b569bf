"""What a call does to the world: the effects of its subcommand, filled in with what the call gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolcall_operator.api.effects import Effects
from toolcall_operator.api.spiceboxtoolkit import Subcommand
from toolcall_operator.core.policy import filepaths, templates
from toolcall_operator.core.policy.commandline.values import CommandLine
from toolcall_operator.core.policy.templates import Sources

UNTOLD = "<untold>"
"""Stands in expressions for what cannot be told: no host and no absolute path is written so."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Hosts or paths: those that are `known`, those `refused` as they came, and why others cannot be told."""

    known: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    def all(self) -> tuple[str, ...]:
        """Every place, as expressions see it."""
        return (*self.known, UNTOLD) if self.refused or self.untold else self.known


@dataclass(frozen=True, slots=True)
class Resolved:
    """The effects of one call: as they are `described`, and where they happen."""

    described: Effects
    destinations: Touched
    paths: Touched

    def seen_by_cel(self) -> Mapping[str, Any]:
        """The effects as expressions see them."""
        described = self.described
        return {
            "destructive": described.destructive,
            "reads": described.reads,
            "writes": described.writes,
            "network": {"destinations": self.destinations.all()},
            "filesystem": {"paths": self.paths.all()},
            "creds": {"required": described.creds.required, "writes": described.creds.writes},
        }


def resolved(subcommand: Subcommand, line: CommandLine, env: Mapping[str, str], cwd: str) -> Resolved:
    """The effects of a command line, in the environment and the folder that its process will have."""
    sources = Sources(line.flags, line.positional, env, cwd)
    described = subcommand.effects
    return Resolved(
        described,
        _destinations(described.network.destinations, sources),
        _paths(described.filesystem.paths, sources),
    )


def _destinations(texts: Iterable[str], sources: Sources) -> Touched:
    filled = [templates.compiled(text).filled(sources) for text in texts]
    known = {text: None for each in filled for text in each.texts}  # each once, in their order
    return Touched(tuple(known), (), tuple(each.problem for each in filled if each.problem))


def _paths(texts: Iterable[str], sources: Sources) -> Touched:
    filled = [templates.compiled(text).as_paths(sources) for text in texts]
    found = {text: filepaths.normalised(text, sources.cwd) for each in filled for text in each.texts}
    known = {path: None for path in found.values() if path is not None}
    refused = tuple(text for text, path in found.items() if path is None)
    return Touched(tuple(known), refused, tuple(each.problem for each in filled if each.problem))
