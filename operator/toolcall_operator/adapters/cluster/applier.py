"""A client for people's runs: it applies manifests of any kind as `kubectl apply --server-side` does, and watches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import pydantic_core
from yarl import URL

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import objections, watch
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.config import Credentials, Source
from toolcall_operator.adapters.cluster.objections import NotTaken, Objection
from toolcall_operator.adapters.cluster.resources import TOOLCALLS, Address, Resource
from toolcall_operator.adapters.cluster.watch import Change
from toolcall_operator.api.base import API_VERSION

MANAGER = "toolcall"
"""The field manager that owns what was applied."""

_APPLY = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
_WATCH = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": "60"}
_PATIENCE = aiohttp.ClientTimeout(total=30, sock_connect=10)
_LISTENING = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=75)
"""A watch that is silent for longer than it was asked to last has lost its connection, though nobody told us."""

_LARGEST_ANSWER = 16 << 20
_SUCCESSES = range(200, 300)
_UNAUTHORIZED, _NOT_FOUND = 401, 404


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of the API server."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    timeout: aiohttp.ClientTimeout = _PATIENCE


class Applier(Client):
    """The API server, as the user of a kubeconfig. An apply is sent once: who sends it twice may run a call twice."""

    def __init__(self, source: Source, credentials: Credentials, namespace: str = "") -> None:
        super().__init__(source, credentials)
        self._namespace = namespace
        self._kinds: dict[str, Mapping[str, tuple[str, bool]]] = {}

    @classmethod
    @asynccontextmanager
    async def opened(cls, source: Source, namespace: str = "") -> AsyncIterator[Applier]:
        """The API server of `source`, while the context is open; `namespace` is used instead of the kubeconfig's.

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

    async def apply(self, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the cluster hold the object, and return it as it does; one that names no namespace goes to `namespace`.

        Raises:
            NotTaken: the API server will not have it.
            Unavailable: it could not be reached; whether it took the object is not known.
        """
        path = (await self._address(manifest)).path
        applied: Mapping[str, Any] = await self._told(_Question("PATCH", path, _APPLY, pydantic_core.to_json(manifest)))
        return applied

    async def expect_calls(self) -> None:
        """Return when the cluster knows ToolCalls.

        Raises:
            Rejected: it does not.
            Unavailable: it could not be reached.
        """
        if "ToolCall" not in await self._discovered(API_VERSION):
            raise errors.Rejected(
                f"{self.server} does not know ToolCalls: apply the CustomResourceDefinitions of crds/ to it first"
            )

    async def version(self, namespace: str) -> str:
        """The version of the calls of a namespace, from which they can be watched."""
        listed = await self._told(_Question("GET", TOOLCALLS.within(namespace).path, {"limit": "1"}))
        return str(listed["metadata"]["resourceVersion"])

    async def changes(self, namespace: str, version: str) -> AsyncIterator[Change]:
        """What happens to the calls of a namespace after that version, for ever.

        Raises:
            Unavailable: the watch broke, or the version is too old: it has to be begun again.
        """
        path = TOOLCALLS.within(namespace).path
        while True:
            question = _Question("GET", path, _WATCH | {"resourceVersion": version}, timeout=_LISTENING)
            async with self._answer(question) as answer:
                async for line in watch.lines(answer.content.iter_any()):
                    event = watch.read(line)
                    version = event.version
                    if isinstance(event, Change):
                        yield event

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
        group, _, version = api_version.rpartition("/")
        namespace = str(metadata.get("namespace") or self.namespace) if namespaced else ""
        return Resource(group, version, plural).named(metadata["name"], namespace)

    async def _discovered(self, api_version: str) -> Mapping[str, tuple[str, bool]]:
        """The kinds of a group and version: how URLs name each, and whether it has namespaces."""
        root = "apis" if "/" in api_version else "api"
        try:
            answer = await self._told(_Question("GET", f"/{root}/{quote(api_version)}"))
        except NotTaken as refused:
            if refused.status != _NOT_FOUND:
                raise
            return {}
        return {
            str(resource["kind"]): (str(resource["name"]), bool(resource["namespaced"]))
            for resource in answer["resources"]
            if "/" not in resource["name"]
        }

    async def _told(self, question: _Question) -> Any:  # noqa: ANN401 - the API server's answers have every shape
        """The answer, read as JSON."""
        async with self._answer(question) as answer:
            body = await _read(answer)
        try:
            return pydantic_core.from_json(body)
        except ValueError as error:
            raise errors.Unavailable("the API server answered something that cannot be read") from error

    @asynccontextmanager
    async def _answer(self, question: _Question) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer that is no refusal; credentials that are not known any more are renewed once.

        Raises:
            NotTaken: the API server objects to what is asked.
            Unavailable: it could not be reached, or broke off while the context was open.
        """
        used = self._current()
        try:
            answer = await self._ask(question, used)
            if answer.status == _UNAUTHORIZED:
                answer.release()
                await self._renew(used)
                answer = await self._ask(question, self._current())
            async with answer:
                if answer.status not in _SUCCESSES:
                    raise objections.error(answer.status, await _read(answer))
                yield answer
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise errors.Unavailable(f"{self.server} does not answer: {_why(error)}") from error

    async def _ask(self, question: _Question, credentials: Credentials) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json"}
        if question.body is not None:
            headers["Content-Type"] = "application/apply-patch+yaml"
        if credentials.authorization:
            headers["Authorization"] = credentials.authorization
        return await self._streams.request(
            question.method,
            URL(f"{credentials.server}{question.path}?{urlencode(question.query)}", encoded=True),
            data=question.body,
            headers=headers,
            timeout=question.timeout,
            allow_redirects=False,
            ssl=credentials.context,
            server_hostname=credentials.server_name,
            proxy=credentials.proxy,
        )


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    """The body, unless it is too long to be of any use."""
    body = b""
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            raise errors.Unavailable("the API server's answer is too long")
    return body


def _why(error: Exception) -> str:
    """The operating system's word, or the kind of fault alone: a library's text may hold the request."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    words = error.strerror if isinstance(error, OSError) else None
    return errors.foreign(words or "") or type(error).__name__
