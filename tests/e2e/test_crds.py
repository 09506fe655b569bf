"""Our kinds on a real API server: what it refuses and how it words it, and how kubectl shows them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubectl import Kubectl

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

ROOT = Path(__file__).resolve().parents[2]
GROUP = "agentprimitives.authzed.com/v1alpha1"
EXAMPLES = ROOT / "examples" / "quickstart"
HASH = "0" * 64


def manifest(kind: str, name: str, /, **spec: object) -> dict[str, Any]:
    """A manifest of ours."""
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}


def toolcall(**spec: object) -> dict[str, Any]:
    """A good ToolCall, but for what is given."""
    return manifest("ToolCall", "call", **({"session": "demo", "tool": "echo"} | spec))


def spiceboxclass(**spec: object) -> dict[str, Any]:
    """A good SpiceboxClass, but for what is given."""
    resources = {"cpu": "1", "memory": "1Gi", "ephemeralStorage": "1Gi"}
    tools = [{"name": "echo", "command": ["echo"]}]
    return manifest("SpiceboxClass", "class", **({"image": "image", "resources": resources, "tools": tools} | spec))


def session(**spec: object) -> dict[str, Any]:
    """A good SpiceboxSession, but for what is given."""
    return manifest("SpiceboxSession", "session", **({"class": "class"} | spec))


def toolkit(**spec: object) -> dict[str, Any]:
    """A good SpiceboxToolkit, but for what is given."""
    fields = {
        "name": "say",
        "toolkitRevision": "1",
        "target": {"binary": "say"},
        "parser": {"kind": "declarative"},
        "env": {"allowed": []},
        "subcommands": [],
    }
    return manifest("SpiceboxToolkit", "toolkit", **(fields | spec))


def toolspec(**spec: object) -> dict[str, Any]:
    """A good SpiceboxToolspec, but for what is given."""
    fields = {"name": "all", "version": "1", "toolkit": {"name": "say", "revision": "1"}, "allowSubcommands": []}
    return manifest("SpiceboxToolspec", "toolspec", **(fields | spec))


STATIC = {"name": "forge", "type": "static", "static": {"secretRef": {"name": "forge", "key": "token"}}}
OAUTH = {"name": "mail", "type": "oauth", "oauth": {"secretRef": {"name": "mail"}}}
APP = {"name": "app", "type": "githubApp", "githubApp": {"secretRef": {"name": "app"}, "repositories": ["docs"]}}


def identity(*credentials: object, **spec: object) -> dict[str, Any]:
    """A good AgentIdentity, but for what is given."""
    return manifest("AgentIdentity", "identity", **({"credentials": list(credentials or (STATIC, OAUTH, APP))} | spec))


MOUNT = {"name": "files", "mountPath": "/files", "source": {"configMapRef": {"name": "files"}}}


def source(**source: object) -> list[dict[str, Any]]:
    """Credentials of one reference, whose place is given."""
    return [{"source": {"type": "static", "namespace": "n", "name": "n", "key": "k"}, "inject": source}]


REFUSED = {
    "a mode there is none": (toolcall(mode="batch"), "spec.mode", 'Unsupported value: "batch"'),
    "a duration in words": (toolcall(timeout="10 minutes"), "spec.timeout", "should match"),
    "a duration of nothing": (toolcall(timeout="0s"), "spec.timeout", "must be more than 0s and at most 24h"),
    "a duration of more than a day": (toolcall(timeout="25h"), "spec.timeout", "must be more than 0s and at most 24h"),
    "too many arguments": (toolcall(args=["a"] * 1025), "spec.args", "must have at most 1024 items"),
    "a negative time to live": (toolcall(ttlSecondsAfterFinished=-1), "spec.ttlSecondsAfterFinished", "greater than"),
    "a call of no session": (toolcall(session=None), "spec.session", "Required value"),
    "a name longer than a label": (toolcall(session="s" * 53), "spec.session", "Too long"),
    "a field there is none": (toolcall(sesion="demo"), "spec.sesion", "unknown field"),
    "a stream without the hash of its token": (toolcall(mode="stream"), "spec.streamTokenHash", "is required when"),
    "a terminal without the hash of its token": (
        toolcall(mode="interactive"),
        "spec.streamTokenHash",
        "is required when mode is stream or interactive",
    ),
    "a hash that is none": (toolcall(mode="stream", streamTokenHash="abc"), "spec.streamTokenHash", "should match"),
    "an idle timeout of a call that no one types into": (
        toolcall(idleTimeout="1m"),
        "spec.idleTimeout",
        "can be set only when mode is interactive",
    ),
    "a credential with two places": (
        toolcall(credentials=source(envVar="A", header={"name": "B"})),
        "spec.credentials[0].inject",
        "exactly one of envVar and header",
    ),
    "a credential without a place": (
        toolcall(credentials=source()),
        "spec.credentials[0].inject",
        "exactly one of envVar and header",
    ),
    "a tool that is two": (
        spiceboxclass(tools=[{"name": "t", "command": ["t"], "service": {"name": "s", "path": "/"}}]),
        "spec.tools[0]",
        "exactly one of command, service and http",
    ),
    "a tool that is nothing": (
        spiceboxclass(tools=[{"name": "t"}]),
        "spec.tools[0]",
        "exactly one of command, service and http",
    ),
    "a class that keeps too much output": (
        spiceboxclass(limits={"outputBytes": "65Mi"}),
        "spec.limits.outputBytes",
        "must be at most 64Mi",
    ),
    "a toolspec that does not say which subcommands it allows": (
        toolspec(allowSubcommands=None),
        "spec.allowSubcommands",
        "Required value",
    ),
    "a parser there is none of": (toolkit(parser={"kind": "guess"}), "spec.parser.kind", "Unsupported value"),
    "the same variable twice": (
        toolkit(env={"allowed": [{"name": "A"}, {"name": "A"}]}),
        "spec.env.allowed[1]",
        "Duplicate value",
    ),
    "a credential with the block of another type": (
        identity({**STATIC, "type": "oauth"}),
        "spec.credentials[0]",
        "needs exactly one of static, oauth and githubApp, the one its type names",
    ),
    "a credential with two blocks": (
        identity({**STATIC, **OAUTH}),
        "spec.credentials[0]",
        "needs exactly one of static, oauth and githubApp, the one its type names",
    ),
    "a federated credential of an identity": (
        identity({**STATIC, "type": "federated"}),
        "spec.credentials[0].type",
        'Unsupported value: "federated"',
    ),
    "two credentials of one name": (identity(STATIC, {**OAUTH, "name": "forge"}), "spec.credentials[1]", "Duplicate"),
    "a host with a path": (
        identity({**STATIC, "allowedHosts": ["forge.example/a"]}),
        "spec.credentials[0].allowedHosts[0]",
        "should match",
    ),
    "tokens that are renewed too early": (identity(refreshThreshold="169h"), "spec.refreshThreshold", "at most 168h"),
    "half an owner": (session(owner={"app": "a"}), "spec.owner", "needs either app and user, or issuer and subject"),
}


@pytest.mark.parametrize(("bad", "field", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_manifest_is_refused_by_the_name_of_its_field(
    kubectl: Kubectl, bad: dict[str, Any], field: str, why: str
) -> None:
    said = kubectl.refusal("create", "--dry-run=server", "--filename=-", stdin=json.dumps(bad))

    assert field in said
    assert why in said


@pytest.mark.parametrize(
    "good",
    (
        *(toolcall(mode="stream", streamTokenHash=HASH), spiceboxclass(), session(), toolkit(), toolspec()),
        *(identity(), identity(description="Nobody's yet.", credentials=[])),
    ),
)
def test_a_good_manifest_is_taken(kubectl: Kubectl, good: dict[str, Any]) -> None:
    kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(good))


@pytest.fixture
def call(kubectl: Kubectl) -> Iterator[Kubectl]:
    """One ToolCall, which the API server has taken."""
    kubectl.apply(toolcall(args=["one"]))
    yield kubectl
    kubectl("delete", "toolcall", "call")


def patch(**fields: object) -> tuple[str, ...]:
    """The command that changes fields of the call's spec."""
    return ("patch", "toolcall", "call", "--type=merge", f"--patch={json.dumps({'spec': fields})}")


