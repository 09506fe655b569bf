"""Whatever an API server takes as a toolkit or a toolspec is judged, never an error of ours."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.api import conformance, values
from tests.unit.core.policy.loading import policies
from toolcall_operator.api import crds, parsing, structural
from toolcall_operator.api.base import Model
from toolcall_operator.core.policy.loading.library import Library
from toolcall_operator.core.policy.loading.reasons import MOST_CHARACTERS, Objection, PolicyReason
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec

SCHEMAS = {kind.name: structural.marked(kind.model) for kind in crds.KINDS}
WHOLE = policies.spiceboxtoolkit(
    env={"allowed": [{"name": "A"}]},
    globalFlags=[{"long": "a", "type": "string", "requiresConstraint": True}],
)


def changed(draw: st.DataObject, manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest with some fields of its spec as its schema allows them, or nearly."""
    fields = SCHEMAS[manifest["kind"]]["properties"]["spec"]["properties"]
    chosen = draw.draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    return {**manifest, "spec": {**manifest["spec"], **{name: draw.draw(values.of(fields[name])) for name in chosen}}}


def read(manifest: dict[str, Any]) -> Model | None:
    """The object, if the schema and the model take it."""
    if any(not each.stricter for each in conformance.objections(manifest, SCHEMAS[manifest["kind"]])):
        return None
    return parsing.parse(manifest)


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_every_toolkit_and_toolspec_is_used_or_told_why_not(data: st.DataObject) -> None:
    library = Library()
    toolkit: Any = read(changed(data, WHOLE.to_manifest()))
    toolspec: Any = read(changed(data, policies.spiceboxtoolspec().to_manifest()))
    for each, put in ((toolkit, library.put_toolkit), (toolspec, library.put_toolspec)):
        if each is not None:
            put(each)

    for found in (library.toolkit("one"), library.toolspec("one")):
        if isinstance(found, Objection):
            assert 0 < len(found.message) <= MOST_CHARACTERS
            assert found.reason in set(PolicyReason)
            assert found.problems
        else:
            assert found is None or isinstance(found, Toolkit | Toolspec)
