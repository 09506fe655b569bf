"""Toolkits and toolspecs as tests need them: small, good but for what is given, and read."""

from __future__ import annotations

from typing import Any

from tests.unit.api import manifests
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec
from toolcall_operator.core.policy.loading import toolkits, toolspecs
from toolcall_operator.core.policy.loading.reasons import Objection
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec
from toolcall_operator.core.unread import Unread

UNREAD = Unread({"metadata": {"name": "one"}, "status": None}, ("spec.target.binary is required", "spec.name is long"))


def spiceboxtoolkit(resource: str = "one", /, made: str | None = None, **spec: Any) -> SpiceboxToolkit:  # noqa: ANN401 (fields of a manifest)
    """A toolkit of the tool `say`, which has the subcommands `` and `loud`."""
    fields = {"version": "1.0", "subcommands": [manifests.subcommand(), manifests.subcommand("loud")], **spec}
    manifest = manifests.toolkit(**fields)
    return SpiceboxToolkit.model_validate(
        {**manifest, "metadata": {"name": resource, "creationTimestamp": made, "generation": 1}}
    )


def spiceboxtoolspec(resource: str = "one", /, **spec: Any) -> SpiceboxToolspec:  # noqa: ANN401 (fields of a manifest)
    """A toolspec over it."""
    manifest = manifests.toolspec(**spec)
    return SpiceboxToolspec.model_validate({**manifest, "metadata": {"name": resource, "generation": 1}})


def toolkit(**spec: Any) -> Toolkit:  # noqa: ANN401 (fields of a manifest)
    """The same toolkit, judged."""
    found = toolkits.judged(spiceboxtoolkit(**spec))
    assert isinstance(found, Toolkit), found
    return found


def judged(of: Toolkit | None = None, **spec: Any) -> Toolspec | Objection:  # noqa: ANN401 (fields of a manifest)
    """What becomes of a toolspec over a toolkit."""
    known = of or toolkit()
    return toolspecs.judged(spiceboxtoolspec(**spec), lambda _: known)


def toolspec(of: Toolkit | None = None, **spec: Any) -> Toolspec:  # noqa: ANN401 (fields of a manifest)
    """A toolspec that can judge calls."""
    found = judged(of, **spec)
    assert isinstance(found, Toolspec), found
    return found
