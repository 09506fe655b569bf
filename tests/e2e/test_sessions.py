"""The life of a session on a cluster: how its sandbox comes to be, is kept, is lost and replaced, and goes."""

from __future__ import annotations

import base64
import hashlib
import io
import ipaddress
import itertools
import socket
import tarfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from tests.contract.pod import Images
from tests.e2e.audit import AGENT, Audit
from tests.e2e.team import BUSYBOX, RESOURCES, Refused, Team, a_tool, condition, served, until
from tests.integration.pipeline import API_VERSION, Object
from tests.kubectl import Kubectl
from toolcall_operator.core.pod.podspec import INTERNAL_RANGES

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

TOOL = "/bin/tool"
MiB = 1024**2
WRONG_DIGEST = f"sha256:{'0' * 64}"
SETTLED_SECONDS = 90
"""A new leader finds no session idle in its first minute."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The team, what the API server was asked, and the digest of the archive that a session mounts by another."""

    team: Team
    audit: Audit
    digest: str

    def inside(self, session: str, *words: str) -> str:
        """What the test tool prints in a session's pod of now, as the supervisor's equal: in no call."""
        return self.team.kubectl("exec", self.pod(session), "--", TOOL, *words)

    def pod(self, session: str) -> str:
        """The pod of a session that is ready."""
        name: str = self.team.ready(session)["status"]["podName"]
        return name

    def asleep(self, name: str, session: str) -> Object:
        """A call that runs for long."""
        self.team.a_call(name, session, "tool", "sleep", "5m", timeout="10m")
        return self.team.running(name)


