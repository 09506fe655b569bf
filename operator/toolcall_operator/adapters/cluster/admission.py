"""The policies by which the API server asks who may use which Secret, and whether a cluster has them as they are here.

CRDs cannot say this: their rules see neither the namespace of an object nor who writes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import (
    ADMISSION_BINDINGS,
    ADMISSION_POLICIES,
    AGENT_IDENTITIES,
    SESSIONS,
    TOOLCALLS,
    Address,
    Resource,
)
from toolcall_operator.api import times
from toolcall_operator.api.base import GROUP
from toolcall_operator.core.credentials.secrets import PASSTHROUGH
from toolcall_operator.errors import Gone, Rejected

Manifest = dict[str, Any]

FILE = "examples/operator/credential-policy.yaml"
"""What is applied to have them; it is written from this module."""

MOST_NAMED = 24
"""How many Secrets one object may name for somebody who may not get all of the namespace.

The API server charges 350,000 for a question about a right, and lets one expression spend 1,000,000 and one policy
10,000,000 (k8s.io/apiserver/pkg/apis/cel and pkg/cel/library/cost.go): one question in each expression, and 28 in all
at most, of which one may be about an AgentIdentity.
"""

_API = "admissionregistration.k8s.io/v1"
_SECRETS = "authorizer.group('').resource('secrets').namespace(request.namespace)"
_AGENTS = f"authorizer.group('{GROUP}').resource('{AGENT_IDENTITIES.plural}').namespace(request.namespace)"

# Whoever edits nothing but metadata, as finalizers, is not asked: nothing could be deleted otherwise.
_NEW_SPEC = {"the-spec-is-new": "request.operation == 'CREATE' || object.spec != oldObject.spec"}
_HAS_CREDENTIALS = {"there-are-credentials": "has(object.spec.credentials) && object.spec.credentials.size() > 0"}


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold, in CEL, and what whoever asked is told if it does not; `told` is CEL, too."""

    expression: str
    told: str

    def to_manifest(self) -> Manifest:
        """It, as a policy spells it."""
        return {"expression": self.expression, "messageExpression": self.told, "reason": "Forbidden"}


