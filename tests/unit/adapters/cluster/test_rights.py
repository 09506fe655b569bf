"""The rights an operator needs are asked for before it starts, and are those that the example manifest gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.apiserver import FakeClient
from toolcall_operator.adapters.cluster import admission, rights
from toolcall_operator.adapters.cluster.resources import Address
from toolcall_operator.errors import Unavailable

RBAC = Path(__file__).parents[4] / "examples" / "operator" / "rbac.yaml"
BEST_EFFORT = {("", "events", "create")}
"""What an operator does without if it may not."""


class Judge(FakeClient):
    """Allows everything but what is denied, by verb and resource; `asked_about` are the attributes of every review."""

    def __init__(self, *denied: str) -> None:
        super().__init__()
        self._denied = denied
        self.asked_about: list[Mapping[str, str]] = []

    async def create(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        assert address.resource.plural == "selfsubjectaccessreviews"
        asked = manifest["spec"]["resourceAttributes"]
        self.asked_about.append(asked)
        what = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        return {"status": {"allowed": f"{asked['verb']} {what}" not in self._denied}}


async def test_whoever_has_every_right_may_start() -> None:
    await rights.require(Judge(), ["team-a", "team-b"], "home")


async def test_what_lacks_is_told_all_at_once_with_its_verb_its_resource_and_its_namespace() -> None:
    denied = Judge("create pods/exec", "get secrets", "list spiceboxclasses")

    with pytest.raises(Unavailable) as refusal:
        await rights.require(denied, ["team-a"], "home")

    assert "create pods/exec in namespace team-a" in str(refusal.value)
    assert "get secrets in namespace home" in str(refusal.value)
    assert "list spiceboxclasses" in str(refusal.value)


async def test_a_list_without_end_is_cut() -> None:
    with pytest.raises(Unavailable, match="and 8 more"):
        await rights.require(Judge("get pods"), [f"team-{number}" for number in range(20)], "home")


async def test_an_operator_of_the_whole_cluster_is_asked_about_no_namespace() -> None:
    judge = Judge()

    await rights.require(judge, [], "home")

    assert {asked.get("namespace") for asked in judge.asked_about if asked["resource"] == "toolcalls"} == {None}
    assert {asked.get("namespace") for asked in judge.asked_about if asked["resource"] == "leases"} == {"home"}


async def test_secrets_of_any_name_are_asked_about_where_calls_run_and_one_at_home() -> None:
    judge = Judge()

    await rights.require(judge, ["team-a"], "home")

    assert {
        (asked["verb"], asked["namespace"], asked.get("name", ""))
        for asked in judge.asked_about
        if asked["resource"] == "secrets"
    } == {
        ("get", "team-a", ""),
        ("patch", "team-a", ""),
        ("get", "home", "toolcall-operator-key"),
        ("create", "home", ""),
    }


async def test_an_operator_of_the_whole_cluster_may_be_given_secrets_in_single_namespaces() -> None:
    judge = Judge()

    await rights.require(judge, [], "home")

    assert {asked.get("namespace") for asked in judge.asked_about if asked["resource"] == "secrets"} == {"home"}


@pytest.mark.parametrize("namespaces", ([], ["team-a"]))
def test_nobody_needs_to_list_or_watch_secrets(namespaces: list[str]) -> None:
    verbs = {right.verb for right in rights.needed(namespaces, "home") if right.address.resource.plural == "secrets"}

    assert verbs <= {"get", "patch", "create"}


@pytest.mark.parametrize(
    ("admission_decides", "asked_about"), ((True, sorted(admission.NAMES)), (False, [])), ids=["admission", "labels"]
)
async def test_policies_are_asked_about_by_name_where_they_decide(
    admission_decides: bool,  # noqa: FBT001 (a row of the table)
    asked_about: list[str],
) -> None:
    judge = Judge()

    await rights.require(judge, ["team-a"], "home", admission_decides=admission_decides)

    for resource in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        names = [asked["name"] for asked in judge.asked_about if asked["resource"] == resource]
        assert sorted(names) == asked_about


def test_the_manifest_gives_what_is_needed_and_no_more() -> None:
    needed = {
        (right.address.resource.group, right.address.what, right.verb)
        for right in rights.needed(["team-a"], "home", admission_decides=True)
    }

    assert {each[:3] for each in given()} - BEST_EFFORT == needed


def test_the_manifest_limits_to_names_what_can_be() -> None:
    needed = {
        (right.address.resource.group, right.address.what, right.verb, right.address.name)
        for right in rights.needed(["team-a"], "home", admission_decides=True)
    }

    assert {each for each in given() if each[:3] not in BEST_EFFORT} == needed


def given() -> set[tuple[str, str, str, str]]:
    """Every group, resource, verb and name of the manifest's roles."""
    rules = [rule for each in yaml.safe_load_all(RBAC.read_text()) for rule in each.get("rules", ())]
    return {
        (group, resource, verb, name)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ("",))
    }
