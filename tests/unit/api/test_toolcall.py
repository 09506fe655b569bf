"""What a ToolCall may say."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.api import manifests
from toolcall_operator.api import parsing
from toolcall_operator.api.toolcall import ToolCall

HASH = "0" * 64


def parsed(manifest: dict[str, Any]) -> ToolCall:
    call = parsing.parse(manifest)
    assert isinstance(call, ToolCall)
    return call


def problems(manifest: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(parsing.Malformed) as malformed:
        parsing.parse(manifest)
    return {problem.path: problem.message for problem in malformed.value.problems}


def test_the_smallest_call_has_the_documented_defaults() -> None:
    spec = parsed(manifests.call()).spec

    assert (spec.timeout, spec.mode, spec.cancel) == (timedelta(seconds=60), "sync", False)
    assert (spec.args, spec.env, spec.stdin, spec.credentials, spec.capture_outputs) == ((), {}, None, (), ())
    assert (spec.ttl_seconds_after_finished, spec.arguments, spec.max_duration) == (None, None, None)


def test_every_field_can_be_said() -> None:
    spec = parsed(
        manifests.call(
            args=["-n", "a"],
            env={"A": "b"},
            stdin="in",
            timeout="24h",
            mode="interactive",
            streamTokenHash=HASH,
            maxDuration="0s",
            idleTimeout="5m",
            captureOutputs=["/work/out/{{.callId}}"],
            inputArtifacts=[{"artifactRef": "file:///a", "path": "in/a"}],
            credentials=[{"inject": {"header": {"name": "X-Token"}}, "source": {**manifests.STATIC, "key": "token"}}],
            preDispatchSnapshot={"sessionUID": "u-1", "turnIndex": 0, "sequence": 2},
            workspace={"sharedClaimName": "claim"},
            arguments={"id": "A-1"},
            cancel=True,
            ttlSecondsAfterFinished=0,
        )
    ).spec

    assert spec.pre_dispatch_snapshot is not None
    assert (spec.pre_dispatch_snapshot.session_uid, spec.input_artifacts[0].path) == ("u-1", "in/a")
    assert spec.workspace is not None
    assert (spec.workspace.mode, spec.workspace.shared_claim_name) == ("shared", "claim")
    assert (spec.timeout, spec.idle_timeout) == (timedelta(hours=24), timedelta(minutes=5))


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    (
        ({"timeout": "0s"}, "spec.timeout", "must be more than 0s and at most 24h"),
        ({"timeout": "24h1ms"}, "spec.timeout", "must be more than 0s and at most 24h"),
        ({"timeout": 60}, "spec.timeout", "must be a duration in quotes, such as '60s'"),
        ({"timeout": "-1s"}, "spec.timeout", "must be a duration: numbers with a unit"),
        ({"mode": "async"}, "spec.mode", "must be 'sync', 'stream' or 'interactive'"),
        ({"session": "Work"}, "spec.session", "made of lower-case letters, digits and '-'"),
        ({"session": "w" * 53}, "spec.session", "at most 52 characters"),
        ({"session": "work\n"}, "spec.session", "made of lower-case letters"),
        ({"tool": "-x"}, "spec.tool", "letters, digits, '_', '.' and '-'"),
        ({"args": ["a"] * 1025}, "spec.args", "must hold at most 1024 entries"),
        ({"args": ["a", "b\0"]}, "spec.args[1]", "must not hold a NUL character"),
        ({"args": "a"}, "spec.args", "must be a list"),
        ({"env": {"A": "b\0c"}}, "spec.env.A", "must not hold a NUL character"),
        ({"env": {"A": "é" * 16_385}}, "spec.env.A", "must be at most 32 KiB"),
        ({"env": {f"A{n}": "" for n in range(129)}}, "spec.env", "must hold at most 128 entries"),
        ({"env": {"A": 1}}, "spec.env.A", "must be text; put it in quotes"),
        ({"env": {5: "a"}}, "spec.env[5]", "must have text as its name"),
        ({"stdin": "é" * 524_289}, "spec.stdin", "must be at most 1 MiB"),
        ({"stdin": "\ud800"}, "spec.stdin", "must be valid Unicode text"),
        ({"streamTokenHash": "A" * 64}, "spec.streamTokenHash", "64 lower-case hexadecimal digits"),
        ({"captureOutputs": ["/a"] * 65}, "spec.captureOutputs", "must hold at most 64 entries"),
        ({"inputArtifacts": [{"path": "a"}]}, "spec.inputArtifacts[0].artifactRef", "is required"),
        ({"cancel": "yes"}, "spec.cancel", "must be true or false"),
        ({"ttlSecondsAfterFinished": -1}, "spec.ttlSecondsAfterFinished", "must be at least 0"),
        ({"ttlSecondsAfterFinished": True}, "spec.ttlSecondsAfterFinished", "must be a whole number"),
        ({"arguments": {"a": "b" * 131_072}}, "spec.arguments", "must be at most 128 KiB as JSON"),
        ({"arguments": ["a"]}, "spec.arguments", "must be an object"),
        ({"arguments": {"a": float("nan")}}, "spec.arguments", "must hold nothing but JSON"),
        ({"arguments": {"a": [{5: "b"}]}}, "spec.arguments", "must hold nothing but JSON"),
        ({"arguments": {"a": {True: 1, "true": 2}}}, "spec.arguments", "must hold nothing but JSON"),
        ({"preDispatchSnapshot": {"sessionUID": "u", "turnIndex": 2**31, "sequence": 0}},
         "spec.preDispatchSnapshot.turnIndex", "must be at most 2147483647"),
        ({"workspace": {"mode": "private"}}, "spec.workspace.mode", "must be 'shared' or 'isolated'"),
    ),
)  # fmt: skip
def test_a_field_beyond_its_bounds_is_named_with_what_is_allowed(spec: dict[str, Any], path: str, message: str) -> None:
    found = problems(manifests.call(**spec))

    assert found.keys() == {path}
    assert message in found[path]


@pytest.mark.parametrize("inject", ({}, {"envVar": "A", "header": {"name": "X"}}))
def test_a_credential_goes_to_exactly_one_place(inject: dict[str, Any]) -> None:
    found = problems(manifests.credential(inject))

    assert found == {"spec.credentials[0].inject": "needs exactly one of envVar and header"}


@pytest.mark.parametrize("name", ("X Y", "", "X:"))
def test_a_credential_header_has_a_name_that_http_allows(name: str) -> None:
    assert "spec.credentials[0].inject.header.name" in problems(manifests.credential({"header": {"name": name}}))


def test_a_credential_prefix_cannot_begin_another_header() -> None:
    inject = {"header": {"name": "X-Token", "valuePrefix": "Bearer \r\nX-Other: "}}

    assert "spec.credentials[0].inject.header.valuePrefix" in problems(manifests.credential(inject))


@pytest.mark.parametrize(
    "spec",
    (
        {"args": ["a" * 131_072]},
        {"env": {"NOT-A-NAME": "a"}},
        {"env": {"": "a"}},
        {"env": {"A" * 300: "a"}},
        {"mode": "stream"},
        {"mode": "interactive", "streamTokenHash": HASH, "stdin": "a"},
        {"maxDuration": "1h"},
        {"captureOutputs": ["relative"]},
        {"inputArtifacts": [{"artifactRef": "r", "path": "../a"}, {"artifactRef": "r", "path": "../a"}]},
    ),
)
def test_what_ends_with_a_reason_of_its_own_is_not_malformed(spec: dict[str, Any]) -> None:
    assert parsed(manifests.call(**spec)).spec.tool == "echo"
