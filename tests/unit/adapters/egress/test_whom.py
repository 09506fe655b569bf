"""Whom anything is sent to, and whom nothing."""

from __future__ import annotations

import pytest

from tests.unit.adapters.egress import serving
from tests.unit.adapters.egress.names import Names
from tests.unit.adapters.egress.serving import said
from tests.unit.adapters.egress.ways import get, opened
from toolcall_operator import errors


@pytest.mark.parametrize(
    "host",
    ("127.0.0.1", "127.1", "0x7f.1", "017700000001", "2130706433", "0x7f000001", "localhost", "[::ffff:127.0.0.1]"),
)
async def test_loopback_is_refused_however_it_is_written(host: str) -> None:
    async with serving.serving() as server, opened() as egress:
        with pytest.raises(errors.Denied, match="its address is no public one"):
            await egress.send(get(f"https://{host}:{server.port}/"))

    assert server.connections == 0


@pytest.mark.parametrize(
    "host",
    ("169.254.169.254", "[fe80::1]", "0.1.2.3", "10.0.0.1", "[::1]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]"),
)
async def test_no_address_inside_is_spoken_to(host: str) -> None:
    async with opened() as egress:
        with pytest.raises(errors.Denied, match="no public one"):
            await egress.send(get(f"https://{host}/"))


@pytest.mark.parametrize("host", ("169.254.169.254", "0", "[::]", "224.0.0.1", "[ff02::1]", "[fe80::1]"))
async def test_no_opening_leads_to_metadata_groups_or_nowhere(host: str) -> None:
    async with opened(f"http://{host}", f"https://{host}") as egress:
        for scheme in ("http", "https"):
            with pytest.raises(errors.Denied, match="no public one"):
                await egress.send(get(f"{scheme}://{host}/"))


@pytest.mark.parametrize(
    "host",
    (
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "a%20b",
        "%31%32%37.0.0.1",
        "[::1",
        "[]",
        "a:b",
        "a:99999",
        "\uff11\uff12\uff17.0.0.1",
    ),
)
async def test_what_is_no_host_is_refused(host: str) -> None:
    async with opened() as egress:
        with pytest.raises(errors.Denied):
            await egress.send(get(f"https://{host}/"))


async def test_plain_text_needs_an_opening_that_says_so() -> None:
    async with serving.serving() as server, opened(server.origin.replace("http:", "https:")) as egress:
        with pytest.raises(errors.Denied, match="in plain text"):
            await egress.send(get(server.origin))

    assert server.connections == 0


async def test_an_opening_is_for_one_host_and_port() -> None:
    names = Names({"idp.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})
    async with (
        serving.serving() as server,
        serving.serving() as other,
        opened(server.named("idp.test"), names=names) as egress,
    ):
        assert (await egress.send(get(server.named("idp.test")))).status == 200
        for url in (server.named("other.test"), other.named("idp.test"), server.origin):
            with pytest.raises(errors.Denied):
                await egress.send(get(url))

    assert (server.connections, other.connections) == (1, 0)


async def test_an_opening_in_plain_text_does_not_open_the_same_server_over_tls() -> None:
    async with serving.serving() as server, opened(server.origin) as egress:
        with pytest.raises(errors.Denied, match="no public one"):
            await egress.send(get(server.origin.replace("http:", "https:")))

    assert server.connections == 0


async def test_case_and_the_default_port_mean_nothing() -> None:
    names = Names({"idp.test": ["224.0.0.1"]})
    async with opened("http://idp.test", names=names) as egress:
        for url in ("HTTP://IDP.TEST/", "http://idp.test:80/"):
            with pytest.raises(errors.Denied, match="multicast"):  # so it was not for being plain text
                await egress.send(get(url))


async def test_an_ipv6_address_can_be_opened() -> None:
    async with serving.serving(host="::1") as server, opened(server.origin) as egress:
        assert (await egress.send(get(server.origin))).status == 200

    assert server.asked[0].headers["host"] == f"[::1]:{server.port}"


async def test_a_name_outside_ascii_is_looked_up_in_its_ascii_form() -> None:
    names = Names({})
    async with opened(names=names) as egress:
        with pytest.raises(errors.Unavailable, match="no address of that name"):
            await egress.send(get("https://bücher.test/"))

    assert names.asked == ["xn--bcher-kva.test"]


async def test_one_address_inside_spoils_a_name() -> None:
    names = Names({"mixed.test": ["93.184.216.34", "10.0.0.5"]})
    async with opened(names=names) as egress:
        with pytest.raises(errors.Denied, match=r"mixed\.test: its address is no public one \(private\)"):
            await egress.send(get("https://mixed.test/"))


async def test_a_name_that_changes_its_address_is_judged_anew() -> None:
    names = Names({"rebind.test": ["127.0.0.1"]})
    async with (
        serving.serving(said(Connection="close")) as server,
        opened(server.named("rebind.test"), names=names) as egress,
    ):
        await egress.send(get(server.named("rebind.test")))
        names.addresses["rebind.test"] = ["169.254.169.254"]

        with pytest.raises(errors.Denied, match="metadata"):
            await egress.send(get(server.named("rebind.test")))

    assert names.asked == ["rebind.test", "rebind.test"]


async def test_the_second_address_is_tried_when_the_first_refuses() -> None:
    names = Names({"both.test": ["::1", "127.0.0.1"]})
    async with serving.serving() as server, opened(server.named("both.test"), names=names) as egress:
        assert (await egress.send(get(server.named("both.test")))).status == 200
