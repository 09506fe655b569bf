"""Credentials in a run on this machine: what a tool finds, what shows of it, and why a call does not get one."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.pipeline import ROOT, Object, a_call, a_class, a_session, ended, environment, manifest, toolcall
from tests.integration.pipeline import written as manifests_of
from toolcall_operator.local import yamlnodes

TOKEN = "ghp_ThisIsNoToken/+1234567890"
CONSENT = {"agentprimitives.authzed.com/credential": "true"}
PAGE = (ROOT / "docs" / "giving-a-tool-a-credential.md").read_text()


def a_secret(name: str = "github", labels: dict[str, str] | None = None, **text: str) -> Object:
    metadata = {"name": name, "labels": CONSENT if labels is None else labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": text or {"token": TOKEN}}


def asks(variable: str = "GH_TOKEN", **source: object) -> Object:
    full = {"type": "static", "namespace": "default", "name": "github", "key": "token", **source}
    return {"inject": {"envVar": variable}, "source": full}


SEES = f'test "$GH_TOKEN" = "{TOKEN}"'


def test_the_tool_has_the_value_and_the_status_a_mask(tmp_path: Path) -> None:
    call = ended(tmp_path, a_secret(), a_call("one", "sh", SEES, credentials=[asks()]))["one"]

    assert call.end == "Succeeded/ProcessExited"
    assert call.status["agent"] == {"injected": [{"key": "GH_TOKEN", "masked": "ghp_****7890"}]}


def test_the_value_stands_in_no_output_and_in_no_file_of_the_run(tmp_path: Path) -> None:
    prints = 'echo "$GH_TOKEN"; echo "$GH_TOKEN" >&2; printf %s "$GH_TOKEN" | base64'
    manifests = manifests_of(tmp_path, [a_class(), a_session(), a_call("one", "sh", prints, credentials=[asks()])])

    run = toolcall(
        "run",
        "-o",
        "json",
        "--secret",
        "github/token=GIVEN",
        manifests,
        cwd=tmp_path,
        env=environment(GIVEN=TOKEN),
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.count("[redacted]") == 2
    spelled = base64.b64encode(TOKEN.encode()).decode()
    everything = [run.stdout, run.stderr, *(each.read_text() for each in tmp_path.rglob("*") if each.is_file())]
    assert not [text for text in everything if TOKEN in text or spelled in text]


def test_the_next_call_does_not_have_it_nor_what_it_left_at_home(tmp_path: Path) -> None:
    leaves = 'echo left > "$HOME/.netrc"; echo left > "$TMPDIR/left"'
    looks = 'test -z "$GH_TOKEN" && ! test -e "$HOME/.netrc" && ! test -e "$TMPDIR/left"'
    calls = ended(
        tmp_path,
        a_secret(),
        a_class(limits={"maxConcurrentCalls": 1}),
        a_call("one", "sh", leaves, credentials=[asks()]),
        a_call("two", "sh", looks),
        a_call("three", "sh", '! test -e "$HOME/.netrc"', credentials=[asks()]),
    )

    assert {name: call.end for name, call in calls.items()} == dict.fromkeys(calls, "Succeeded/ProcessExited")


def test_a_credential_comes_before_the_call_the_session_and_the_class(tmp_path: Path) -> None:
    calls = ended(
        tmp_path,
        a_secret("a", token="of-the-credential"),
        a_class(envDefaults={"A": "class", "B": "class", "C": "class"}, redaction="Off"),
        a_session(defaultEnv={"A": "session", "B": "session", "C": "session"}),
        a_call("one", "sh", 'echo "$A $B $C"', env={"B": "call"}, credentials=[asks("A", name="a")]),
    )

    assert calls["one"].output() == b"of-the-credential call session\n"


IDENTITY = manifest(
    "AgentIdentity",
    "bot",
    {"credentials": [{"name": "hub", "type": "static", "static": {"secretRef": {"name": "github", "key": "token"}}}]},
)
BY_NAME = {"inject": {"envVar": "GH_TOKEN"}, "identity": {"name": "bot", "credential": "hub"}}


def test_a_call_names_a_credential_of_its_sessions_identity(tmp_path: Path) -> None:
    call = a_call("one", "sh", SEES, credentials=[BY_NAME])

    assert ended(tmp_path, a_secret(), IDENTITY, a_session(agent="bot"), call)["one"].end == "Succeeded/ProcessExited"


REFUSED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a Secret that is not there", "AgentCredentialUnresolved", {"credentials": [asks(name="nobodys")]}),
    ("a key that is not there", "AgentCredentialUnresolved", {"credentials": [asks(key="other")]}),
    ("an empty value", "CredentialInvalid", {"credentials": [asks(key="empty")]}),
    ("a value of two lines", "CredentialInvalid", {"credentials": [asks(key="lines")]}),
    ("no key", "CredentialInvalid", {"credentials": [asks(key=None)]}),
    ("another namespace", "CredentialSourceForbidden", {"credentials": [asks(namespace="kube-system")]}),
    ("no consent", "CredentialSourceForbidden", {"credentials": [asks(name="payroll")]}),
    ("another session's", "CredentialSourceForbidden", {"credentials": [asks(name="there-passthrough-creds")]}),
    ("two for one variable", "CredentialConflict", {"credentials": [asks(), asks(key="other")]}),
    ("one that the call sets", "ToolCallEnvShadowsAgent", {"credentials": [asks("MINE")], "env": {"MINE": "1"}}),
    ("a header for a program", "UnsupportedForTool", {"credentials": [asks() | {"inject": {"header": {"name": "A"}}}]}),
    ("nobody's identity", "CredentialSourceForbidden", {"credentials": [BY_NAME]}),
    ("an expired token", "AgentCredentialExpired", {"credentials": [asks(type="oauth", name="oauth", key=None)]}),
    ("neither place", "MalformedObject", {"credentials": [asks() | {"inject": {}}]}),
    ("neither origin", "MalformedObject", {"credentials": [{"inject": {"envVar": "A"}}]}),
)


def test_a_call_that_cannot_have_its_credential_says_why_and_runs_nothing(tmp_path: Path) -> None:
    calls = ended(
        tmp_path,
        a_secret(token=TOKEN, empty="\n", lines=f"{TOKEN}\n{TOKEN}"),
        a_secret("payroll", {}, token=TOKEN),
        a_secret("there-passthrough-creds"),
        a_secret("oauth", access_token=TOKEN, expires_at="2020-01-01T00:00:00Z"),
        *(a_call(f"call-{number}", "sh", SEES, **spec) for number, (_, _, spec) in enumerate(REFUSED)),
    )

    for number, (what, reason, _) in enumerate(REFUSED):
        call = calls[f"call-{number}"]
        assert call.end == f"Failed/{reason}", what
        assert call.refused(), what
        assert TOKEN not in str(call.status), what


@pytest.mark.parametrize("name", ("by-source", "by-identity"))
def test_the_calls_of_the_page_end_as_it_says(tmp_path: Path, name: str) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    shown: list[Any] = [each for block in blocks for each, _ in yamlnodes.read(block)]

    call = ended(tmp_path, *shown)[name]

    assert call.end == "Succeeded/ProcessExited"
    assert call.status["agent"] == {"injected": [{"key": "GH_TOKEN", "masked": "ghp_****7890"}]}
    if name == "by-source":
        assert call.output() == b"there: [redacted]\n"
