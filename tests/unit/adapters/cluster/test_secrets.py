"""Secrets as the API server is asked for them: what is sent, what each answer means, and that no value shows."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest
from aiohttp import web

from tests.logged import logged
from tests.unit.adapters.cluster import answering
from tests.unit.adapters.cluster.answering import Answering, refused, said
from toolcall_operator import errors
from toolcall_operator.adapters.cluster.client import Client
from toolcall_operator.adapters.cluster.resources import SECRETS
from toolcall_operator.adapters.cluster.secrets import KubernetesSecrets
from toolcall_operator.adapters.cluster.transport import Request
from toolcall_operator.core.credentials.secrets import SecretObject

OLD, NEW = "ghp_TheOldOne1234567890", "ghp_TheNewOne0987654321"
FORMS = [form for each in (OLD, NEW) for form in (each, base64.b64encode(each.encode()).decode(), each.encode().hex())]
"""A value as it is, and as it would be in a manifest."""
NO_RIGHT = 'secrets "token" is forbidden: User "me" cannot get resource "secrets" in API group "" in the namespace "a"'
KNOWN = SecretObject("space", "token", "uid-1", "41", data={"token": OLD.encode(), "expires_at": b"soon"})


def manifest(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    """A Secret as the API server shows it."""
    metadata = {"name": "token", "namespace": "space", "uid": "uid-1", "resourceVersion": "41"}
    data = {"token": base64.b64encode(OLD.encode()).decode()}
    return {"kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data, **fields}


def with_metadata(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of metadata)
    return manifest(metadata={**manifest()["metadata"], **fields})


@pytest.fixture
def server() -> Answering:
    return Answering([said(200, manifest())])


@pytest.fixture
async def client(server: Answering) -> AsyncIterator[Client]:
    async with answering.served(server) as client:
        yield client


@pytest.fixture
def secrets(client: Client) -> KubernetesSecrets:
    return KubernetesSecrets(client)


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test of this module may have a value in the log, at any level."""
    caplog.set_level(logging.DEBUG)
    yield
    assert shown(logged(caplog)) == []


def shown(text: str) -> list[str]:
    """The forms of values that a text holds."""
    return [form for form in FORMS if form in text]


def told(error: BaseException) -> str:
    """Everything that an error can say of itself and of what led to it."""
    return f"{error!r} {error} {''.join(traceback.format_exception(error, chain=True))}"


class TestReading:
    async def test_one_secret_is_asked_for_by_its_name(self, secrets: KubernetesSecrets, server: Answering) -> None:
        await secrets.read("space", "token")

        assert [(asked.method, asked.url) for asked in server.asked] == [
            ("GET", "/api/v1/namespaces/space/secrets/token")
        ]

    async def test_everything_that_matters_is_read(self, secrets: KubernetesSecrets, server: Answering) -> None:
        owner = {"apiVersion": "agentprimitives.authzed.com/v1alpha1", "kind": "SpiceboxSession"}
        owners = [{**owner, "name": "s", "uid": "u", "controller": True, "blockOwnerDeletion": True}]
        whole = with_metadata(labels={"a": "b"}, ownerReferences=owners)
        server.answers = [said(200, {**whole, "type": "kubernetes.io/tls", "immutable": True})]

        found = await secrets.read("space", "token")

        assert found is not None
        assert (found.namespace, found.name, found.uid, found.resource_version) == ("space", "token", "uid-1", "41")
        assert (found.type, found.labels, found.immutable) == ("kubernetes.io/tls", {"a": "b"}, True)
        assert [(each.kind, each.name, each.uid) for each in found.owners] == [("SpiceboxSession", "s", "u")]
        assert found.data == {"token": OLD.encode()}
        assert shown(f"{found!r} {found}") == []

    async def test_the_least_that_a_secret_can_be_is_read(self, secrets: KubernetesSecrets, server: Answering) -> None:
        server.answers = [said(200, {"metadata": manifest()["metadata"]})]

        found = await secrets.read("space", "token")

        assert found == SecretObject("space", "token", "uid-1", "41")

    async def test_one_that_is_not_there_is_none(self, secrets: KubernetesSecrets, server: Answering) -> None:
        server.answers = [refused(404, 'secrets "token" not found', "token")]

        assert await secrets.read("space", "token") is None

    @pytest.mark.parametrize(
        ("answer", "kind", "says"),
        (
            pytest.param(
                refused(403, NO_RIGHT), errors.Rejected, r"no right to get secrets space/token", id="no right"
            ),
            pytest.param(refused(404, "no such path"), errors.Unavailable, "HTTP 404", id="no such kind"),
            pytest.param(refused(500, "etcd is gone"), errors.Unavailable, "HTTP 500", id="broken"),
            pytest.param(web.Response(body=OLD.encode()), errors.Unavailable, "no object", id="no JSON"),
            pytest.param(said(200, {"kind": OLD}), errors.Unavailable, "something else", id="no Secret"),
            pytest.param(said(200, manifest(data=[OLD])), errors.Unavailable, "something else", id="data is a list"),
            pytest.param(said(200, manifest(data={"a": "ü"})), errors.Unavailable, "something else", id="no ASCII"),
            pytest.param(said(200, manifest(data={"a": f"{OLD}!"})), errors.Unavailable, "something", id="no base64"),
            pytest.param(said(200, manifest(data={"a": [OLD]})), errors.Unavailable, "something else", id="no text"),
            pytest.param(
                said(200, with_metadata(ownerReferences=[OLD])), errors.Unavailable, "something", id="odd owners"
            ),
            pytest.param(said(200, manifest(pad="x" * (17 << 20))), errors.Unavailable, "too long", id="without end"),
        ),
    )
    async def test_what_cannot_be_read_has_its_error_and_shows_nothing(
        self,
        secrets: KubernetesSecrets,
        server: Answering,
        answer: web.Response,
        kind: type[errors.OperatorError],
        says: str,
    ) -> None:
        server.answers = [answer]

        with pytest.raises(errors.OperatorError, match=says) as raised:
            await secrets.read("space", "token")

        assert type(raised.value) is kind
        assert shown(told(raised.value)) == []


