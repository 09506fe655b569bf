"""The cluster is a real one: what the operator counts on is there and works."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hack.cluster import bundle
from tests.kubectl import Kubectl

pytestmark = pytest.mark.cluster


def pod(name: str, *command: str, **labels: str) -> dict[str, Any]:
    """A pod that runs one command, confined as sandboxes are."""
    confined = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": bundle.named("busybox"), "command": command, "securityContext": confined}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, **labels}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }


def soon(holds: Callable[[], bool], within: float = 15.0) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + within
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.fixture(scope="module")
def web(kubectl: Kubectl) -> Kubectl:
    """A web server as Service `web`, and two pods that may ask it: `closed` is under a policy that denies all."""
    deny = {"podSelector": {"matchLabels": {"app": "closed"}}, "policyTypes": ["Ingress", "Egress"]}
    service = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    kubectl.apply(
        {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"}, "spec": deny},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service},
        pod("web", "sh", "-c", "echo welcome >/tmp/index.html; exec httpd -f -p 8080 -h /tmp"),
        pod("open", "sleep", "infinity"),
        pod("closed", "sleep", "infinity"),
    )
    kubectl("wait", "--for=condition=Ready", "pod/web", "pod/open", "pod/closed", "--timeout=50s")
    return kubectl


def fetch(kubectl: Kubectl, client: str, url: str) -> str:
    """What a pod is answered; empty when it is not."""
    # `wget -T` is not used: Debian 12's busybox crashes on it.
    return kubectl.attempt("exec", client, "--", "timeout", "3", "wget", "-q", "-O", "-", url).stdout.strip()


def test_the_node_is_ready(cluster: Kubectl) -> None:
    conditions = [
        {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        for node in cluster.get("nodes")["items"]
    ]

    assert conditions
    assert all(node["Ready"] == "True" for node in conditions)


def test_a_pod_runs_to_its_end_and_its_output_can_be_read(kubectl: Kubectl) -> None:
    kubectl.apply(pod("once", "echo", "done and said"))

    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/once", "--timeout=50s")

    assert kubectl("logs", "once") == "done and said\n"


def test_exec_speaks_version_5_over_a_websocket(web: Kubectl) -> None:
    done = web.attempt("exec", "-i", "-v=8", "open", "--", "cat", stdin="there and back")

    assert done.stdout == "there and back"
    answer = done.stderr.partition("101 Switching Protocols")[2]
    assert "sec-websocket-protocol: v5.channel.k8s.io" in answer.lower()


def test_exec_returns_the_exit_code(web: Kubectl) -> None:
    assert web.attempt("exec", "open", "--", "sh", "-c", "exit 7").returncode == 7


def test_a_service_answers_by_its_name(web: Kubectl) -> None:
    name = f"http://web.{web.namespace}.svc.cluster.local"

    assert soon(lambda: fetch(web, "open", name) == "welcome")


def test_a_policy_that_denies_all_blocks_its_pod_and_no_other(web: Kubectl) -> None:
    server = f"http://{web.get('pod', 'web')['status']['podIP']}:8080"

    blocked = soon(lambda: not fetch(web, "closed", server))

    assert blocked
    assert fetch(web, "open", server) == "welcome"


def test_a_policy_that_denies_all_closes_the_api_server_too(web: Kubectl) -> None:
    def reaches(client: str) -> bool:
        knock = "timeout 3 nc $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null"
        return web.attempt("exec", client, "--", "sh", "-c", knock).returncode == 0

    assert soon(lambda: not reaches("closed"))
    assert reaches("open")


def test_the_audit_log_tells_every_request_and_no_secret(kubectl: Kubectl) -> None:
    log = Path(os.environ["KUBECONFIG"]).parent / "log" / "audit.log"
    if not log.exists():
        pytest.skip(f"this cluster keeps no audit log at {log}")
    kubectl("create", "configmap", "plain", "--from-literal=word=readable-value")
    kubectl("create", "secret", "generic", "hidden", "--from-literal=word=unreadable-value")

    def written() -> list[dict[str, Any]]:
        lines = [line for line in log.read_text(encoding="utf-8").splitlines() if kubectl.namespace in line]
        return [event for event in map(json.loads, lines) if event["verb"] == "create"]

    def about(name: str) -> list[dict[str, Any]]:
        return [event for event in written() if event["objectRef"].get("name") == name]

    assert soon(lambda: bool(about("plain")) and bool(about("hidden")))
    assert about("plain")[0]["requestObject"]["data"] == {"word": "readable-value"}
    assert "requestObject" not in about("hidden")[0]
    assert "dW5yZWFkYWJsZS12YWx1ZQ==" not in log.read_text(encoding="utf-8")  # the secret, as manifests spell it