def patch_status(**fields: object) -> tuple[str, ...]:
    """The command that changes fields of the call's status."""
    document = json.dumps({"status": fields})
    return ("patch", "toolcall", "call", "--type=merge", "--subresource=status", f"--patch={document}")


@pytest.mark.parametrize(
    ("field", "value"), (("tool", "other"), ("args", ["two"]), ("env", {"A": "b"}), ("timeout", "2m"))
)
def test_what_a_call_asks_for_cannot_be_changed(call: Kubectl, field: str, value: object) -> None:
    said = call.refusal(*patch(**{field: value}))

    assert f"spec.{field} cannot be changed" in said


def test_a_canceled_call_cannot_go_on(call: Kubectl) -> None:
    call(*patch(cancel=True))

    assert "spec.cancel" in call.refusal(*patch(cancel=False))
    assert "spec.cancel" in call.refusal(*patch(cancel=None))


def test_a_call_is_claimed_once(call: Kubectl) -> None:
    def claim(boot: str) -> tuple[str, ...]:
        dispatch = {"podName": "pod", "podUID": "1", "bootID": boot, "operator": "me", "epoch": 1}
        return patch_status(dispatch=dispatch | {"at": "2026-01-01T00:00:00Z"})

    call(*claim("first"))

    assert "status.dispatch" in call.refusal(*claim("second"))
    assert "status.dispatch" in call.refusal(*patch_status(dispatch=None))


