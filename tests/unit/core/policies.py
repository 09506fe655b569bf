"""Toolspecs over the tool `echo`, as worlds hold them."""

from __future__ import annotations

from typing import Any

from tests.unit.api import manifests
from tests.unit.core import examples
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.deciding.candidates import Candidate
from toolcall_operator.core.policy.loading import toolkits, toolspecs
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.world import World

N = {"short": "n", "type": "bool"}
WORDS = {"name": "words", "type": "stringList"}


def toolkit(**spec: Any) -> Toolkit:  # noqa: ANN401 (fields of a manifest)
    """What `echo` can do: write words."""
    says = manifests.subcommand(flags=[N], positional=[WORDS])
    fields = {"name": "echo", "version": "1", "target": {"binary": "echo"}, "subcommands": [says], **spec}
    found = toolkits.judged(SpiceboxToolkit.model_validate(manifests.toolkit(**fields)))
    assert isinstance(found, Toolkit), found
    return found


def toolspec(name: str = "say", of: Toolkit | None = None, **spec: Any) -> Toolspec:  # noqa: ANN401 (fields of a manifest)
    """One that allows all of it but for what is given."""
    known = of or toolkit()
    manifest = manifests.toolspec(**{"toolkit": {"name": "echo", "revision": "1"}, **spec})
    read = SpiceboxToolspec.model_validate({**manifest, "metadata": {"name": name}})
    found = toolspecs.judged(read, lambda _: known)
    assert isinstance(found, Toolspec), found
    return found


def world(*candidates: Candidate, session: dict[str, Any] | None = None, **spec: Any) -> World:  # noqa: ANN401 (fields of a manifest)
    """A world whose class declares toolspecs; the session's are these."""
    of_class = examples.session_class(toolspecs=[{"name": "say"}], **spec)
    return World(examples.session(**(session or {})), of_class, toolspecs=candidates)
