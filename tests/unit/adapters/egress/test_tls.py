"""Whose certificates are believed, and for which names."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.names import Names
from tests.unit.adapters.egress.serving import Server
from tests.unit.adapters.egress.ways import SECRET, SHORT, get, opened
from toolcall_operator import errors
from toolcall_operator.adapters.egress import trust
from toolcall_operator.core.exchange import Request

NAMES = Names({"idp.test": ["127.0.0.1"]})


@asynccontextmanager
async def certified(certificate: trustme.LeafCert) -> AsyncIterator[Server]:
    """A server that shows this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    async with serving.serving(tls=context) as server:
        yield server


async def status(url: str, trusted: Path | None) -> int:
    """What a server answers that is opened, when these CAs are believed."""
    async with opened(url, ca=trusted, names=NAMES) as egress:
        return (await egress.send(Request("POST", url, {"X-Token": SECRET}))).status


@pytest.fixture
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(tmp_path: Path, ca: trustme.CA) -> Path:
    """A file with that CA."""
    file = tmp_path / "ca.pem"
    ca.cert_pem.write_to_path(file)
    return file


async def test_a_certificate_is_verified_for_the_name_and_not_for_the_address(ca: trustme.CA, trusted: Path) -> None:
    async with certified(ca.issue_cert("idp.test")) as server:
        assert await status(server.named("idp.test"), trusted) == 200


async def test_an_address_can_have_a_certificate(ca: trustme.CA, trusted: Path) -> None:
    async with certified(ca.issue_cert("127.0.0.1")) as server:
        assert await status(server.origin, trusted) == 200


@pytest.mark.parametrize(
    ("issued_for", "host"),
    (
        pytest.param("other.test", "idp.test", id="another name"),
        pytest.param("127.0.0.1", "idp.test", id="the address instead of the name"),
        pytest.param("idp.test", "127.0.0.1", id="the name instead of the address"),
        pytest.param("test", "idp.test", id="the name's parent"),
    ),
)
async def test_a_certificate_for_something_else_is_not_enough(
    ca: trustme.CA, trusted: Path, issued_for: str, host: str
) -> None:
    async with certified(ca.issue_cert(issued_for)) as server:
        with pytest.raises(errors.Unavailable, match=f"^{re.escape(host)} .*: its certificate is for another name$"):
            await status(server.named(host), trusted)

    assert server.asked == []


async def test_a_certificate_of_an_unknown_ca_is_not_enough(trusted: Path) -> None:
    async with certified(trustme.CA().issue_cert("idp.test")) as server:
        with pytest.raises(errors.Unavailable, match=r"its certificate is not trusted$"):
            await status(server.named("idp.test"), trusted)

    assert server.asked == []


async def test_a_certificate_that_has_expired_is_not_enough(ca: trustme.CA, trusted: Path) -> None:
    async with certified(ca.issue_cert("idp.test", not_after=datetime(2020, 1, 1, tzinfo=UTC))) as server:
        with pytest.raises(errors.Unavailable, match=r"its certificate has expired$"):
            await status(server.named("idp.test"), trusted)

    assert server.asked == []


async def test_no_environment_names_a_ca(ca: trustme.CA, trusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, str(trusted))

    async with certified(ca.issue_cert("idp.test")) as server:
        with pytest.raises(errors.Unavailable, match=r"its certificate is not trusted$"):
            await status(server.named("idp.test"), None)


async def test_no_environment_has_the_keys_of_a_session_written_down(
    ca: trustme.CA, trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))

    async with certified(ca.issue_cert("idp.test")) as server:
        assert await status(server.named("idp.test"), trusted) == 200

    assert not (tmp_path / "keys").exists()


async def test_a_server_that_speaks_no_tls_is_given_up() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(serving.said())
        writer.close()

    listening = await asyncio.start_server(plain, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, opened(url) as egress:
        with pytest.raises(errors.Unavailable):
            await egress.send(get(url))


async def test_a_handshake_that_never_ends_meets_the_deadline_and_its_connection_is_closed() -> None:
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()
        writer.close()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening, opened(url) as egress:
        with pytest.raises(errors.Unavailable, match="in time"):
            await egress.send(get(url, SHORT))
        await gone.wait()


def test_the_systems_cas_are_believed_too(trusted: Path) -> None:
    system, both = trust.context(None), trust.context(trusted)

    assert both.cert_store_stats()["x509_ca"] == system.cert_store_stats()["x509_ca"] + 1


@pytest.mark.parametrize(
    "content",
    (pytest.param(None, id="no file"), pytest.param("no certificate", id="no PEM"), pytest.param("", id="nothing")),
)
def test_a_file_without_cas_is_an_error_that_names_it(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)

    with pytest.raises(errors.Unavailable, match=re.escape(str(file))):
        trust.context(file)