def archive(team: Team, name: str, content: bytes) -> str:
    """A ConfigMap with an archive of one file, and the digest of the archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("folder/file")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    binary = {"bundle.tar.gz": base64.b64encode(packed.getvalue()).decode()}
    team.kubectl.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "binaryData": binary})
    return f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"


def mount(name: str, path: str, config_map: str, **fields: str) -> Object:
    return {"name": name, "mountPath": path, "source": {"configMapRef": {"name": config_map}}, **fields}


def agent_session(name: str) -> Object:
    """An owner of a kind that this cluster does not know: its collector of garbage then takes nothing away."""
    return {"apiVersion": API_VERSION, "kind": "AgentSession", "name": name, "uid": str(uuid.uuid4())}


def classes(team: Team, image: str, digest: str) -> None:
    """What the sessions here are made from."""
    tool, quick = a_tool("tool", TOOL), {"terminationGracePeriod": "500ms"}
    script = a_tool("sh", "sh", "-c")
    mounts = [
        mount("skills", "/skills", "of-class", format="tarGz", digest=digest),
        mount("raw", "/raw", "raw"),
    ]
    team.a_class(
        "plain", image, tool, mounts=mounts, privateVolumes=[{"name": "home", "mountPath": "/home/me"}], **quick
    )
    team.a_class("bare", image, tool, resources={**RESOURCES, "memory": "64Mi"}, **quick)
    team.a_class("single", image, tool, limits={"maxConcurrentCalls": 1}, **quick)
    team.a_class("shut", BUSYBOX, script)
    team.a_class("open", BUSYBOX, script, network={"mode": "allowlist"})
    team.a_class("unpulled", "127.0.0.1:9/no-such-image:1", tool)  # nobody listens there
    team.a_class("invalid", image, tool, envDefaults={"API_KEY": "a"})
    team.a_class("theirs", image, tool, allowedNamespaces={"matchLabels": {"team": "other"}})


def sessions(team: Team) -> None:
    """All at once: what takes its time is looked at last."""
    for name, ttl in (("idle", "2s"), ("used", "2s"), ("busy", "2s")):
        team.a_session(name, "bare", idleTTL=ttl)
    owner = {**agent_session("agent"), "controller": True, "blockOwnerDeletion": False}
    team.a_session("owned", "unpulled", {"ownerReferences": [owner]}, idleTTL="1s", maxDuration="1s")
    team.a_session("missing", "later")
    team.a_session("main", "plain", mounts=[mount("more", "/more", "of-session", format="tarGz")])
    for name in ("lost", "starved"):
        team.a_session(name, "bare")
    team.a_session("old", "bare", maxDuration="20s")
    team.a_session("ending", "single")
    for name in ("shut", "open", "unpulled", "invalid", "theirs"):
        team.a_session(name, name)
    team.a_session("unsupported", "bare", scopes=["files"])
    wrong = mount("wrong", "/wrong", "of-session", format="tarGz", digest=WRONG_DIGEST)
    team.a_session("digest", "bare", mounts=[wrong])


@pytest.fixture(scope="module")
def stage(kubectl: Kubectl, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder, audit = tmp_path_factory.mktemp("operator"), Audit.from_now()
    with served(kubectl, images, folder) as (team, _):
        kubectl("create", "configmap", "raw", "--from-literal=file=of the ConfigMap")
        digest = archive(team, "of-class", b"of the class\n")
        of_session = archive(team, "of-session", b"of the session\n")
        classes(team, images.tool, digest)
        sessions(team)
        team.a_call("using", "used", "tool", "echo", "a")
        team.a_call("keeping", "busy", "tool", "sleep", "5m", timeout="10m")
        team.a_call("aging", "old", "tool", "sleep", "5m", timeout="10m")
        yield Stage(team, audit, of_session)


# How a sandbox comes to be --------------------------------------------------------------------------------------------
def test_its_status_says_what_and_where_the_sandbox_is(stage: Stage) -> None:
    session = stage.team.ready("main")
    status, pod = session["status"], stage.team.get("pod", "main-pod")

    assert status["podName"] == "main-pod"
    sandbox = status["sandbox"]
    assert (sandbox["kind"], sandbox["ref"]) == ("pod", f"{stage.team.namespace}/main-pod")
    assert sandbox["podUID"] == pod["metadata"]["uid"]
    assert sandbox["bootID"]
    assert sandbox["supervisorVersion"]
    assert (sandbox["isolation"] == "Landlock") == (sandbox["landlockABI"] >= 6)
    assert condition(session, "NetworkEnforced")["status"] == "True"
    assert condition(session, "Progressing")["status"] == "False"
    assert status["observedGeneration"] == session["metadata"]["generation"]
    assert status["resolvedClass"]["tools"][0]["name"] == "tool"


def test_its_pod_is_stored_as_promised(stage: Stage) -> None:
    stage.team.ready("main")
    pod = stage.team.get("pod", "main-pod")
    spec, session = pod["spec"], stage.team.get("session", "main")

    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("SpiceboxSession", session["metadata"]["uid"], True)
    assert pod["metadata"]["labels"] == {
        "agentprimitives.authzed.com/session": "main",
        "agentprimitives.authzed.com/class": stage.team.class_name("plain"),
    }
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"], spec["restartPolicy"]) == (
        False,
        False,
        "Never",
    )
    assert not {"shareProcessNamespace", "hostNetwork", "hostPID", "hostIPC"} & set(spec)
    user = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), 1000)
    assert spec["securityContext"] == {**user, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"] == {**confined, "readOnlyRootFilesystem": True}
        assert not {"readinessProbe", "livenessProbe", "startupProbe"} & set(container)
    disks = [volume["emptyDir"] for volume in spec["volumes"] if "emptyDir" in volume]
    assert all("sizeLimit" in disk for disk in disks)
    assert not [volume for volume in spec["volumes"] if "projected" in volume or "secret" in volume]
    assert stage.inside("main", "show", "/proc/1/comm") == "supervisor\n"


def test_its_policy_was_there_before_its_pod(stage: Stage) -> None:
    stage.team.ready("main")
    policy, pod = stage.team.get("policy", "main-sandbox"), stage.team.get("pod", "main-pod")

    assert policy["metadata"]["creationTimestamp"] <= pod["metadata"]["creationTimestamp"]
    made = [
        each.resource
        for each in stage.audit.about(stage.team.namespace)
        if each.verb == "create"
        and each.url.split("?")[0].rsplit("/", 1)[-1] in {"pods", "networkpolicies"}
        and each.agent.startswith(AGENT)
        and each.name in {"main-pod", "main-sandbox"}
    ]
    assert made[:2] == ["networkpolicies", "pods"]  # the policy is asked for again and again, in case it was taken away


def test_a_tool_of_an_image_without_anything_reads_what_class_and_session_mount(stage: Stage) -> None:
    for number, path in enumerate(("/skills/folder/file", "/more/folder/file", "/raw/file")):
        stage.team.a_call(f"reads-{number}", "main", "tool", "show", path)

    told = [stage.team.ended(f"reads-{number}").output() for number in range(3)]

    assert told == [b"of the class\n", b"of the session\n", b"of the ConfigMap"]


def test_an_archive_with_another_digest_makes_no_sandbox_and_both_are_told(stage: Stage) -> None:
    told = stage.team.shows("session", "digest", "Ready", status="False", reason="PodStuck")["message"]

    assert WRONG_DIGEST in told
    assert stage.digest in told


def test_a_mount_of_nothing_is_refused_by_its_field(stage: Stage) -> None:
    with pytest.raises(Refused, match=r"spec\.mounts\[0\]\.source\.configMapRef"):
        stage.team.a_session("nothing", "bare", mounts=[{"name": "a", "mountPath": "/a", "source": {}}])


def test_the_class_is_kept_as_it_was_when_the_session_came_to_be(stage: Stage) -> None:
    stage.team.ready("main")
    changed = [a_tool("tool", TOOL, "args", defaultArgs=["changed"])]

    stage.team.change("class", "plain", {"spec": {"tools": changed}})
    stage.team.shows("class", "plain", "Valid", status="True", observedGeneration=2)

    assert stage.team.ended(stage.team.a_call("frozen", "main", "tool", "echo", "as it was")).output() == b"as it was\n"


@pytest.mark.parametrize(
    ("session", "reason", "says"),
    (
        ("invalid", "ClassInvalid", "spec.envDefaults.API_KEY"),
        ("theirs", "ClassNotAllowed", "spec.allowedNamespaces"),
        ("unsupported", "NotSupported", "spec.scopes"),
    ),
)
def test_a_session_that_cannot_be_fails_and_its_calls_at_once(
    stage: Stage, session: str, reason: str, says: str
) -> None:
    told = stage.team.shows("session", session, "Failed", status="True", reason=reason)

    assert says in told["message"]
    call = stage.team.ended(stage.team.a_call(f"of-{session}", session, "tool", "echo", "a"))
    assert call.end == "Failed/SessionNotActive"
    assert says in call.message
    assert stage.team.find("pod", f"{session}-pod") is None
    assert reason in until(lambda: stage.team.warnings(session))


def test_an_image_that_cannot_be_pulled_shows_as_progress_that_is_held_up(stage: Stage) -> None:
    told = stage.team.shows("session", "unpulled", "Progressing", status="True", reason="PodPending")["message"]

    assert "its image cannot be pulled" in told
    assert condition(stage.team.get("session", "unpulled"), "Ready")["status"] == "False"


def test_a_class_that_is_missing_is_told_and_when_it_comes_the_session_goes_on(stage: Stage, images: Images) -> None:
    told = stage.team.shows("session", "missing", "Failed", status="True", reason="ClassMissing")["message"]

    stage.team.a_class("later", images.tool, a_tool("tool", TOOL))

    assert stage.team.class_name("later") in told
    assert not condition(stage.team.ready("missing"), "Failed")


# What a tool may reach ------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def api_server(kubectl: Kubectl) -> str:
    """What answers at port 443 inside the cluster."""
    address: str = replace(kubectl, namespace="default").get("service", "kubernetes")["spec"]["clusterIP"]
    return address


@pytest.fixture(scope="module")
def outside() -> Iterator[str]:
    """An address that sandboxes count as outside, with a web server of this machine."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.connect(("198.51.100.1", 9))  # nothing is sent: this only asks which address of ours would be used
        address = probe.getsockname()[0]
    ranges = [ipaddress.ip_network(each) for each in INTERNAL_RANGES if ":" not in each]
    if any(ipaddress.ip_address(address) in each for each in ranges):
        pytest.skip(f"no outside to reach: this machine's address {address} is internal")
    try:
        server = socket.create_server((address, 80))
    except OSError as error:
        pytest.skip(f"no outside to reach: port 80 of {address} cannot be listened at: {error}")
    threading.Thread(target=answer, args=(server,), daemon=True).start()
    yield address
    server.close()


