"""A client for people's runs: it applies manifests of any kind as `kubectl apply --server-side` does, and watches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import pydantic_core

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import objections, watch
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Credentials, Source
from toolcall_operator.adapters.cluster.objections import NotTaken, Objection
from toolcall_operator.adapters.cluster.resources import TOOLCALLS, Address, Resource
from toolcall_operator.adapters.cluster.transport import Refused, Request
from toolcall_operator.adapters.cluster.watch import Change
from toolcall_operator.api.base import API_VERSION
from toolcall_operator.api.toolcall import ToolCall

MANAGER = "toolcall"
"""The field manager that owns what was applied."""

_APPLY = urlencode({"fieldManager": MANAGER, "fieldValidation": "Strict"})
_APPLIED = "application/apply-patch+yaml"
_WATCH = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "60"}
_SILENCE_SECONDS = 75.0
"""A watch that is silent for longer than it was asked to last has lost its connection, though nobody told us."""
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class _Kinds(Address):
    """The list of the kinds that a group and version has."""

    @property
    def path(self) -> str:
        """The path of its URL."""
        return self.resource.within().path.rstrip("/")

    def __str__(self) -> str:
        return f"the kinds of {self.resource.group or 'the core'}"


class Applier(Client):
    """The API server, as the user of a kubeconfig; `namespace` is where objects go that name none.

    An apply is asked for again only where the API server said that nothing was done: a call that was applied twice,
    and deleted in between, would run twice.
    """

    def __init__(self, source: Source, credentials: Credentials, namespace: str = "") -> None:
        super().__init__(source, credentials)
        self._namespace = namespace
        self._kinds: dict[str, Mapping[str, tuple[str, bool]]] = {}

    @classmethod
    @asynccontextmanager
    async def opened(cls, source: Source, namespace: str = "") -> AsyncIterator[Applier]:
        """The API server of `source`, while the context is open; `namespace` is used instead of the source's.

        Raises:
            Unavailable: there are no credentials that could be used.
        """
        applier = cls(source, await source.load(), namespace)
        try:
            yield applier
        finally:
            await applier.aclose()

    @property
    def namespace(self) -> str:
        """Where objects go that name no namespace."""
        return self._namespace or super().namespace

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._credentials.server

    async def expect_calls(self) -> None:
        """Return when the cluster knows ToolCalls.

        Raises:
            Rejected: it does not.
            Unavailable: it could not be reached.
        """
        try:
            known = await self._discovered(API_VERSION)
        except errors.Unavailable as error:
            raise errors.Unavailable(f"{self.server}: {error}") from error
        if ToolCall.__name__ not in known:
            raise errors.Rejected(
                f"{self.server} knows no ToolCalls: apply the CustomResourceDefinitions of crds/ first"
            )

    async def apply(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the cluster hold the object, and return it as it does.

        Raises:
            NotTaken: the API server will not have it.
            Unavailable: it could not be reached; whether it took the object is not known.
        """
        address = await self._address(manifest)
        return await self._told(Request("patch", address, _APPLY, pydantic_core.to_json(manifest), _APPLIED))

    async def version(self, namespace: str) -> str:
        """The version of the calls of a namespace, from which they can be watched."""
        listed = await self._told(Request("list", TOOLCALLS.within(namespace), "limit=1"))
        return str(listed["metadata"]["resourceVersion"])

    async def changes(self, namespace: str, version: str, fields: str = "") -> AsyncIterator[Change]:
        """What happens to the calls of a namespace after that version, for ever; `fields` selects some of them.

        Raises:
            OperatorError: the watch broke, or the version is too old: it has to be begun again.
        """
        while True:
            query = urlencode(_WATCH | {"resourceVersion": version, "fieldSelector": fields})
            try:
                async with self._stream(
                    Request("list", TOOLCALLS.within(namespace), query), _SILENCE_SECONDS
                ) as chunks:
                    async for line in watch.lines(chunks):
                        event = watch.read(line)
                        version = event.version
                        if isinstance(event, Change):
                            yield event
            except Refused as refused:
                raise objections.error(refused.refusal) from None

    async def call(self, namespace: str, name: str) -> Mapping[str, Any]:
        """A call as it stands.

        Raises:
            Gone: there is none.
        """
        return await self.get(TOOLCALLS.named(name, namespace))

    async def cancel(self, namespace: str, name: str, uid: str) -> None:
        """Set spec.cancel of a call, if it still is the one with this UID."""
        same = {"op": "test", "path": "/metadata/uid", "value": uid}
        cancel = {"op": "add", "path": "/spec/cancel", "value": True}
        await self.patch(TOOLCALLS.named(name, namespace), pydantic_core.to_json([same, cancel]))

    async def _address(self, manifest: Mapping[str, Any]) -> Address:
        """Where an object of this kind is kept; a kind that was not there before may have been made in the meantime."""
        api_version, kind, metadata = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
        if kind not in self._kinds.get(api_version, {}):
            self._kinds[api_version] = await self._discovered(api_version)
        if kind not in self._kinds[api_version]:
            raise NotTaken(Objection("kind", f"is not known to the cluster: {kind} of {api_version}"))
        plural, namespaced = self._kinds[api_version][kind]
        namespace = str(metadata.get("namespace") or self.namespace) if namespaced else ""
        return _resource(api_version, plural).named(metadata["name"], namespace)

    async def _discovered(self, api_version: str) -> Mapping[str, tuple[str, bool]]:
        """The kinds of a group and version: how URLs name each, and whether it has namespaces."""
        try:
            answer = await self._told(Request("get", _Kinds(_resource(api_version, ""))))
        except NotTaken as refused:
            if refused.status != _NOT_FOUND:
                raise
            return {}
        return {
            str(resource["kind"]): (str(resource["name"]), bool(resource["namespaced"]))
            for resource in answer["resources"]
            if "/" not in resource["name"]
        }

    async def _told(self, request: Request) -> dict[str, Any]:
        """The object that the API server answers with.

        Raises:
            NotTaken: it objects to what is asked.
            Unavailable: it does not answer.
        """
        try:
            read: dict[str, Any] = pydantic_core.from_json(await self._exchange(request))
        except Refused as refused:
            raise objections.error(refused.refusal) from None
        except ValueError as error:
            raise errors.Unavailable("the API server answered something that cannot be read") from error
        return read


def _resource(api_version: str, plural: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    return Resource(quote(group), quote(version), plural)
