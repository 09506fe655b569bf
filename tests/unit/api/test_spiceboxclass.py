"""What a SpiceboxClass may say."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.api import manifests
from toolcall_operator.api import parsing
from toolcall_operator.api.spiceboxclass import SpiceboxClass

MiB, GiB = 1024**2, 1024**3


def parsed(manifest: dict[str, Any]) -> SpiceboxClass:
    read = parsing.parse(manifest)
    assert isinstance(read, SpiceboxClass)
    return read


def problems(manifest: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    return {problem.path: problem.message for problem in malformed.value.problems}


def test_an_empty_list_of_toolspecs_is_refused_as_it_could_be_meant_either_way() -> None:
    with pytest.raises(parsing.Malformed, match=r"spec\.toolspecs must hold at least 1"):
        parsing.parse(manifests.session_class(toolspecs=[]))


def test_the_smallest_class_has_the_documented_defaults() -> None:
    spec = parsed(manifests.session_class()).spec

    assert (spec.resources.cpu, spec.resources.memory, spec.resources.pids_limit) == (500, 64 * MiB, 64)
    assert (spec.resources.tmp_size, spec.resources.work_size, spec.resources.cache_size) == (
        50 * MiB,
        100 * MiB,
        2 * GiB,
    )
    assert (spec.limits.output_bytes, spec.limits.max_concurrent_calls) == (MiB, 64)
    assert (spec.limits.output_file_bytes, spec.limits.output_total_bytes, spec.limits.output_files) == (
        GiB,
        4 * GiB,
        10_000,
    )
    assert (spec.limits.input_bytes, spec.limits.artifact_bytes_per_session) == (GiB, 10 * GiB)
    assert (spec.session_defaults.idle_ttl, spec.session_defaults.max_duration) == (
        timedelta(minutes=30),
        timedelta(hours=4),
    )
    assert (spec.termination_grace_period, spec.tool_timeout) == (timedelta(seconds=5), timedelta(seconds=30))
    assert (spec.network.mode, spec.sandbox.kind, spec.redaction, spec.http_tools.from_) == (
        "none",
        "pod",
        "On",
        "None",
    )
    assert (spec.credentials.workspace, spec.credentials.exclusive, spec.transient_retry_budget) == ("Shared", False, 8)
    assert (spec.allowed_namespaces, spec.ttl_seconds_after_finished, spec.toolspecs) == (None, None, ())


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    (
        ({"resources": {"cpu": "1", "memory": "1Gi"}}, "spec.resources.ephemeralStorage", "is required"),
        ({"resources": {**manifests.RESOURCES, "cpu": 0.5}}, "spec.resources.cpu", "text in quotes"),
        ({"resources": {**manifests.RESOURCES, "memory": "lots"}}, "spec.resources.memory", "not 'lots'"),
        ({"resources": {**manifests.RESOURCES, "pidsLimit": 0}}, "spec.resources.pidsLimit", "must be at least 1"),
        ({"limits": {"outputBytes": "65Mi"}}, "spec.limits.outputBytes", "must be at most 64Mi"),
        ({"limits": {"maxConcurrentCalls": 0}}, "spec.limits.maxConcurrentCalls", "must be at least 1"),
        ({"mounts": [{"name": "m", "mountPath": "/m", "source": {}}]},
         "spec.mounts[0].source.configMapRef", "is required"),
        ({"mounts": [{"name": "m", "mountPath": "m", "source": {"configMapRef": {"name": "c"}}}]},
         "spec.mounts[0].mountPath", "must be an absolute path"),
        ({"privateVolumes": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]},
         "spec.privateVolumes", "must not hold the same name twice: v"),
        ({"sandbox": {"kind": "microvm"}}, "spec.sandbox.kind", "must be 'pod'"),
        ({"toolTimeout": "601s"}, "spec.toolTimeout", "must be more than 0s and at most 10m"),
        ({"writablePaths": ["data"]}, "spec.writablePaths[0]", "must be an absolute path"),
        ({"toolchains": ["go"]}, "spec.toolchains", "is not a known field"),
        ({"envDefaults": {"A": "\0"}}, "spec.envDefaults.A", "must not hold a NUL character"),
        ({"pod": {"annotations": {"a": 1}}}, "spec.pod.annotations.a", "must be text"),
    ),
)  # fmt: skip
def test_a_field_beyond_its_bounds_is_named_with_what_is_allowed(spec: dict[str, Any], path: str, message: str) -> None:
    found = problems(manifests.session_class(**spec))

    assert found.keys() == {path}
    assert message in found[path]


@pytest.mark.parametrize(
    "fields",
    (
        {"command": ["/bin/a"], "defaultArgs": ["-n"]},
        {"service": {"name": "records", "path": "/agent-tools/lookup"}, "parameters": {"type": "object"}},
        {"http": {"url": "https://api.example.com/{id}", "headers": [{"name": "X-Version", "value": "1"}]}},
    ),
    ids=["command", "service", "http"],
)
def test_a_tool_is_a_command_or_a_service_or_an_endpoint(fields: dict[str, Any]) -> None:
    (tool,) = parsed(manifests.tool(**fields)).spec.tools

    assert tool.name == "a"


@pytest.mark.parametrize(
    "fields", ({}, {"command": ["a"], "service": {"name": "a", "path": "/"}}, {"http": {"url": "u"}, "command": ["a"]})
)
def test_a_tool_is_of_exactly_one_kind(fields: dict[str, Any]) -> None:
    assert problems(manifests.tool(**fields)) == {"spec.tools[0]": "needs exactly one of command, service and http"}


@pytest.mark.parametrize(
    ("fields", "path"),
    (
        ({"command": []}, "spec.tools[0].command"),
        ({"service": {"name": "a", "path": "/"}, "defaultArgs": ["a"]}, "spec.tools[0]"),
        ({"service": {"name": "a", "path": "/x?y"}}, "spec.tools[0].service.path"),
        ({"service": {"name": "a", "path": "/%2e%2e/x"}}, "spec.tools[0].service.path"),
        ({"service": {"name": "-a", "path": "/"}}, "spec.tools[0].service.name"),
        ({"http": {"url": "u", "method": "HEAD"}}, "spec.tools[0].http.method"),
        (
            {"http": {"url": "u", "headers": [{"name": "A", "value": "b\r\nC: d"}]}},
            "spec.tools[0].http.headers[0].value",
        ),
    ),
)
def test_a_tool_that_cannot_work_is_named(fields: dict[str, Any], path: str) -> None:
    assert problems(manifests.tool(**fields)).keys() == {path}


def test_two_tools_of_one_name_are_refused() -> None:
    tools = [{"name": "a", "command": ["a"]}, {"name": "a", "command": ["b"]}]

    assert problems(manifests.session_class(tools=tools)) == {"spec.tools": "must not hold the same name twice: a"}


def test_the_name_of_a_class_fits_a_label() -> None:
    manifest = manifests.session_class()
    manifest["metadata"]["name"] = "c" * 53

    assert problems(manifest).keys() == {"metadata.name"}
