"""A team that uses the operator: one namespace, its classes, policies, sessions and calls, made and looked at."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hack.cluster import bundle
from tests.contract.pod import Images
from tests.e2e.operators import Operator
from tests.integration.pipeline import API_VERSION, Ended, Object
from tests.kubectl import Kubectl
from toolcall_operator.adapters.cluster import config
from toolcall_operator.adapters.cluster.config import Credentials
from toolcall_operator.adapters.cluster.resources import (
    CLASSES,
    EVENTS,
    NETWORK_POLICIES,
    PODS,
    SESSIONS,
    TOOLCALLS,
    TOOLKITS,
    TOOLSPECS,
    Address,
    Resource,
)

T = TypeVar("T")

LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 60.0
NOT_FOUND = 404
BUSYBOX = bundle.named("busybox")
RESOURCES = {"cpu": "1", "memory": "128Mi", "ephemeralStorage": "256Mi", "cacheSize": "64Mi"}
CLUSTER_WIDE = {"class": CLASSES, "toolkit": TOOLKITS, "toolspec": TOOLSPECS}
KINDS = {"toolcall": TOOLCALLS, "session": SESSIONS, "pod": PODS, "policy": NETWORK_POLICIES, **CLUSTER_WIDE}


class Refused(AssertionError):
    """The API server refuses a request; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


def until(look: Callable[[], T], holds: Callable[[T], object] = bool, seconds: float = PATIENCE_SECONDS) -> T:
    """What is seen once it is as it should be; looked at again and again, but not for ever."""
    end = time.monotonic() + seconds
    while not holds(found := look()):
        assert time.monotonic() < end, f"after {seconds:g} s still {found}"
        time.sleep(LOOK_SECONDS)
    return found