@dataclass(frozen=True, slots=True)
class Policy:
    """The checks of one kind of object; `why` is for whoever reads the file. All of `when` must hold to be checked."""

    resource: Resource
    operations: Sequence[str]
    why: str
    when: Mapping[str, str]
    variables: Mapping[str, str]
    checks: Sequence[Check]

    @property
    def name(self) -> str:
        """Its name, and that of its binding."""
        return f"{self.resource.plural}.credentials.{GROUP}"

    def policy(self) -> Manifest:
        """The ValidatingAdmissionPolicy; what it spells out are defaults, so that it is stored as it is written."""
        matched = {
            "apiGroups": [self.resource.group],
            "apiVersions": [self.resource.version],
            "resources": [self.resource.plural],
            "operations": list(self.operations),
            "scope": "Namespaced",
        }
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [matched]},
            "matchConditions": [{"name": name, "expression": text} for name, text in self.when.items()],
            "variables": [{"name": name, "expression": text} for name, text in self.variables.items()],
            "validations": [check.to_manifest() for check in self.checks],
        }
        return {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": self.name}, "spec": spec}

    def binding(self) -> Manifest:
        """The ValidatingAdmissionPolicyBinding, of every namespace."""
        spec = {"policyName": self.name, "validationActions": ["Deny"]}
        metadata = {"name": self.name}
        return {"apiVersion": _API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": spec}


def _may_get(place: str) -> Iterator[Check]:
    """The writer may get each Secret of `variables.secrets`: a check for each, since one of all would spend too much.

    `place` is where in a credential it is named, for messages.
    """
    yield Check(
        f"variables.secrets.size() <= {MOST_NAMED} || {_SECRETS}.check('get').allowed()",
        f"'spec.credentials: whoever names more than {MOST_NAMED} Secrets must have the right to get every Secret of "
        "namespace ' + request.namespace",
    )
    for index in range(MOST_NAMED):
        secret = f"variables.secrets[{index}]"
        yield Check(
            f"variables.secrets.size() <= {index} || variables.secrets.size() > {MOST_NAMED} || "
            f"{_SECRETS}.name({secret}).check('get').allowed()",
            f"'spec.credentials[' + string(variables.names.indexOf({secret})) + ']{place}: whoever names Secret ' + "
            f"request.namespace + '/' + {secret} + ' must have the right to get it'",
        )


def _may_use(agent: str, place: str) -> Check:
    """The writer may use the AgentIdentity."""
    return Check(
        f"{_AGENTS}.name({agent}).check('use').allowed()",
        f"'{place}: whoever names AgentIdentity ' + request.namespace + '/' + {agent} + "
        "' must have the right to use it'",
    )


def _unless(condition: str, check: Check) -> Check:
    return replace(check, expression=f"{condition} || {check.expression}")


_OF_CALLS = Policy(
    resource=TOOLCALLS,
    operations=("CREATE",),
    why=(
        "Calls: whoever makes one must be allowed to get each Secret it names, or to use the AgentIdentity. Only as it "
        "is made: its definition lets nobody change the credentials of a call."
    ),
    when=_HAS_CREDENTIALS,
    variables={
        "names": "object.spec.credentials.map(c, has(c.source) ? c.source.name : '')",
        "secrets": "variables.names.filter(name, name != '')",
        "agents": "object.spec.credentials.filter(c, has(c.identity)).map(c, c.identity.name)",
    },
    checks=(
        Check(
            "object.spec.credentials.all(c, !has(c.source) || c.source.namespace == request.namespace)",
            "'spec.credentials[].source.namespace: a call uses Secrets of its own namespace alone, ' + "
            "request.namespace",
        ),
        Check(
            f"variables.secrets.all(name, !name.endsWith('{PASSTHROUGH}') || "
            f"name == object.spec.session + '{PASSTHROUGH}')",
            f"'spec.credentials[].source.name: of the Secrets ...{PASSTHROUGH} a call uses that of its own session '"
            f" + 'alone, ' + object.spec.session + '{PASSTHROUGH}'",
        ),
        *_may_get(".source.name"),
        Check(
            "variables.agents.all(name, name == variables.agents[0])",
            "'spec.credentials[].identity.name: a call uses one AgentIdentity, that of its session'",
        ),
        _unless("variables.agents.size() == 0", _may_use("variables.agents[0]", "spec.credentials[].identity.name")),
    ),
)
_OF_IDENTITIES = Policy(
    resource=AGENT_IDENTITIES,
    operations=("CREATE", "UPDATE"),
    why="AgentIdentities: whoever writes what one says must be allowed to get each Secret it names.",
    when=_NEW_SPEC | _HAS_CREDENTIALS,
    variables={
        "names": (
            "object.spec.credentials.map(c, has(c.static) ? c.static.secretRef.name : "
            "has(c.oauth) ? c.oauth.secretRef.name : c.githubApp.secretRef.name)"
        ),
        "secrets": "variables.names",
    },
    checks=tuple(_may_get("")),
)
_OF_SESSIONS = Policy(
    resource=SESSIONS,
    operations=("CREATE", "UPDATE"),
    why="Sessions: whoever gives one an AgentIdentity must be allowed to use it.",
    when=_NEW_SPEC
    | {
        "there-is-an-agent": "has(object.spec.agent)",
        "the-agent-is-new": (
            "request.operation == 'CREATE' || !has(oldObject.spec.agent) || oldObject.spec.agent != object.spec.agent"
        ),
    },
    variables={},
    checks=(_may_use("object.spec.agent", "spec.agent"),),
)
POLICIES = (_OF_CALLS, _OF_IDENTITIES, _OF_SESSIONS)
NAMES = tuple(each.name for each in POLICIES)


async def require(client: Client) -> None:
    """Return if the API server refuses what the policies here refuse, in every namespace.

    Raises:
        Unavailable: it cannot be asked, or a right lacks.
        Rejected: a policy or its binding is not there, or says something else; the text names it and the cure.
    """
    problems = await asyncio.gather(*(_problem(client, each) for each in POLICIES))
    if told := list(filter(None, problems)):
        raise Rejected(f"the API server does not ask who may use which Secret: {'; '.join(told)}; apply {FILE}")


async def judging_since(client: Client) -> datetime:
    """When the newest of the policies and bindings was made: what was written before, none of them has seen.

    Raises:
        Unavailable: it cannot be asked.
        Gone: one is not there.
    """
    kinds = (ADMISSION_POLICIES, ADMISSION_BINDINGS)
    found = await asyncio.gather(*(client.get(kind.named(name)) for kind in kinds for name in NAMES))
    return max(times.parse(each["metadata"]["creationTimestamp"]) for each in found)


async def _problem(client: Client, policy: Policy) -> str:
    """What is wrong with a policy or its binding in the cluster; nothing if both are as they should be."""
    policies, bindings = (each.named(policy.name) for each in (ADMISSION_POLICIES, ADMISSION_BINDINGS))
    return await _difference(client, policies, policy.policy()) or await _difference(client, bindings, policy.binding())


async def _difference(client: Client, address: Address, wanted: Manifest) -> str:
    """How an object of the cluster differs from what is wanted."""
    try:
        found = await client.get(address)
    except Gone:
        return f"there is no {wanted['kind']} {address.name}"
    spec, expected = _said(found.get("spec") or {}), _said(wanted["spec"])
    different = [field for field in sorted({*spec, *expected}) if spec.get(field) != expected.get(field)]
    return f"{wanted['kind']} {address.name} has another {' and another '.join(different)}" if different else ""


def _said(part: Any) -> Any:  # noqa: ANN401 (any part of a manifest)
    """What a part of a manifest says: the API server writes empty selectors where there are none."""
    match part:
        case Mapping():
            told = {name: _said(value) for name, value in part.items()}
            return {name: value for name, value in told.items() if value not in (None, [], {})}
        case list():
            return [_said(each) for each in part]
        case _:
            return part
