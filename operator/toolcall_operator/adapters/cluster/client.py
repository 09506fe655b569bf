"""What can be asked of the API server, its refusals turned into errors of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pydantic_core

from toolcall_operator import errors
from toolcall_operator.adapters.cluster import refusals
from toolcall_operator.adapters.cluster.config import Source
from toolcall_operator.adapters.cluster.exec import SUBPROTOCOL, ExecStream
from toolcall_operator.adapters.cluster.resources import Address
from toolcall_operator.adapters.cluster.transport import JSON, Refused, Request, Transport

Objects = list[dict[str, Any]]

_PAGE = 500
_CONFLICT, _EXPIRED = 409, 410
_MERGE = "application/merge-patch+json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a collection, by label and field selectors, and how much of each."""

    labels: str = ""
    fields: str = ""
    metadata_only: bool = False


class Client(Transport):
    """The API server, as one identity; `aclose` ends its connections.

    Every method may raise Unavailable, and what `refusals` makes of an answer: Gone when what it is about is not there,
    Rejected for what is in the request, Superseded when somebody else's write came first. Nothing is asked twice but
    where the API server said that nothing was done; a write whose answer did not come may have been carried out.
    """

    @classmethod
    async def open(cls, source: Source) -> Client:
        """A client with the credentials of now; nothing is asked of the API server yet."""
        return cls(source, await source.load())

    @property
    def namespace(self) -> str:
        """The namespace that the credentials name."""
        return self._credentials.namespace

    async def connection_info(self) -> Mapping[str, Any]:
        """Fresh credentials in the words of `kopf.ConnectionInfo`."""
        await self._renew(self._credentials)
        return self._credentials.connection_info()

    async def get(self, address: Address) -> dict[str, Any]:
        """The object."""
        return _object(await self._send(Request("get", address)))

    async def list(self, address: Address, selection: Selection | None = None) -> Objects:
        """All objects of a collection, read in pages; when they changed too much meanwhile, in one long answer."""
        wanted = selection or Selection()
        try:
            return await self._pages(address, wanted, _PAGE)
        except Refused as refused:
            if refused.refusal.status != _EXPIRED:
                raise refusals.error("list", address, refused.refusal) from None
        try:
            return await self._pages(address, wanted, 0)
        except Refused as refused:
            raise refusals.error("list", address, refused.refusal) from None

    async def create(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Make the object in the collection `address`; Superseded when there is one of its name."""
        return _object(await self._send(Request("create", address, body=pydantic_core.to_json(manifest))))

    async def replace(self, address: Address, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Put another in the object's place; Superseded when it is not of the resourceVersion that `manifest` names."""
        return _object(await self._send(Request("update", address, body=pydantic_core.to_json(manifest))))

    async def patch(self, address: Address, operations: bytes) -> None:
        """Apply a JSON Patch, as bytes; the answer is passed over."""
        await self._patch(address, operations, "application/json-patch+json")

    async def merge(self, address: Address, part: Mapping[str, Any]) -> None:
        """Apply a merge patch; the answer is passed over."""
        await self._patch(address, pydantic_core.to_json(part), _MERGE)

    async def amend(self, address: Address, part: Mapping[str, Any]) -> dict[str, Any]:
        """Apply a merge patch that names the resourceVersion it is for, and return the object.

        Superseded when the object is of another one, or has another UID than `part` names, where it names one.
        """
        body = pydantic_core.to_json(part)
        request = Request("patch", address, body=body, content_type=_MERGE)
        try:
            return _object(await self._exchange(request))
        except Refused as refused:
            # A patch that names a resourceVersion is not tried again by the API server: its conflict is a newer word.
            if refused.refusal.status == _CONFLICT:
                raise errors.Superseded(f"cannot patch {address}: it was changed meanwhile") from None
            raise refusals.error("patch", address, refused.refusal) from None

    async def delete(self, address: Address, uid: str, grace: int | None = None) -> None:
        """Delete the object if it still has this UID (Superseded when it is another one); `grace` is in seconds."""
        options: dict[str, Any] = {"preconditions": {"uid": uid}}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        await self._send(Request("delete", address, body=pydantic_core.to_json(options), drained=True))

    async def exec(self, pod: Address, container: str, argv: Sequence[str]) -> ExecStream:
        """Start a program in a container of a pod; whether it starts shows on the stream.

        Raises:
            Unavailable: not now; a right that lacks is named.
            Gone: there is no such pod.
            Rejected: the pod has no such container.
        """
        flags = {"container": container, "stdin": "true", "stdout": "true", "stderr": "true", "command": list(argv)}
        query = urlencode(flags, doseq=True)
        address = pod.part("exec")
        try:
            socket = await self._websocket(address, query, SUBPROTOCOL)
        except Refused as refused:
            raise await self._explained(address, query, refused.refusal.status) from refused
        if socket.protocol != SUBPROTOCOL:
            await socket.close()
            raise errors.Unavailable(f"the API server does not speak {SUBPROTOCOL}; Kubernetes 1.30 and later do")
        return ExecStream(socket)

    async def _explained(self, address: Address, query: str, status: int) -> errors.OperatorError:
        """A refused handshake comes without its text: the same request in plain HTTP is refused with it."""
        refusal = refusals.Refusal(status)
        try:
            await self._exchange(Request("get", address, query, drained=True))
        except Refused as refused:
            refusal = refused.refusal if refused.refusal.status == status else refusal
        except errors.OperatorError:
            pass  # What is known already must do.
        return refusals.error("exec", address, refusal)

    async def _pages(self, address: Address, selection: Selection, page: int) -> Objects:
        items: Objects = []
        accept = _METADATA_LIST if selection.metadata_only else JSON
        query = {"labelSelector": selection.labels, "fieldSelector": selection.fields, "limit": str(page or "")}
        while True:
            words = urlencode({name: text for name, text in query.items() if text})
            answer = _object(await self._exchange(Request("list", address, words, accept=accept)))
            items += answer.get("items") or []
            query["continue"] = (answer.get("metadata") or {}).get("continue") or ""
            if not query["continue"]:
                return items

    async def _patch(self, address: Address, body: bytes, content_type: str) -> None:
        # The metadata alone is asked for: the whole object would cost both sides more than the patch itself.
        await self._send(Request("patch", address, "", body, content_type, _METADATA, drained=True))

    async def _send(self, request: Request) -> bytes:
        try:
            return await self._exchange(request)
        except Refused as refused:
            raise refusals.error(request.verb, request.address, refused.refusal) from None


def _object(body: bytes) -> dict[str, Any]:
    try:
        read = pydantic_core.from_json(body)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise errors.Unavailable("the API server answered something that is no object")
    return read
