"""A cluster to measure on: a namespace, a class, an operator, and a client as fast as one can be."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hack.cluster import bundle
from tests import kubectl as kubectls
from tests.contract import pod, programs
from tests.e2e.operators import Operator
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.applier import Applier
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import TOOLCALLS

GROUP = "agentprimitives.authzed.com"
RESOURCES = {"cpu": "2", "memory": "1Gi", "ephemeralStorage": "2Gi"}
AUDIT = "log/audit.log"
BUSYBOX = f"{bundle.REGISTRY}/busybox:local"


@dataclass
class Site:
    """Where cluster rows are measured; `ends` are the times at which calls are seen finished."""

    kubectl: Kubectl
    operator: Operator
    client: Client
    ends: dict[str, asyncio.Future[float]] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """The namespace of the sessions and calls."""
        return self.kubectl.namespace

    async def create(self, name: str, session: str = "one", namespace: str = "", **spec: Any) -> None:  # noqa: ANN401 - fields of a manifest
        """Make a call of `true`."""
        namespace = namespace or self.namespace
        full = {"session": session, "tool": "true", **spec}
        await self.client.create(TOOLCALLS.within(namespace), manifest("ToolCall", name, full))

    async def finished(self, name: str) -> float:
        """When a call was seen finished."""
        return await self._end_of(name)

    async def watch(self) -> None:
        """See calls finish, for ever."""
        time = asyncio.get_running_loop().time
        async with Applier.opened(config.source("", "", os.environ)) as calls:
            version = await calls.version(self.namespace)
            async for change in calls.changes(self.namespace, version, "status.finished=true"):
                end = self._end_of(change.object["metadata"]["name"])
                if not end.done():
                    end.set_result(time())

    def _end_of(self, name: str) -> asyncio.Future[float]:
        return self.ends.setdefault(name, asyncio.get_running_loop().create_future())

    @property
    def plain(self) -> str:
        """A namespace without an operator."""
        return f"{self.namespace}-plain"

    def session(self, name: str) -> None:
        """Make a session and wait until it is ready."""
        self.kubectl.apply(manifest("SpiceboxSession", name, {"class": self.namespace}))
        self.kubectl("wait", "--for=condition=Ready", f"spiceboxsession/{name}", "--timeout=50s")


def manifest(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """One object of ours."""
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": dict(spec)}


def obstacle() -> str:
    """Why nothing can be measured on a cluster; empty if it can."""
    return kubectls.obstacle()


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Site]:
    """A namespace with an operator that leads in it, and a session `one` that is ready."""
    anywhere = Kubectl(kubectls.program() or "kubectl", "default")
    crds = Path(__file__).parents[2] / "crds"
    anywhere("apply", "--server-side", "--force-conflicts", f"--filename={crds}")
    namespace = f"bench-{uuid.uuid4().hex[:8]}"
    for each in (namespace, f"{namespace}-plain"):
        anywhere("create", "namespace", each)
    kubectl = Kubectl(anywhere.program, namespace)
    images = pod.loaded(programs.built(folder))
    tools = [{"name": "true", "command": ["true"]}, {"name": "head", "command": ["head"]}]
    spec = {"image": BUSYBOX, "resources": RESOURCES, "tools": tools, "limits": {"outputBytes": "64Mi"}}
    kubectl.apply(manifest("SpiceboxClass", namespace, spec))
    operator = Operator(kubectl, images, folder).start()
    client = await Client.open(config.source("", "", os.environ))
    site = Site(kubectl, operator, client)
    watching = asyncio.create_task(site.watch())
    try:
        site.session("one")
        yield site
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await client.aclose()
        with suppress(AssertionError, subprocess.TimeoutExpired):  # what is left goes with its namespace
            kubectl("delete", "spiceboxsessions", "--all", "--timeout=50s")
        operator.stop()
        kubectl("delete", "namespace", namespace, site.plain, "--wait=false")
        kubectl("delete", "spiceboxclass", namespace, "--ignore-not-found")


def audited(namespace: str, name: str) -> list[dict[str, Any]]:
    """What the audit log has of one call, but for what this process and kubectl asked; empty where there is no log."""
    log = Path(os.environ.get("KUBECONFIG", "")).parent / AUDIT
    if not log.exists():
        return []
    lines = (json.loads(line) for line in log.read_text().splitlines() if f'"{name}"' in line)
    return [
        each
        for each in lines
        if each.get("stage") == "ResponseComplete"
        and each.get("objectRef", {}).get("namespace") == namespace
        and each["objectRef"].get("name") == name
        and each["objectRef"].get("resource") == "toolcalls"
    ]