@dataclass
class Team:
    """One namespace; the names of what is the whole cluster's are made its own.

    It asks over one connection: a kubectl for every look would cost more than what is looked at.
    """

    kubectl: Kubectl
    cluster_wide: list[Address] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """Its name."""
        return self.kubectl.namespace

    # Making -----------------------------------------------------------------------------------------------------------
    def a_class(self, name: str, image: str, *tools: Object, **spec: object) -> str:
        """Make a class, and return the name it has in the cluster."""
        address = self.address("class", name)
        made = {"image": image, "resources": RESOURCES, "tools": list(tools), **spec}
        self.cluster_wide.append(address)
        self.make(CLASSES, {"metadata": {"name": address.name}, "spec": made})
        return address.name

    def class_name(self, name: str) -> str:
        """The name that a class of this team, or a toolkit or toolspec, has in the cluster."""
        return f"{self.namespace}-{name}"

    def apply(self, *manifests: Object) -> None:
        """Apply manifests with kubectl."""
        kinds = {"SpiceboxClass": CLASSES, "SpiceboxToolkit": TOOLKITS, "SpiceboxToolspec": TOOLSPECS}
        for each in manifests:
            if each["kind"] in kinds:
                self.cluster_wide.append(kinds[each["kind"]].named(each["metadata"]["name"]))
        self.kubectl.apply(*manifests)

    def a_session(self, name: str, of: str, metadata: Mapping[str, object] | None = None, **spec: object) -> str:
        """Make a session of one of the team's classes."""
        made = {"metadata": {"name": name, **(metadata or {})}, "spec": {"class": self.class_name(of), **spec}}
        self.make(SESSIONS, made)
        return name

    def a_call(
        self,
        name: str,
        session: str,
        tool: str,
        *args: str,
        metadata: Mapping[str, object] | None = None,
        **spec: object,
    ) -> str:
        """Make a call."""
        asked = {"session": session, "tool": tool, **({"args": list(args)} if args else {}), **spec}
        self.make(TOOLCALLS, {"metadata": {"name": name, **(metadata or {})}, "spec": asked})
        return name

    def make(self, resource: Resource, manifest: Mapping[str, Any]) -> Object:
        """Make an object."""
        kind = {TOOLCALLS: "ToolCall", SESSIONS: "SpiceboxSession", CLASSES: "SpiceboxClass"}.get(resource, "")
        typed = {"apiVersion": API_VERSION, "kind": kind, **manifest}
        made: Object = self.ask("POST", resource.within("" if resource is CLASSES else self.namespace), typed)
        return made

    # Looking ----------------------------------------------------------------------------------------------------------
    def get(self, kind: str, name: str) -> Object:
        """An object as it is now."""
        found: Object = self.ask("GET", self.address(kind, name))
        return found

    def find(self, kind: str, name: str) -> Object | None:
        """The same, or None when there is none."""
        try:
            return self.get(kind, name)
        except Refused as refused:
            if refused.status == NOT_FOUND:
                return None
            raise

    def all(self, kind: str, **selectors: str) -> list[Object]:
        """All objects of a kind."""
        query = "&".join(f"{name}={value}" for name, value in selectors.items())
        items: list[Object] = self.ask("GET", KINDS[kind].within(self.namespace), query=query)["items"]
        return items

    def warnings(self, name: str) -> list[str]:
        """The reasons of the Events about an object."""
        return [event["reason"] for event in self._events(name)]

    def told(self, name: str) -> str:
        """The messages of the Events about an object."""
        return "\n".join(event["message"] for event in self._events(name))

    def ended(self, name: str, seconds: float = PATIENCE_SECONDS) -> Ended:
        """A call once it has ended."""
        found = until(lambda: self.get("toolcall", name), lambda call: call.get("status", {}).get("finished"), seconds)
        return Ended(found)

    def running(self, name: str) -> Object:
        """A call once it is claimed."""
        return until(
            lambda: self.get("toolcall", name), lambda call: condition(call, "Running").get("status") == "True"
        )

    def shows(self, kind: str, name: str, type_: str, seconds: float = PATIENCE_SECONDS, **fields: object) -> Object:
        """A condition of an object once it has these fields."""
        return until(
            lambda: condition(self.get(kind, name), type_),
            lambda found: {**found, **fields} == found,
            seconds,
        )

    def ready(self, name: str, seconds: float = PATIENCE_SECONDS) -> Object:
        """A session once it is ready."""
        self.shows("session", name, "Ready", seconds, status="True")
        return self.get("session", name)

    def gone(self, kind: str, name: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Return once an object is no more."""
        until(lambda: self.find(kind, name), lambda found: found is None, seconds)

    def _events(self, name: str) -> list[Object]:
        query = f"fieldSelector=involvedObject.name={name}"
        items: list[Object] = self.ask("GET", EVENTS.within(self.namespace), query=query)["items"]
        return items

    # Changing ---------------------------------------------------------------------------------------------------------
    def change(self, kind: str, name: str, part: Mapping[str, Any]) -> Object:
        """Change an object by a merge patch."""
        changed: Object = self.ask("PATCH", self.address(kind, name), part, content="application/merge-patch+json")
        return changed

    def delete(self, kind: str, name: str, grace: int | None = None) -> None:
        """Delete an object, without waiting for its end."""
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        self.ask("DELETE", self.address(kind, name), options)

    def address(self, kind: str, name: str) -> Address:
        """Where an object is; a class is named as the team names it."""
        if kind in CLUSTER_WIDE:
            return CLUSTER_WIDE[kind].named(self.class_name(name))
        return KINDS[kind].named(name, self.namespace)

    def clear(self) -> None:
        """Delete what of the team's does not go with its namespace, and ask no more."""
        for address in self.cluster_wide:
            with suppress(Refused):
                self.ask("DELETE", address)
        self._connection.close()

    # Asking -----------------------------------------------------------------------------------------------------------
    def ask(
        self,
        method: str,
        address: Address,
        body: Mapping[str, Any] | None = None,
        *,
        query: str = "",
        content: str = "application/json",
    ) -> Any:  # noqa: ANN401 (objects have every shape)
        """What the API server answers; asked once more when it has closed the connection in the meantime."""
        path = f"{address.path}?{query}" if query else address.path
        headers = {"Content-Type": content, **self._authorization}
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, headers)
            answer = self._connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()
            self._connection.request(method, path, text, headers)
            answer = self._connection.getresponse()
        read = json.loads(answer.read())
        if answer.status >= http.client.BAD_REQUEST:
            raise Refused(answer.status, str(read.get("message")))
        return read

    @cached_property
    def _credentials(self) -> Credentials:
        return asyncio.run(config.source("", "", os.environ).load())

    @property
    def _authorization(self) -> dict[str, str]:
        text = self._credentials.authorization
        return {"Authorization": text} if text else {}

    @cached_property
    def _connection(self) -> http.client.HTTPSConnection:
        server = urlsplit(self._credentials.server)
        return http.client.HTTPSConnection(
            server.hostname or "", server.port, timeout=30, context=self._credentials.context
        )


def condition(found: Object, type_: str) -> Object:
    """A condition of an object; empty when it has none of this type."""
    conditions = found.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == type_), {})


def a_tool(name: str, *command: str, **fields: object) -> Object:
    """A tool of a class."""
    return {"name": name, "command": list(command), **fields}


@contextmanager
def served(kubectl: Kubectl, images: Images, folder: Path, **settings: str) -> Iterator[tuple[Team, Operator]]:
    """A team with an operator of its own, which has time to let go of everything at the end."""
    team = Team(kubectl)
    variables = {f"TOOLCALL_{name.upper()}": value for name, value in settings.items()}
    operator = Operator(kubectl, images, folder, variables)
    with ExitStack() as held:
        held.callback(team.clear)
        held.callback(operator.stop)
        operator.start()
        held.callback(operator.clear)
        yield team, operator
