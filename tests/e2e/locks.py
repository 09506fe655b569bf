"""People who are after Secrets, what they would create for one, and the policies that keep them from it."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.team import until
from tests.integration.pipeline import Object, manifest
from tests.kubectl import Kubectl, as_list
from toolcall_operator.adapters.cluster import admission
from toolcall_operator.adapters.cluster.admission import MOST_NAMED
from toolcall_operator.api.base import GROUP

POLICIES = Path(__file__).parents[2] / admission.FILE
AGENTS = "agentidentities"
OURS = f"toolcalls spiceboxsessions {AGENTS}"
OWN, VICTIM, AGENT = "own", "victim", "agent"
"""A session that anybody may use, one that is somebody's, and its identity."""

BOB, ALICE, CAROL = "bob", "alice", "carol"
"""Bob may read no Secret; Alice may read `mine` and use `hers`; Carol may read every Secret and use every identity."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may make, change and read calls, sessions and identities, and what else a role says."""

    kubectl: Kubectl
    name: str

    def tries(self, verb: str, *manifests: Object, flags: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """What comes of creating, applying or replacing objects."""
        return self.kubectl.attempt(verb, f"--as={self.name}", *flags, "--filename=-", stdin=as_list(manifests))

    def makes(self, *manifests: Object) -> None:
        """Create objects, which must be possible."""
        done = self.tries("create", *manifests)
        assert done.returncode == 0, done.stderr

    def patches(self, what: str, part: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
        """What comes of a merge patch."""
        return self.kubectl.attempt("patch", what, f"--as={self.name}", "--type=merge", f"--patch={json.dumps(part)}")


def a_source(name: str, namespace: str, type_: str = "static", **fields: object) -> Object:
    """A credential that comes from a Secret."""
    key = {"key": "token"} if type_ == "static" else {}
    source = {"type": type_, "namespace": namespace, "name": name, **key, **fields}
    return {"inject": {"envVar": "TOKEN"}, "source": source}


def a_named(identity: str) -> Object:
    """A credential that an AgentIdentity names."""
    return {"inject": {"envVar": "TOKEN"}, "identity": {"name": identity, "credential": "token"}}


def a_call(*credentials: Object, session: str = OWN, name: str = "", **spec: object) -> Object:
    """A call that is given credentials, under variables of their own."""
    given = [{**each, "inject": {"envVar": f"TOKEN_{index}"}} for index, each in enumerate(credentials)]
    name = name or f"call-{uuid.uuid4().hex[:8]}"
    return manifest(
        "ToolCall", name, {"session": session, "tool": "sh", "args": ["true"], "credentials": given, **spec}
    )


def a_block(secret: str, type_: str = "static", name: str = "token") -> Object:
    """A credential of an AgentIdentity."""
    ref = {"name": secret, "key": "token"} if type_ == "static" else {"name": secret}
    return {"name": name, "type": type_, type_: {"secretRef": ref}}


def an_identity(*blocks: Object, name: str = "") -> Object:
    """An AgentIdentity of these credentials."""
    return manifest("AgentIdentity", name or f"agent-{uuid.uuid4().hex[:8]}", {"credentials": list(blocks)})


def a_session(agent: str = "", name: str = "", of: str = "none") -> Object:
    """A session of a class, which works as an agent."""
    spec = {"class": of, **({"agent": agent} if agent else {})}
    return manifest("SpiceboxSession", name or f"session-{uuid.uuid4().hex[:8]}", spec)


def rights(person: str, *rules: Object) -> tuple[Object, Object]:
    """A role with these rules, which somebody has."""
    rbac, name = "rbac.authorization.k8s.io", f"locks-{person}"
    common = {"apiVersion": f"{rbac}/v1", "metadata": {"name": name}}
    subject = {"apiGroup": rbac, "kind": "User", "name": person}
    reference = {"apiGroup": rbac, "kind": "Role", "name": name}
    role = {**common, "kind": "Role", "rules": list(rules)}
    return role, {**common, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]}


def a_rule(group: str, resources: str, verbs: str, *names: str) -> Object:
    """A rule of a role; without names it is about all objects."""
    limits = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **limits}


def people(kubectl: Kubectl) -> Mapping[str, Person]:
    """Three people with the rights that their names stand for."""
    works = a_rule(GROUP, OURS, "create get list update patch")
    readable = ("mine", *(f"many-{number}" for number in range(MOST_NAMED)))
    kubectl.apply(
        *rights(BOB, works),
        *rights(ALICE, works, a_rule("", "secrets", "get", *readable), a_rule(GROUP, AGENTS, "use", "hers")),
        *rights(CAROL, works, a_rule("", "secrets", "get"), a_rule(GROUP, AGENTS, "use")),
    )
    return {name: Person(kubectl, name) for name in (BOB, ALICE, CAROL)}


@contextmanager
def locked(bob: Person) -> Iterator[None]:
    """The policies hold while the context is open; where they were there before, they stay."""
    everywhere = bob.kubectl
    were_there = all(
        everywhere.attempt("get", kind, name).returncode == 0
        for kind in ("validatingadmissionpolicy", "validatingadmissionpolicybinding")
        for name in admission.NAMES
    )
    everywhere("apply", f"--filename={POLICIES}")
    probes = [a_call(a_source("any", everywhere.namespace)), an_identity(a_block("any")), a_session("any")]
    try:
        until(lambda: [bob.tries("create", each, flags=["--dry-run=server"]).returncode for each in probes], all)
        yield
    finally:
        if not were_there:
            everywhere("delete", f"--filename={POLICIES}")
            until(
                lambda: [bob.tries("create", each, flags=["--dry-run=server"]).returncode for each in probes], is_open
            )


def is_open(codes: Sequence[int]) -> bool:
    """Whether nothing was refused."""
    return not any(codes)