def test_a_call_that_has_ended_cannot_be_canceled_any_more(call: Kubectl) -> None:
    call(*patch_status(finished=True))

    assert "spec.cancel comes too late" in call.refusal(*patch(cancel=True))
    call("label", "toolcall", "call", "still=editable")


def test_a_finished_call_stays_finished(call: Kubectl) -> None:
    call(*patch_status(finished=True))

    assert "status.finished" in call.refusal(*patch_status(finished=False))
    assert call("get", "toolcalls", "--field-selector=status.finished=true", "--output=name").split() == [
        "toolcall.agentprimitives.authzed.com/call"
    ]


@pytest.mark.parametrize(
    ("field", "value", "later"),
    (
        ("class", "other", "third"),
        ("agent", "one", "another"),
        ("agent", "one", None),
        ("mounts", [MOUNT], None),
        ("toolspecs", [{"name": "a"}], [{"name": "b"}]),
        ("toolspecs", [], None),
        ("toolConfig", {"repositories": ["a"]}, {"repositories": ["a", "b"]}),
        ("toolConfig", {"repositories": ["a"]}, {"repositories": None}),
        ("toolConfig", {"repositories": ["a"]}, None),
    ),
)
def test_a_session_keeps_what_it_is_bound_to(kubectl: Kubectl, field: str, value: object, later: object) -> None:
    name = f"bound-{uuid.uuid4().hex[:8]}"
    kubectl.apply(session() | {"metadata": {"name": name}})
    changed = ("patch", "spiceboxsession", name, "--type=merge", f"--patch={json.dumps({'spec': {field: value}})}")
    kubectl(*changed)
    bound = {"resolvedClass": spiceboxclass()["spec"]}
    kubectl(
        *("patch", "spiceboxsession", name, "--subresource=status", "--type=merge"),
        f"--patch={json.dumps({'status': bound})}",
    )

    kubectl("label", "spiceboxsession", name, "still=editable")
    again = {"spec": {field: later}}
    said = kubectl.refusal("patch", "spiceboxsession", name, "--type=merge", f"--patch={json.dumps(again)}")

    assert f"spec.{field}" in said


def test_an_empty_allow_list_is_kept_as_one(kubectl: Kubectl) -> None:
    kubectl.apply(toolspec(allow={"network": {"destinations": []}}))

    kept = kubectl.get("spiceboxtoolspec", "toolspec")["spec"]["allow"]
    kubectl("delete", "spiceboxtoolspec", "toolspec")

    assert kept["network"] == {"destinations": []}


def test_columns_and_wait_show_how_a_call_ended(call: Kubectl) -> None:
    now = "2026-01-01T00:00:00Z"
    ended = {"status": "True", "reason": "NonZeroExit", "message": "exit code 7", "lastTransitionTime": now}
    running = ended | {"type": "Running", "status": "False"}
    call(*patch_status(finished=True, exitCode=7, conditions=[running, ended | {"type": "Finished"}]))

    header, row = call("get", "toolcall", "call").splitlines()

    assert header.split() == ["NAME", "SESSION", "TOOL", "STATUS", "EXIT", "AGE"]
    assert row.split()[:5] == ["call", "demo", "echo", "NonZeroExit", "7"]
    call("wait", "--for=condition=Finished", "toolcall/call", "--timeout=5s")