def answer(server: socket.socket) -> None:
    """Welcome whoever comes, until the server is closed."""
    while True:
        try:
            visitor, _ = server.accept()
        except OSError:
            return
        with visitor:
            visitor.recv(4096)
            visitor.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\nwelcome\n")


def reached(stage: Stage, session: str, script: str) -> str:
    """What a tool of the session says that tries to reach something."""
    name = f"reaches-{uuid.uuid4().hex[:8]}"
    return stage.team.ended(stage.team.a_call(name, session, "sh", f"{script} 2>&1; exit 0")).output().decode()


def fetch(address: str) -> str:
    # `wget -T` is not used: Debian 12's busybox crashes on it.
    return f"timeout 2 wget -q -O - http://{address}"


RESOLVE = "timeout 3 nslookup kubernetes.default.svc.cluster.local"
ANSWERED = "400 Bad Request"
"""What the API server says to those who do not speak TLS."""


def test_a_tool_with_an_allowlist_resolves_names_and_reaches_nothing_inside(stage: Stage, api_server: str) -> None:
    assert "Name:" in reached(stage, "open", RESOLVE)
    assert ANSWERED not in reached(stage, "open", fetch(f"{api_server}:443"))


def test_a_tool_with_an_allowlist_reaches_the_web_outside_and_one_without_does_not(stage: Stage, outside: str) -> None:
    assert reached(stage, "open", fetch(outside)) == "welcome\n"
    assert "welcome" not in reached(stage, "shut", fetch(outside))


