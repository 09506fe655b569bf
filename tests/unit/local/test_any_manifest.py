"""Whatever stands in a manifest file ends as an object or as problems that have a place, never as an error of ours."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolcall_operator.local import admission, lint, manifests
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.objections import objections

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SPECS: dict[str, dict[str, Any]] = {
    "ToolCall": {"session": "here", "tool": "make"},
    "SpiceboxSession": {"class": "tools"},
    "SpiceboxClass": {"resources": {"cpu": 1, "memory": 1, "ephemeralStorage": 1}},
    "List": {},
}
FIELDS = (
    *("apiVersion", "kind", "metadata", "spec", "status", "items", "other"),
    *("metadata.name", "metadata.namespace", "metadata.generateName", "metadata.uid", "metadata.generation"),
    *("metadata.labels", "metadata.annotations", "metadata.deletionTimestamp", "metadata.managedFields"),
    *("spec.session", "spec.args", "spec.env", "spec.stdin", "spec.timeout", "spec.arguments", "spec.credentials"),
    *("spec.class", "spec.defaultEnv", "spec.tools", "spec.limits", "spec.resources", "spec.resources.memory"),
    *("status.finished", "status.conditions", "status.exitCode", "status.dispatch"),
)
SCALARS = st.one_of(
    st.sampled_from(
        (".nan", "-.inf", "1e400", f"0x{'f' * 5000}", "9" * 2000, '"\\ud800"', '"\\u0000"', "on", "~", "<<")
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text().map(json.dumps),
)
FRAGMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(SCALARS, inner, max_size=3).map(
            lambda pairs: f"{{{', '.join(f'{name}: {value}' for name, value in pairs.items())}}}"
        )
    ),
    max_leaves=6,
)


def document(kind: str, field: str, fragment: str) -> str:
    """A manifest in which one field is replaced by a piece of YAML."""
    head = {"apiVersion": "agentprimitives.authzed.com/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    whole: dict[str, Any] = {**head, "spec": dict(SPECS[kind])}
    *above, name = field.split(".")
    here = whole
    for part in above:
        here = here[part] = dict(here.get(part, {}))
    here[name] = "FRAGMENT"
    return json.dumps(whole).replace('"FRAGMENT"', fragment)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(sorted(SPECS)), field=st.sampled_from(FIELDS), fragment=FRAGMENTS)
@example("ToolCall", "kind", "[ToolCall]")
@example("ToolCall", "metadata.generation", "9" * 30)
@example("ToolCall", "metadata.managedFields", ".nan")
@example("ToolCall", "spec.args", f"[0x{'f' * 5000}]")
@example("ToolCall", "spec.env", '{"\\ud800": "\\ud800"}')
@example("ToolCall", "spec.env", "{'[key]': [1]}")
@example("SpiceboxClass", "spec.resources.memory", "9" * 900)
def test_any_value_of_any_field_is_taken_or_told(kind: str, field: str, fragment: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "any.yaml"
        file.write_text(document(kind, field, fragment))
        loaded = manifests.read([file])
    completed = [replace(each, raw=admission.completed(each.raw, NOW)) for each in loaded.documents]
    cluster = FileCluster(loaded.documents, lambda: NOW)

    told = (*loaded.findings, *lint.lint(completed, (partial(objections, now=NOW),)), *cluster.findings)

    assert all(finding.line >= 1 and finding.message for finding in told)
    assert all(entry.call or entry.end for entry in cluster.entries)
    json.dumps([entry.to_manifest() for entry in cluster.entries], allow_nan=False)


@settings(deadline=None)
@given(content=st.binary() | st.text().map(lambda text: text.encode()))
def test_any_file_is_read_or_told(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "any.yaml"
        file.write_bytes(content)
        loaded = manifests.read([file])

    lint.lint(loaded.documents)

    assert all(str(finding).startswith(str(file)) for finding in loaded.findings)