class TestWriting:
    async def test_a_write_names_what_it_is_for_and_the_keys_it_changes(
        self, secrets: KubernetesSecrets, server: Answering
    ) -> None:
        after = {"token": base64.b64encode(NEW.encode()).decode()}
        server.answers = [said(200, {**with_metadata(resourceVersion="42"), "data": after})]

        written = await secrets.write(KNOWN, {"token": NEW.encode(), "expires_at": None})

        [asked] = server.asked
        assert (asked.method, asked.url) == ("PATCH", "/api/v1/namespaces/space/secrets/token")
        assert asked.headers["Content-Type"] == "application/merge-patch+json"
        assert asked.json == {
            "metadata": {"uid": "uid-1", "resourceVersion": "41"},
            "data": {**after, "expires_at": None},
        }
        assert written == SecretObject("space", "token", "uid-1", "42", data={"token": NEW.encode()})
        assert shown(repr(written)) == []

    @pytest.mark.parametrize(
        ("answers", "kind", "says"),
        (
            pytest.param([refused(409, NEW), said(200, manifest())], errors.Superseded, "meanwhile", id="changed"),
            pytest.param(
                [refused(409, NEW), said(200, with_metadata(uid="uid-2"))], errors.Gone, "another", id="made anew"
            ),
            pytest.param(
                [refused(422, NEW), said(200, with_metadata(uid="uid-2"))], errors.Gone, "another", id="another UID"
            ),
            pytest.param([refused(409, NEW), refused(404, "", "token")], errors.Gone, "another", id="gone since"),
            pytest.param([refused(404, "", "token")], errors.Gone, "is not there", id="gone"),
            pytest.param(
                [refused(422, f"data: {NEW}"), said(200, manifest(immutable=True))],
                errors.Rejected,
                r"cannot patch secrets space/token \(HTTP 422\)",
                id="immutable",
            ),
            pytest.param(
                [refused(403, NO_RIGHT), said(200, manifest())],
                errors.Rejected,
                r"no right to patch secrets space/token \(HTTP 403\)",
                id="no right to write",
            ),
            pytest.param([refused(403, NO_RIGHT)], errors.Rejected, "no right to patch", id="nor to read"),
            pytest.param(
                [refused(400, f'admission webhook "w" denied the request: {NEW}'), said(200, manifest())],
                errors.Rejected,
                "HTTP 400",
                id="a webhook that quotes",
            ),
            pytest.param([refused(409, NEW), refused(500, "broken")], errors.Unavailable, "HTTP 500", id="not known"),
            pytest.param([refused(500, f"broken: {NEW}")], errors.Unavailable, "HTTP 500", id="broken"),
            pytest.param([said(200, {"kind": NEW})], errors.Unavailable, "something else", id="no Secret"),
        ),
    )
    async def test_what_cannot_be_written_has_its_error_and_shows_nothing(
        self,
        secrets: KubernetesSecrets,
        server: Answering,
        answers: list[web.Response | answering.Handler],
        kind: type[errors.OperatorError],
        says: str,
    ) -> None:
        server.answers = answers

        with pytest.raises(errors.OperatorError, match=says) as raised:
            await secrets.write(KNOWN, {"token": NEW.encode()})

        assert type(raised.value) is kind
        assert shown(told(raised.value)) == []

    async def test_who_does_not_lead_any_more_writes_nothing(
        self, client: Client, secrets: KubernetesSecrets, server: Answering
    ) -> None:
        client.may_write = lambda: False

        with pytest.raises(errors.Unavailable, match="somebody else may lead"):
            await secrets.write(KNOWN, {"token": NEW.encode()})

        assert server.asked == []


@pytest.mark.parametrize("verb", ("create", "update", "patch"))
def test_a_request_does_not_show_what_it_carries(verb: str) -> None:
    request = Request(verb, SECRETS.named("token", "space"), body=NEW.encode())

    assert shown(repr(request)) == []


async def test_a_secret_that_cannot_be_made_is_told_without_its_value(client: Client, server: Answering) -> None:
    server.answers = [refused(422, f"data: Invalid value: {NEW}")]
    body: Mapping[str, Any] = {"metadata": {"name": "token"}, "data": {"token": NEW}}

    with pytest.raises(errors.Rejected, match=r"cannot create secrets space \(HTTP 422\)") as raised:
        await client.create(SECRETS.within("space"), body)

    assert shown(told(raised.value)) == []