def test_a_tool_of_mode_none_reaches_nothing_and_none_starts_while_its_policy_is_gone(
    stage: Stage, api_server: str
) -> None:
    assert "Name:" not in reached(stage, "shut", RESOLVE)
    assert ANSWERED not in reached(stage, "shut", fetch(f"{api_server}:443"))
    policy = stage.team.get("policy", "shut-sandbox")

    stage.team.delete("policy", "shut-sandbox")
    held = until(lambda: held_up(stage, "shut", f"{api_server}:443 can be reached"))

    made = {name: policy["metadata"][name] for name in ("name", "namespace", "labels", "ownerReferences")}
    stage.team.kubectl.apply({**policy, "metadata": made})
    assert stage.team.ended(held).output() == b"at last\n"


def held_up(stage: Stage, session: str, why: str) -> str:
    """The name of a call that is not started for this reason; empty if it ran."""
    name = stage.team.a_call(f"held-{uuid.uuid4().hex[:8]}", session, "sh", "echo at last")
    seen = until(
        lambda: stage.team.get("toolcall", name),
        lambda call: call.get("status", {}).get("finished") or why in str(condition(call, "ReconcileRetrying")),
    )
    return "" if seen["status"].get("finished") else name


# How it is lost, and replaced -----------------------------------------------------------------------------------------
def told_to_stop(stage: Stage, pod: str) -> None:
    stage.team.delete("pod", pod)


def broken_down(stage: Stage, _pod: str) -> None:
    stage.inside("lost", "signal", "1", "3")  # the Go runtime ends at a QUIT


def forgotten(stage: Stage, pod: str) -> None:
    stage.team.delete("pod", pod, grace=0)


