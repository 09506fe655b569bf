"""What the pages show is true: their manifests are read, and their command lines judged."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolcall_operator.core import validation
from toolcall_operator.core.outcomes import Refused, Wait
from toolcall_operator.core.policy.deciding import effectrules, gates
from toolcall_operator.core.policy.deciding.decision import BINARY, PARSE
from toolcall_operator.core.validation import Plan
from toolcall_operator.local import yamlnodes
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.manifests import unwritten

PAGE = (Path(__file__).parents[2] / "docs" / "writing-a-toolspec.md").read_text()
NOW = datetime(2026, 3, 1, tzinfo=UTC)

MANIFESTS: list[Any] = [
    manifest for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) for manifest, _ in yamlnodes.read(block)
]
DECIDED = re.findall(r"^\| `(.+?)` \| ([\w.\[\]]+) \|$", PAGE, re.MULTILINE)


def call(line: str) -> dict[str, Any]:
    """The call that a command line stands for: variables first, as in a shell."""
    words = shlex.split(line)
    env = dict(word.split("=", 1) for word in words if re.match("[A-Z_]+=", word))
    tool, *args = words[len(env) :]
    spec = {"session": "notes", "tool": tool, "args": args, "env": env}
    version = "agentprimitives.authzed.com/v1alpha1"
    return {"apiVersion": version, "kind": "ToolCall", "metadata": {"name": "one"}, "spec": spec}


def test_the_page_shows_manifests_and_command_lines() -> None:
    assert len(MANIFESTS) == 4
    assert len(DECIDED) > 10


@pytest.mark.parametrize(("line", "decided_by"), DECIDED, ids=[line for line, _ in DECIDED])
async def test_a_command_line_is_decided_as_the_page_says(line: str, decided_by: str) -> None:
    cluster = FileCluster([unwritten("the page", each) for each in [*MANIFESTS, call(line)]], lambda: NOW)
    assert not cluster.findings
    (entry,) = cluster.entries
    assert entry.call

    found = validation.plan(entry.call, await cluster.observe(entry.call), NOW)

    assert told(found) == decided_by


def told(found: Plan | Refused | Wait) -> str:
    """How it was decided, in the words of the table."""
    if isinstance(found, Plan):
        return "allowed" if found.accepted_by else "not judged"
    assert isinstance(found, Refused), found
    (failure,) = found.failures
    return failure.failed_on.path if failure.failed_on else ""


def test_the_page_names_every_rule_in_its_order() -> None:
    table = PAGE.partition("## The rules, in their order")[2].partition("\n## ")[0]
    named = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)))
    rules = [BINARY, PARSE, *(rule.path for rule in (*gates.GATES, *effectrules.EFFECT_RULES)), "constraints[i]"]

    assert [name for name in named if name != "failedOn.path"] == rules
