"""What people are told of a call: whether it would run, what speaks against it, and who decides."""

from __future__ import annotations

from typing import Any

from tests.unit.core import examples, policies
from toolcall_operator.core import explaining
from toolcall_operator.core.explaining import Explained
from toolcall_operator.core.policy.deciding.candidates import Pending
from toolcall_operator.core.world import World

PROBED = {
    "binary": "echo",
    "versionRange": ">=9",
    "versionProbe": {"args": ["--version"], "extract": {"kind": "line1"}},
}


def told(world: World, **spec: Any) -> Explained:  # noqa: ANN401 (fields of a manifest)
    return explaining.explained(examples.call(**spec), world, examples.NOW)


def test_a_call_that_is_not_judged_would_run() -> None:
    found = told(examples.world())

    assert found.allowed
    assert found.lines[0] == "ToolCall default/one would run"
    assert "  not judged: the class declares no toolspecs, or the tool is no program" in found.lines


def test_a_call_that_is_allowed_says_by_whom_and_how_it_is_confined() -> None:
    found = told(policies.world(policies.toolspec(allow={"filesystem": {"pathsUnder": []}})))

    assert found.allowed
    assert {"  allowed by toolspec say", "  confined: network none", "  confined: writes only below nothing"} <= {
        *found.lines
    }


def test_a_call_that_is_denied_would_not_run() -> None:
    found = told(policies.world(policies.toolspec(allowSubcommands=[])))

    assert not found.allowed
    assert found.lines[0].endswith("would not run")


def test_what_speaks_against_a_call_besides_its_toolspecs_is_told_too() -> None:
    found = told(policies.world(policies.toolspec()), env={"API_KEY": "x"})

    assert not found.allowed
    assert any(line.startswith("  refused: ToolCallEnvSecretLike: spec.env.API_KEY") for line in found.lines)


def test_a_call_that_would_wait_is_told_so() -> None:
    found = told(policies.world(Pending("late", "echo")))

    assert not found.allowed
    assert any("waiting for toolspec late" in line for line in found.lines)


def test_a_call_whose_program_must_be_asked_for_its_version_is_not_certain() -> None:
    known = policies.toolkit(target=PROBED)

    found = told(policies.world(policies.toolspec(of=known, require={"verifiedBinaryVersion": True})))

    assert not found.allowed
    assert found.lines[0] == "ToolCall default/one is decided when its program was asked for its version"


def asked(namespace: str) -> dict[str, Any]:
    source = {"type": "static", "namespace": namespace, "name": "github", "key": "token"}
    return {"credentials": [{"inject": {"envVar": "GH_TOKEN"}, "source": source}]}


def test_credentials_are_told_by_where_they_are_kept() -> None:
    found = told(examples.world(), **asked("default"))

    assert found.allowed
    assert "  credential: GH_TOKEN from Secret default/github, key token (static)" in found.lines


def test_a_credential_that_may_not_be_asked_for_is_an_objection() -> None:
    found = told(examples.world(), **asked("elsewhere"))

    assert not found.allowed
    assert any("CredentialSourceForbidden" in line for line in found.lines)