def drained(stage: Stage, pod: str) -> None:
    """As `kubectl drain` does it."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    stage.team.ask("POST", stage.team.address("pod", pod).part("eviction"), eviction)


LOSSES: tuple[tuple[str, Callable[[Stage, str], None], set[str]], ...] = (
    ("deleted", told_to_stop, {"Failed/SandboxTerminating"}),
    ("drained", drained, {"Failed/Evicted"}),
    ("broken", broken_down, {"Failed/SandboxGone"}),
    # Whoever is heard first: the API server or the supervisor.
    ("forgotten", forgotten, {"Failed/SandboxGone", "Failed/SandboxTerminating"}),
)


@pytest.mark.parametrize(("how", "lose", "ends"), LOSSES, ids=[how for how, _, _ in LOSSES])
def test_a_lost_sandbox_ends_its_calls_and_is_replaced(
    stage: Stage, how: str, lose: Callable[[Stage, str], None], ends: set[str]
) -> None:
    before = stage.team.ready("lost")["status"]
    stage.asleep(f"when-{how}", "lost")

    lose(stage, before["podName"])

    call = stage.team.ended(f"when-{how}")
    assert call.end in ends
    assert "exitCode" not in call.status
    assert call.status["dispatch"]["podName"] == before["podName"]
    replaced = until(lambda: stage.team.ready("lost")["status"], lambda found: found["podName"] != before["podName"])
    assert replaced["restarts"] == before.get("restarts", 0) + 1
    assert replaced["podName"] == f"lost-pod-{replaced['restarts'] + 1}"
    after = stage.team.ended(stage.team.a_call(f"after-{how}", "lost", "tool", "echo", "again"))
    assert after.output() == b"again\n"


def test_a_sandbox_that_dies_of_its_memory_says_so_and_its_calls_end_for_want_of_memory(stage: Stage) -> None:
    """The supervisor ends the call first when it sees the want in time; the sandbox dies all the same."""
    stage.asleep("starving", "starved")

    files = (f"/dev/shm/{number}" for number in itertools.count())  # noqa: S108 (in the sandbox)

    def full() -> bool:
        """Filled by one process after the other: the kernel may take those that fill it before the supervisor."""
        stage.team.kubectl.attempt("exec", stage.pod("starved"), "--", TOOL, "fill", next(files), str(64 * MiB))
        return "SandboxOOMKilled" in stage.team.told("starved")

    until(full)
    assert stage.team.ended("starving").end in {"Failed/OOMKilled", "Failed/SandboxOOMKilled"}


# What its calls did ---------------------------------------------------------------------------------------------------
def test_what_its_calls_did_is_counted_and_when(stage: Stage) -> None:
    before = stage.team.ready("main")["status"].get("callCount", 0)
    calls = [
        stage.team.ended(stage.team.a_call(f"counted-{number}", "main", "tool", "echo", "a")) for number in range(3)
    ]

    status = until(
        lambda: stage.team.get("session", "main")["status"], lambda found: found.get("callCount", 0) >= before + 3
    )

    assert datetime.fromisoformat(status["lastActivityAt"]) >= datetime.fromisoformat(calls[-1].status["startedAt"])


# How it ends ----------------------------------------------------------------------------------------------------------
def test_a_deleted_session_ends_its_calls_and_leaves_nothing(stage: Stage) -> None:
    stage.asleep("in-flight", "ending")
    stage.team.a_call("queued", "ending", "tool", "echo", "a")
    stage.team.shows("toolcall", "queued", "Running", reason="Queued")

    stage.team.delete("session", "ending")

    assert stage.team.ended("in-flight").end == "Canceled/SessionTerminated"
    queued = stage.team.ended("queued")
    assert queued.end == "Failed/SessionGone"
    assert queued.refused()
    for kind, name in (("session", "ending"), ("pod", "ending-pod"), ("policy", "ending-sandbox")):
        stage.team.gone(kind, name)


def test_a_session_whose_pod_is_gone_already_is_deleted_all_the_same(stage: Stage) -> None:
    stage.team.ready("missing")
    stage.team.delete("session", "missing")
    stage.team.delete("pod", "missing-pod", grace=0)

    stage.team.gone("session", "missing")


def test_a_session_that_is_too_old_ends_with_what_runs_in_it(stage: Stage) -> None:
    assert stage.team.ended("aging").end == "Canceled/SessionTerminated"
    stage.team.gone("session", "old")


def test_idle_sessions_are_deleted_and_no_others(stage: Stage) -> None:
    stage.team.gone("session", "idle", SETTLED_SECONDS)
    stage.team.gone("session", "used", SETTLED_SECONDS)

    assert condition(stage.team.get("toolcall", "keeping"), "Running")["status"] == "True"
    stage.team.change("toolcall", "keeping", {"spec": {"cancel": True}})
    stage.team.gone("session", "busy")
    assert stage.team.find("session", "owned") is not None
    assert not condition(stage.team.get("session", "owned"), "Terminated")
    assert stage.team.find("session", "main") is not None
