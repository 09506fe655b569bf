"""Fields nobody would carry out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.core import examples
from toolcall_operator.api.base import Model
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassSpec
from toolcall_operator.api.spiceboxsession import SpiceboxSession, SpiceboxSessionSpec
from toolcall_operator.api.toolcall import ToolCallSpec
from toolcall_operator.api.tools import Tool
from toolcall_operator.core import support, validation
from toolcall_operator.core.world import World

STATIC = {"inject": {"envVar": "A"}, "source": {"type": "static", "namespace": "default", "name": "s", "key": "k"}}
MOUNT = {"name": "m", "mountPath": "/m", "source": {"configMapRef": {"name": "m"}}}


def fields(
    call: dict[str, Any] | None = None,
    tool: dict[str, Any] | None = None,
    session: SpiceboxSession | None = None,
    session_class: SpiceboxClass | None = None,
    lacking: tuple[str, ...] = (),
) -> list[str]:
    """The fields that a call with its session and class is refused for."""
    world = World(session or examples.session(), session_class or examples.session_class(tool), lacking)
    found = validation.every_field_is_carried_out(examples.call(**(call or {})), world)
    return [objection.message.removesuffix(" asks for something that is not supported here") for objection in found]


def test_an_ordinary_call_asks_for_nothing_beyond() -> None:
    assert fields() == []


def test_every_field_is_told_and_none_twice() -> None:
    session = examples.session(scopes=["a"], workspace={"mode": "isolated"})
    of_class = examples.session_class({"scope": "files", "parameters": {"a": 1}}, toolTimeout="1s")

    assert fields(
        {"maxDuration": "1s", "captureOutputs": ["/work/out/a"]}, session=session, session_class=of_class
    ) == [
        "spec.maxDuration",
        "spec.captureOutputs",
        "SpiceboxClass plain spec.tools[echo].parameters",
        "SpiceboxClass plain spec.tools[echo].scope",
        "SpiceboxClass plain spec.toolTimeout",
        "SpiceboxSession work spec.workspace.mode",
        "SpiceboxSession work spec.scopes",
    ]


@pytest.mark.parametrize(
    ("spec", "name"),
    (
        ({"mode": "stream"}, "spec.mode"),
        ({"mode": "interactive"}, "spec.mode"),
        ({"streamTokenHash": "0" * 64}, "spec.streamTokenHash"),
        ({"maxDuration": "1s"}, "spec.maxDuration"),
        ({"idleTimeout": "1s"}, "spec.idleTimeout"),
        ({"captureOutputs": ["/work/out/a"]}, "spec.captureOutputs"),
        ({"inputArtifacts": [{"artifactRef": "file:///a", "path": "a"}]}, "spec.inputArtifacts"),
        ({"preDispatchSnapshot": {"sessionUID": "u", "turnIndex": 0, "sequence": 0}}, "spec.preDispatchSnapshot"),
        ({"workspace": {"mode": "isolated"}}, "spec.workspace.mode"),
        ({"workspace": {"sharedClaimName": "claim"}}, "spec.workspace.sharedClaimName"),
        ({"ttlSecondsAfterFinished": 0}, "spec.ttlSecondsAfterFinished"),
    ),
)
def test_a_call_that_asks_for_something_unbuilt_is_told_the_field(spec: dict[str, Any], name: str) -> None:
    assert fields(call=spec) == [name]


@pytest.mark.parametrize(
    ("tool", "name"),
    (
        ({"expectedDuration": "persistent"}, "expectedDuration"),
        ({"parameters": {"type": "object"}}, "parameters"),
        ({"scope": "files"}, "scope"),
        ({"timeout": "1s"}, "timeout"),
        ({"command": None, "defaultArgs": None, "service": {"name": "s", "path": "/"}}, "service"),
        ({"command": None, "defaultArgs": None, "http": {"url": "https://example.com"}}, "http"),
    ),
)
def test_a_tool_that_needs_something_unbuilt_is_told_by_class_tool_and_field(tool: dict[str, Any], name: str) -> None:
    assert fields(tool=tool) == [f"SpiceboxClass plain spec.tools[echo].{name}"]


@pytest.mark.parametrize(
    ("spec", "name"),
    (
        ({"network": {"mode": "allowlist", "allowedHosts": ["a.example"]}}, "network.allowedHosts"),
        ({"sandbox": {"config": {"a": 1}}}, "sandbox.config"),
        ({"sandbox": {"warmPool": {"replicas": 1}}}, "sandbox.warmPool.replicas"),
        ({"limits": {"outputFiles": 1}}, "limits.outputFiles"),
        ({"limits": {"inputBytes": "1Mi"}}, "limits.inputBytes"),
        ({"ttlSecondsAfterFinished": 60}, "ttlSecondsAfterFinished"),
        ({"toolTimeout": "1s"}, "toolTimeout"),
        ({"httpTools": {"from": "Same"}}, "httpTools.from"),
        ({"transientRetryBudget": 0}, "transientRetryBudget"),
    ),
)
def test_a_class_that_asks_for_something_unbuilt_is_told_by_name_and_field(spec: dict[str, Any], name: str) -> None:
    assert fields(session_class=examples.session_class(**spec)) == [f"SpiceboxClass plain spec.{name}"]


@pytest.mark.parametrize(
    ("spec", "name"),
    (
        ({"scopes": ["a"]}, "scopes"),
        ({"workspace": {"mode": "isolated"}}, "workspace.mode"),
        ({"workspace": {"sharedClaimName": "claim"}}, "workspace.sharedClaimName"),
    ),
)
def test_a_session_that_asks_for_something_unbuilt_is_told_by_name_and_field(spec: dict[str, Any], name: str) -> None:
    assert fields(session=examples.session(**spec)) == [f"SpiceboxSession work spec.{name}"]


def test_defaults_that_are_written_out_empty_lists_and_what_is_carried_out_ask_for_nothing() -> None:
    call = {"mode": "sync", "captureOutputs": [], "workspace": {"mode": "shared"}, "maxDuration": "0s"}
    of_class = examples.session_class(
        {"expectedDuration": "long", "description": "Prints."},
        toolspecs=[{"name": "t"}],
        redaction="On",
        limits={"outputFiles": 10_000, "outputBytes": "2Mi"},
        httpTools={"from": "None"},
        sandbox={"kind": "pod", "config": {}, "warmPool": {"replicas": 0}},
        credentials={},
        toolTimeout="30s",
    )
    session = examples.session(
        scopes=[], toolConfig={"a": 1}, toolspecs=[], workspace={}, idleTTL="1h", defaultEnv={"A": "b"}
    )

    assert fields(call, session=session, session_class=of_class) == []


def test_what_another_tool_of_the_class_needs_is_nothing_to_this_call() -> None:
    of_class = examples.session_class()
    other = Tool.model_validate({"name": "web", "http": {"url": "https://example.com"}})
    spec = of_class.spec.model_copy(update={"tools": (*of_class.spec.tools, other)})

    assert fields(session_class=of_class.model_copy(update={"spec": spec})) == []


def test_what_the_place_lacks_is_refused_only_there_and_only_when_asked_for() -> None:
    lacking = ("SpiceboxClass spec.privateVolumes", "SpiceboxClass spec.pod")
    volume = examples.session_class(privateVolumes=[{"name": "home", "mountPath": "/home/agent"}])

    assert fields(session_class=volume) == []
    assert fields(lacking=lacking) == []
    assert fields(session_class=volume, lacking=lacking) == ["SpiceboxClass plain spec.privateVolumes"]
    labelled = examples.session_class(pod={"labels": {"a": "b"}})
    assert fields(session_class=labelled, lacking=lacking) == ["SpiceboxClass plain spec.pod.labels"]


def paths(model: type[Model], path: str) -> Iterator[str]:
    for name, info in model.model_fields.items():
        below = f"{path}.{info.alias or name}"
        yield below
        if isinstance(info.annotation, type) and issubclass(info.annotation, Model):
            yield from paths(info.annotation, below)


def test_every_listed_field_exists() -> None:
    known = {
        *paths(ToolCallSpec, "ToolCall spec"),
        *paths(SpiceboxClassSpec, "SpiceboxClass spec"),
        *paths(Tool, "SpiceboxClass spec.tools[]"),
        *paths(SpiceboxSessionSpec, "SpiceboxSession spec"),
    }

    assert known >= support.CARRIED_OUT | support.OF_THE_PLACE


def test_no_field_is_both_the_versions_and_the_places() -> None:
    assert not support.CARRIED_OUT & support.OF_THE_PLACE
