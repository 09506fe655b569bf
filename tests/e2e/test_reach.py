"""How far a credential reaches on a cluster: into one process, and nowhere else that anybody could look."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.contract.pod import Images
from tests.e2e.audit import AGENT, Audit
from tests.e2e.operators import Operator
from tests.e2e.team import BUSYBOX, Team, a_tool, served, until
from tests.integration.pipeline import Object
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster.resources import SECRETS

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

CONSENT = "agentprimitives.authzed.com/credential"
SHOWS_IT = 'printf %s "$TOKEN" | sha256sum'
"""Proves that a process has the value, without writing it."""

EVERYTHING = """
for p in /proc/[0-9]*; do
  [ "$p" = "/proc/$$" ] && continue
  for f in environ cmdline maps status cwd exe root; do cat "$p/$f" 2>/dev/null; done
  ls -l "$p/fd" 2>/dev/null; cat "$p"/fd/* 2>/dev/null; dd if="$p/mem" bs=4096 count=1 2>/dev/null
  kill -9 "${p#/proc/}" 2>/dev/null
done
for d in /tmp /work /workspace /run /dev/shm /var /home /root; do
  find "$d" 2>/dev/null; find "$d" -type f -exec cat {} + 2>/dev/null
done
echo looked
"""
"""What a hostile call would look at; each part is refused on its own, or shows nothing."""


class Stage:
    """A team with a Secret, an operator that logs all it can, and sessions whose output is redacted, or exact."""

    def __init__(self, team: Team, operator: Operator, audit: Audit) -> None:
        self.team = team
        self.operator = operator
        self.audit = audit
        self.known: list[str] = []

    def a_secret(self, name: str, *, consents: bool = True) -> str:
        """Make a Secret, or give the one that is there another value; the value looks like a token."""
        value = f"ghp_/+{secrets.token_hex(16)}"
        self.known.append(value)
        labels = {CONSENT: "true"} if consents else {}
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": labels},
            "data": {"token": base64.b64encode(value.encode()).decode()},
        }
        if self.team.kubectl.attempt("get", "secret", name).returncode == 0:
            self.team.ask(
                "PATCH",
                SECRETS.named(name, self.team.namespace),
                {"data": manifest["data"]},
                content="application/merge-patch+json",
            )
        else:
            self.team.ask("POST", SECRETS.within(self.team.namespace), manifest)
        return value

    def credential(self, secret: str, variable: str = "TOKEN") -> Object:
        """A reference to it."""
        source = {"type": "static", "namespace": self.team.namespace, "name": secret, "key": "token"}
        return {"inject": {"envVar": variable}, "source": source}

    def a_call(self, name: str, session: str, script: str, *secrets_: str, **spec: Any) -> str:  # noqa: ANN401 (fields of a manifest)
        """A shell that is given these Secrets."""
        given: dict[str, Any] = {"credentials": [self.credential(each) for each in secrets_]} if secrets_ else {}
        return self.team.a_call(name, session, "sh", "-c", script, **given, **spec)

    def everything_told(self) -> dict[str, str]:
        """All that is written down about the team, by where that is."""
        kinds = "toolcalls,spiceboxsessions,agentidentities,pods,events,configmaps,networkpolicies,leases"
        return {
            "the audit log": "\n".join(self._audited()),
            "the operator's log": self.operator.log.read_text(),
            "the objects": self.team.kubectl("get", kinds, "--output=yaml"),
            "the classes": json.dumps([self.team.get("class", each) for each in ("redacted", "exact", "alone")]),
        }

    def _audited(self) -> Iterator[str]:
        if not self.audit.log.exists():
            pytest.skip(f"this cluster keeps no audit log at {self.audit.log}")
        with self.audit.log.open("rb") as log:
            log.seek(self.audit.start)
            yield from (line.decode() for line in log if self.team.namespace.encode() in line)


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    audit = Audit.from_now()
    with served(kubectl, images, tmp_path_factory.mktemp("reach"), log_level="debug") as (team, operator):
        shell = a_tool("sh", "sh")
        team.a_class("redacted", BUSYBOX, shell)
        team.a_class("exact", BUSYBOX, shell, redaction="Off")
        team.a_class("alone", BUSYBOX, shell, credentials={"exclusive": True})
        for name in ("redacted", "exact", "alone"):
            team.a_session(name, name)
        yield Stage(team, operator, audit)


def digest(value: str) -> bytes:
    return f"{hashlib.sha256(value.encode()).hexdigest()}  -\n".encode()


def spellings(value: str) -> set[str]:
    """The ways in which a value could show."""
    raw = value.encode()
    return {
        value,
        quote(value, safe=""),
        quote_plus(value),
        *(base64.b64encode(b" " * shift + raw)[4:-4].decode() for shift in range(3)),
        raw.hex(),
        json.dumps(value)[1:-1],
    }


# Where it is, and where not -------------------------------------------------------------------------------------------
def test_the_process_has_the_value_and_a_changed_secret_is_used_by_the_next_call(stage: Stage) -> None:
    first = stage.a_secret("rotated")
    before = stage.team.ended(stage.a_call("before", "redacted", SHOWS_IT, "rotated"))
    second = stage.a_secret("rotated")
    after = stage.team.ended(stage.a_call("after", "redacted", SHOWS_IT, "rotated"))

    assert (before.end, before.output()) == ("Succeeded/ProcessExited", digest(first))
    assert (after.end, after.output()) == ("Succeeded/ProcessExited", digest(second))
    assert after.status["agent"] == {"injected": [{"key": "TOKEN", "masked": f"ghp_****{second[-4:]}"}]}


def test_the_value_shows_nowhere_where_anything_is_written_down(stage: Stage) -> None:
    stage.a_secret("hidden")
    ran = [
        stage.a_call("ran", "redacted", SHOWS_IT, "hidden"),
        stage.a_call("failed", "redacted", "exit 3", "hidden"),
        stage.a_call("not-found", "redacted", SHOWS_IT, "missing"),
    ]
    for name in ran:
        stage.team.ended(name)

    told = stage.everything_told()

    assert all(told.values())
    for where, text in told.items():
        for value in stage.known:
            assert not [each for each in spellings(value) if each in text], where


def test_the_exec_of_the_sandbox_is_always_of_the_same_words(stage: Stage) -> None:
    stage.a_secret("unspoken")
    stage.team.ended(stage.a_call("unspoken", "redacted", SHOWS_IT, "unspoken"))

    asked = stage.audit.about(stage.team.namespace)

    execs = [each.query for each in asked if each.resource == "pods/exec" and each.agent.startswith(AGENT)]
    assert execs
    assert all(each["command"] == ["/opt/toolcall/supervisor", "connect"] for each in execs)


def test_a_missing_secret_is_told_by_its_name_and_nothing_runs(stage: Stage) -> None:
    call = stage.team.ended(stage.a_call("missing", "redacted", "true", "nobodys"))

    assert call.end == "Failed/AgentCredentialUnresolved"
    assert f"{stage.team.namespace}/nobodys" in call.message
    assert call.refused()


# Beside it ------------------------------------------------------------------------------------------------------------
def test_a_call_beside_it_that_looks_everywhere_finds_nothing(stage: Stage) -> None:
    value = stage.a_secret("guarded")
    victim = stage.a_call("victim", "exact", f"{SHOWS_IT}; sleep 30; echo kept", "guarded", timeout="60s")
    stage.team.running(victim)
    until(lambda: stage.team.get("toolcall", victim)["status"].get("agent"))

    looked = stage.team.ended(stage.a_call("looks", "exact", EVERYTHING, timeout="50s"))

    assert looked.output().rstrip().endswith(b"looked")
    for stream in ("stdout", "stderr"):
        assert not [each for each in spellings(value) if each.encode() in looked.output(stream)]
    stage.team.change("toolcall", victim, {"spec": {"cancel": True}})
    assert stage.team.ended(victim).end == "Canceled/UserCancel"  # the looking has not killed it


def test_a_process_that_a_call_leaves_behind_is_gone_when_the_next_one_looks(stage: Stage) -> None:
    value = stage.a_secret("abandoned")
    leaves = "(trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) ; echo left"
    left = stage.team.ended(stage.a_call("leaves", "exact", leaves, "abandoned"))

    looked = stage.team.ended(stage.a_call("looks-after", "exact", "cat /proc/[0-9]*/cmdline; cat /proc/*/environ"))

    assert left.end == "Succeeded/ProcessExited"
    assert b"while :" not in looked.output()
    assert value.encode() not in looked.output()


def test_its_home_is_its_own_and_gone_with_it(stage: Stage) -> None:
    stage.a_secret("housed")
    writes = 'echo "$HOME"; ls -A "$HOME" "$TMPDIR"; echo kept > "$HOME/.netrc"; echo kept > "$TMPDIR/file"'
    first = stage.team.ended(stage.a_call("lives", "exact", writes, "housed"))
    home = first.output().decode().splitlines()[0]

    second = stage.team.ended(stage.a_call("visits", "exact", f"cat {home}/.netrc || echo gone", "housed"))

    assert first.end == "Succeeded/ProcessExited"
    assert second.output() == b"gone\n"


def test_a_class_that_says_so_runs_a_call_with_credentials_alone(stage: Stage) -> None:
    stage.a_secret("lonely")
    names = [stage.a_call(f"alone-{number}", "alone", "sleep 1", "lonely") for number in range(2)]
    names.append(stage.a_call("beside", "alone", "sleep 1"))

    calls = sorted((stage.team.ended(name).status for name in names), key=lambda each: each["startedAt"])

    for earlier, later in itertools.pairwise(calls):
        assert earlier["finishedAt"] <= later["startedAt"]


# What it writes -------------------------------------------------------------------------------------------------------
def test_a_value_that_is_written_is_redacted_in_every_spelling(stage: Stage) -> None:
    value = stage.a_secret("spelled")
    script = (
        'echo "raw $TOKEN"; printf %s "$TOKEN" | base64 -w0; echo; printf "x$TOKEN" | base64 -w0; echo; '
        'printf %s "$TOKEN" | od -An -tx1 | tr -d " \\n"; echo; echo "err $TOKEN" >&2; '
        'printf %s "$TOKEN" | cut -c1-9 | tr -d "\\n"; sleep 1; printf %s "$TOKEN" | cut -c10-'
    )
    call = stage.team.ended(stage.a_call("spells", "redacted", script, "spelled"))

    assert call.end == "Succeeded/ProcessExited"
    for text in (call.output(), call.output("stderr"), call.status["result"]["text"].encode()):
        assert b"[redacted]" in text
        assert not [each for each in spellings(value) if each.encode() in text]
    assert call.output("stderr") == b"err [redacted]\n"
    assert call.output().splitlines()[-1] == b"[redacted]"


def test_a_later_call_without_it_cannot_write_it_out_of_a_file_either_though_the_operator_is_another(
    stage: Stage,
) -> None:
    value = stage.a_secret("filed")
    stage.team.ended(stage.a_call("files", "redacted", 'echo "$TOKEN" > /workspace/filed', "filed"))
    stage.operator.kill()
    stage.operator.start()

    call = stage.team.ended(stage.a_call("reads", "redacted", "cat /workspace/filed"))

    assert call.output() == b"[redacted]\n"
    assert value not in json.dumps(call.object)


def test_output_without_a_secret_is_stored_byte_for_byte(stage: Stage) -> None:
    stage.a_secret("unused")
    script = "head -c 300000 /dev/zero | tr '\\0' 'g'; printf '\\377\\376\\0ghp_'"

    call = stage.team.ended(stage.a_call("exact", "redacted", script, "unused"))

    assert call.output() == b"g" * 300_000 + b"\xff\xfe\0ghp_"


def test_where_a_class_switches_that_off_output_is_exact(stage: Stage) -> None:
    value = stage.a_secret("wanted")

    call = stage.team.ended(stage.a_call("wanted", "exact", 'printf %s "$TOKEN"', "wanted"))

    assert call.output() == value.encode()
    stage.known.remove(value)  # it is in the call's result, as its class wants it


def test_no_file_of_the_operator_holds_a_value(stage: Stage) -> None:
    folder: Path = stage.operator.folder
    for file in (each for each in folder.rglob("*") if each.is_file()):
        text = file.read_bytes()
        assert not [value for value in stage.known if value.encode() in text], file
