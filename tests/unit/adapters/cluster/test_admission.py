"""The policies of who may use which Secret: what is shipped, and an operator that relies on nothing else."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.apiserver import FakeClient
from toolcall_operator.adapters.cluster import admission
from toolcall_operator.adapters.cluster.admission import POLICIES, Policy
from toolcall_operator.adapters.cluster.resources import ADMISSION_BINDINGS, ADMISSION_POLICIES
from toolcall_operator.errors import Rejected, Unavailable

ROOT = Path(__file__).resolve().parents[4]
SHIPPED = [each for each in yaml.safe_load_all((ROOT / admission.FILE).read_text()) if each]
CALLS = "toolcalls.credentials.agentprimitives.authzed.com"
QUESTION, EXPRESSION, BUDGET = 350_000, 1_000_000, 10_000_000
"""What the API server charges for a question about a right, and how much one expression and one policy may spend."""

Manifest = dict[str, Any]
Change = Callable[[Manifest], object]


def stored(*, policy: Change = id, binding: Change = id) -> FakeClient:
    """A cluster that has what is shipped, with its defaults; of that for calls, what the changes make of it."""
    client = FakeClient()
    for manifest in copy.deepcopy(SHIPPED):
        resource, change = {
            "ValidatingAdmissionPolicy": (ADMISSION_POLICIES, policy),
            "ValidatingAdmissionPolicyBinding": (ADMISSION_BINDINGS, binding),
        }[manifest["kind"]]
        if resource is ADMISSION_POLICIES:
            manifest["spec"]["matchConstraints"] |= {"namespaceSelector": {}, "objectSelector": {}}
        if manifest["metadata"]["name"] == CALLS:
            change(manifest["spec"])
        client.put(resource, manifest)
    return client


def rule(spec: Manifest) -> Manifest:
    [found] = spec["matchConstraints"]["resourceRules"]
    assert isinstance(found, dict)
    return found


# What is shipped ------------------------------------------------------------------------------------------------------
def test_the_committed_file_is_what_the_code_says() -> None:
    script = ROOT / "hack" / "generate_policy.py"
    check = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)

    assert (check.returncode, check.stdout) == (0, ""), "run `make crds`"


def test_the_file_has_each_policy_with_its_binding() -> None:
    assert [each for policy in POLICIES for each in (policy.policy(), policy.binding())] == SHIPPED


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.resource.plural)
def test_whatever_goes_wrong_in_a_policy_refuses_and_nothing_is_only_told(policy: Policy) -> None:
    assert policy.policy()["spec"]["failurePolicy"] == "Fail"
    assert policy.binding()["spec"] == {"policyName": policy.name, "validationActions": ["Deny"]}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.resource.plural)
def test_a_policy_spends_less_than_it_may(policy: Policy) -> None:
    questions = [check.expression.count(".check(") for check in policy.checks]

    assert max(questions) * QUESTION <= EXPRESSION / 2
    assert sum(questions) * QUESTION <= BUDGET - EXPRESSION / 2


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.resource.plural)
def test_every_check_tells_the_field(policy: Policy) -> None:
    assert [check.told for check in policy.checks if not re.match(r"'spec\.(credentials|agent)\b", check.told)] == []


# What is required -----------------------------------------------------------------------------------------------------
async def test_what_is_shipped_will_do() -> None:
    await admission.require(stored())


async def test_a_cluster_without_any_is_told_what_lacks_and_what_to_apply() -> None:
    with pytest.raises(Rejected, match=r"; apply examples/operator/credential-policy\.yaml$") as refusal:
        await admission.require(FakeClient())

    for name in admission.NAMES:
        assert f"there is no ValidatingAdmissionPolicy {name}" in str(refusal.value)


async def test_a_policy_without_its_binding_refuses_nothing_and_that_is_told() -> None:
    client = stored()
    client.remove(ADMISSION_BINDINGS, CALLS)

    with pytest.raises(Rejected, match=rf"Secret: there is no ValidatingAdmissionPolicyBinding {CALLS}; apply"):
        await admission.require(client)


@pytest.mark.parametrize(
    ("change", "told"),
    (
        pytest.param(lambda spec: spec.update(failurePolicy="Ignore"), "failurePolicy", id="errors let pass"),
        pytest.param(lambda spec: spec["validations"].pop(), "validations", id="a check less"),
        pytest.param(lambda spec: spec["validations"][3].update(expression="true"), "validations", id="an empty check"),
        pytest.param(lambda spec: spec["variables"][1].update(expression="[]"), "variables", id="no Secrets"),
        pytest.param(
            lambda spec: spec["matchConditions"].append({"name": "more", "expression": "false"}),
            "matchConditions",
            id="one condition more",
        ),
        pytest.param(lambda spec: rule(spec).update(operations=["UPDATE"]), "matchConstraints", id="another operation"),
        pytest.param(lambda spec: rule(spec).update(resourceNames=["a"]), "matchConstraints", id="one object alone"),
        pytest.param(
            lambda spec: spec["matchConstraints"].update(namespaceSelector={"matchLabels": {"a": "b"}}),
            "matchConstraints",
            id="some namespaces alone",
        ),
        pytest.param(
            lambda spec: spec["matchConstraints"].update(excludeResourceRules=[rule(spec)]),
            "matchConstraints",
            id="all but all",
        ),
        pytest.param(lambda spec: spec.update(paramKind={"kind": "ConfigMap"}), "paramKind", id="with parameters"),
    ),
)
async def test_a_policy_that_says_something_else_is_refused_by_what_differs(change: Change, told: str) -> None:
    with pytest.raises(Rejected, match=rf"ValidatingAdmissionPolicy {CALLS} has another {told}; apply examples/"):
        await admission.require(stored(policy=change))


@pytest.mark.parametrize(
    ("change", "told"),
    (
        pytest.param(
            lambda spec: spec.update(validationActions=["Audit"]), "validationActions", id="it denies nothing"
        ),
        pytest.param(lambda spec: spec.update(policyName="other"), "policyName", id="of another policy"),
        pytest.param(
            lambda spec: spec.update(matchResources={"namespaceSelector": {"matchLabels": {"a": "b"}}}),
            "matchResources",
            id="some namespaces alone",
        ),
        pytest.param(lambda spec: spec.update(paramRef={"name": "a"}), "paramRef", id="with parameters"),
    ),
)
async def test_a_binding_that_says_something_else_is_refused_by_what_differs(change: Change, told: str) -> None:
    with pytest.raises(Rejected, match=rf"ValidatingAdmissionPolicyBinding {CALLS} has another {told}; apply"):
        await admission.require(stored(binding=change))


async def test_an_api_server_that_cannot_be_asked_is_no_answer() -> None:
    client = stored()
    client.refusals["get"] = Unavailable("no right to get validatingadmissionpolicies")

    with pytest.raises(Unavailable, match="no right to get"):
        await admission.require(client)
