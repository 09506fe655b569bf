"""An operator starts only where its kinds are known, are its own, and are of its version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.apiserver import FakeClient
from toolcall_operator.adapters.cluster import definitions
from toolcall_operator.adapters.cluster.resources import DEFINITIONS
from toolcall_operator.errors import Rejected

CRDS = Path(__file__).parents[4] / "crds"
OURS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))}
APPLIED = {"manager": "kubectl", "operation": "Apply"}


def client(**changed: dict[str, Any] | None) -> FakeClient:
    """A cluster with our definitions, but for those that are given; None is one that is not there."""
    found = {plural: changed.get(plural, manifest) for plural, manifest in OURS.items()}
    return FakeClient(*((DEFINITIONS, manifest) for manifest in found.values() if manifest))


def with_metadata(plural: str, **metadata: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    return {**OURS[plural], "metadata": {**OURS[plural]["metadata"], **metadata}}


async def test_our_own_definitions_will_do() -> None:
    await definitions.require(client())
    await definitions.require(client(toolcalls=with_metadata("toolcalls", managedFields=[APPLIED], annotations={})))


@pytest.mark.parametrize("plural", OURS)
async def test_one_that_is_not_there_is_named_with_the_cure(plural: str) -> None:
    with pytest.raises(Rejected, match=rf"no CustomResourceDefinition {plural}\.agentprimitives.*apply those in crds/"):
        await definitions.require(client(**{plural: None}))


@pytest.mark.parametrize(
    ("trace", "told"),
    (
        ({"managedFields": [APPLIED, {"manager": "spicebox-operator"}]}, "its field manager spicebox-operator"),
        ({"managedFields": [{"manager": "oap", "operation": "Apply"}]}, "its field manager oap"),
        ({"annotations": {"agentprimitives.authzed.com/installed-by": "ap"}}, "its annotation agentprimitives"),
    ),
    ids=["written by its operator", "applied by its installer", "marked by its installer"],
)
async def test_one_of_the_public_operator_is_refused_by_what_shows_it(trace: dict[str, Any], told: str) -> None:
    theirs = with_metadata("spiceboxsessions", **trace)

    with pytest.raises(Rejected, match=told) as refusal:
        await definitions.require(client(spiceboxsessions=theirs))

    assert "spiceboxsessions.agentprimitives.authzed.com" in str(refusal.value)
    assert "two operators of one API" in str(refusal.value)


async def test_one_of_another_version_is_refused() -> None:
    spec = OURS["toolcalls"]["spec"]
    older = [{name: value for name, value in each.items() if name != "selectableFields"} for each in spec["versions"]]

    with pytest.raises(Rejected, match="of another version"):
        await definitions.require(client(toolcalls={**OURS["toolcalls"], "spec": {**spec, "versions": older}}))