def test_columns_show_whether_an_identity_is_valid_and_why_not(kubectl: Kubectl) -> None:
    kubectl.apply(identity())
    found = {"type": "Valid", "status": "False", "reason": "SecretMissing", "message": "there is none"}
    status = {"conditions": [found | {"lastTransitionTime": "2026-01-01T00:00:00Z"}], "observedGeneration": 1}
    document = json.dumps({"status": status})
    kubectl("patch", "agid", "identity", "--type=merge", "--subresource=status", f"--patch={document}")

    header, row = kubectl("get", "agid", "identity", "--output=wide").splitlines()
    narrow = kubectl("get", "agentidentities", "identity").splitlines()[0]
    kubectl("delete", "agentidentity", "identity")

    assert header.split() == ["NAME", "VALID", "AGE", "REASON"]
    assert (row.split()[0], row.split()[1], row.split()[-1]) == ("identity", "False", "SecretMissing")
    assert narrow.split() == ["NAME", "VALID", "AGE"]


def definitions() -> list[dict[str, Any]]:
    """The committed CRDs."""
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "crds").glob("*.yaml"))]


@pytest.mark.parametrize("definition", definitions(), ids=lambda definition: definition["spec"]["names"]["singular"])
def test_a_kind_goes_by_its_short_name_and_its_categories(kubectl: Kubectl, definition: dict[str, Any]) -> None:
    names = definition["spec"]["names"]

    for category in names["categories"]:
        known = kubectl("api-resources", f"--categories={category}", "--no-headers").splitlines()
        row = next(line.split() for line in known if line.startswith(f"{names['plural']} "))
        assert row[1] == ",".join(names["shortNames"])
    kubectl("get", names["shortNames"][0])


@pytest.mark.parametrize("definition", definitions(), ids=lambda definition: definition["spec"]["names"]["singular"])
@pytest.mark.parametrize("part", ("spec", "status"))
def test_explain_tells_every_field(kubectl: Kubectl, definition: dict[str, Any], part: str) -> None:
    told = kubectl("explain", f"{definition['spec']['names']['singular']}.{part}", "--recursive")

    fields = told.partition("FIELDS:\n")[2].splitlines()
    shown = [line.partition("\t")[0] for line in fields if "\t" in line]
    version = definition["spec"]["versions"][0]
    assert shown == list(tree(version["schema"]["openAPIV3Schema"]["properties"][part]))


def tree(schema: dict[str, Any], indent: str = "  ") -> Iterator[str]:
    """The names of all fields below a schema, as explain indents them."""
    properties = schema.get("items", schema).get("properties", {})
    for name, field in sorted(properties.items()):
        yield f"{indent}{name}"
        yield from tree(field, f"{indent}  ")


@pytest.fixture(params=["--server-side", "--server-side=false"], ids=["server-side", "client-side"])
def applied(request: pytest.FixtureRequest, kubectl: Kubectl) -> Iterator[tuple[Kubectl, str]]:
    """The quickstart's manifests, applied in one of the two ways there are."""
    files = f"--filename={EXAMPLES}"
    kubectl("apply", request.param, "--recursive", files)
    yield kubectl, request.param
    kubectl("delete", "--recursive", files)


def test_what_was_applied_does_not_differ(applied: tuple[Kubectl, str]) -> None:
    kubectl, way = applied

    assert kubectl("diff", way, "--recursive", f"--filename={EXAMPLES}") == ""


def test_applying_again_changes_nothing(applied: tuple[Kubectl, str]) -> None:
    kubectl, way = applied
    files = ("--recursive", f"--filename={EXAMPLES}")
    before = [item["metadata"]["generation"] for item in kubectl.get(*files)["items"]]

    kubectl("apply", way, *files)

    assert before == [item["metadata"]["generation"] for item in kubectl.get(*files)["items"]]


def test_the_crds_themselves_do_not_differ(cluster: Kubectl) -> None:
    assert cluster("diff", "--server-side", f"--filename={ROOT / 'crds'}") == ""
