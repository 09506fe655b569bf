"""Secrets of files, and those given from the environment: read as Kubernetes reads them, and shown nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core import examples
from toolcall_operator.api.parsing import Malformed
from toolcall_operator.core.credentials.secrets import CONSENT
from toolcall_operator.errors import Rejected
from toolcall_operator.local import manifests, secrets
from toolcall_operator.local.cluster import FileCluster
from toolcall_operator.local.lint import lint
from toolcall_operator.local.secrets import FileSecrets

VALUE = "ghp_ThisIsNoToken1234567890"


def document(**more: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of a manifest)
    metadata = {"name": "github", "namespace": "default", "uid": "1"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": VALUE}, **more}


def test_a_secret_is_read_from_text_and_from_base64() -> None:
    found = secrets.parsed(document(data={"other": "Z2hwXzE=", "token": "b2xk"}, type="kubernetes.io/basic-auth"))

    assert found.data == {"token": VALUE.encode(), "other": b"ghp_1"}
    assert (found.type, found.immutable) == ("kubernetes.io/basic-auth", True)
    assert VALUE not in repr(found)


WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("no name", {"metadata": {"namespace": "default", "uid": "1"}}, "metadata.name"),
    ("no metadata", {"metadata": None}, "metadata.name"),
    ("a label that is no text", {"metadata": {"name": "a", "namespace": "b", "uid": "c", "labels": {"d": True}}}, "d"),
    ("a number", {"stringData": {"token": 4711}}, "stringData.token"),
    ("text that is no base64", {"data": {"token": VALUE}}, "data.token"),
    ("data that is a list", {"data": [VALUE]}, "data"),
    ("a type that is no text", {"type": 1}, "type"),
)


@pytest.mark.parametrize(("wrong", "path"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_what_is_wrong_is_told_by_its_field_and_without_a_value(wrong: dict[str, Any], path: str) -> None:
    with pytest.raises(Malformed) as malformed:
        secrets.parsed(document(**wrong))

    assert path in str(malformed.value)
    assert VALUE not in str(malformed.value)
    assert "4711" not in str(malformed.value)


async def test_what_is_given_has_precedence_over_the_file_and_consents() -> None:
    kept = FileSecrets({("github", "token"): "given"})
    kept.put(secrets.parsed(document(stringData={"token": VALUE, "user": "me"})))

    found = await kept.read("default", "github")

    assert found is not None
    assert found.data == {"token": b"given", "user": b"me"}
    assert found.labels == {CONSENT: "true"}


async def test_what_is_given_is_there_in_every_namespace_and_nothing_else_is() -> None:
    kept = FileSecrets({("github", "token"): "given"})

    found = await kept.read("elsewhere", "github")

    assert found is not None
    assert found.namespace == "elsewhere"
    assert await kept.read("elsewhere", "gitlab") is None


async def test_a_file_is_not_written_to() -> None:
    kept = FileSecrets()

    with pytest.raises(Rejected):
        await kept.write(secrets.parsed(document()), {"token": b"new"})


async def test_a_cluster_of_documents_keeps_their_secrets_and_finds_nothing_wrong_with_them() -> None:
    cluster = FileCluster([manifests.unwritten("here", document())], lambda: examples.NOW)

    assert not cluster.findings
    assert await cluster.secrets.read("default", "github") is not None


def test_of_two_secrets_of_one_name_the_second_is_told_of() -> None:
    cluster = FileCluster([manifests.unwritten("here", document())] * 2, lambda: examples.NOW)

    assert "is taken" in str(cluster.findings[0])
    assert VALUE not in str(cluster.findings)


def test_lint_tells_what_is_wrong_with_a_secret_and_nothing_about_one_that_is_right() -> None:
    right, wrong = document(), document(data={"token": VALUE})

    found = lint([manifests.unwritten("here", each) for each in (right, wrong)])

    assert [each.path for each in found] == ["data.token"]
    assert VALUE not in str(found)


def test_base64_may_be_broken_into_lines() -> None:
    found = secrets.parsed(document(data={"token": "Z2hw\r\nXzE="}, stringData={}))

    assert found.data == {"token": b"ghp_1"}


def test_text_that_is_no_unicode_is_told_by_its_field() -> None:
    with pytest.raises(Malformed, match=r"stringData.token must be valid Unicode text"):
        secrets.parsed(document(stringData={"token": "\ud800x"}))


async def test_what_is_given_may_be_any_bytes() -> None:
    found = await FileSecrets({("github", "token"): "a\udcff"}).read("default", "github")

    assert found is not None
    assert found.data == {"token": b"a\xff"}
