"""Which addresses are dialled: those that were judged, and no others."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field

import httpcore
import pytest

from tests.unit.adapters.egress.names import Names
from toolcall_operator import errors
from toolcall_operator.adapters.egress.dialing import Dialer
from toolcall_operator.adapters.egress.policy import Policy
from toolcall_operator.core.exchange import Origin

ONE, TWO, THREE = "93.184.216.34", "2606:4700:4700::1111", "8.8.8.8"


class Line(httpcore.AsyncMockStream):
    """A connection on which nothing is said; `secured_for` is the name that TLS was to verify."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__([])
        self.secured_for: str | None = None
        self.closed = False
        self._broken = broken

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,  # noqa: ARG002 - whose it is, is another test's
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        if self._broken:
            raise httpcore.ConnectError("broken")
        self.secured_for = server_hostname
        return self

    async def aclose(self) -> None:
        self.closed = True
        await super().aclose()


@dataclass
class Network(httpcore.AsyncNetworkBackend):
    """Remembers what was dialled; those who are `away` do not answer."""

    away: frozenset[str] = frozenset()
    dialled: list[tuple[str, int]] = field(default_factory=list)
    line: Line = field(default_factory=Line)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - httpcore's signature
        local_address: str | None = None,  # noqa: ARG002 - the same
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - the same
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        if host in self.away:
            raise httpcore.ConnectTimeout
        return self.line


def dialer(network: Network, addresses: list[str], *openings: str) -> Dialer:
    names = Names({"host.test": addresses})
    return Dialer(Policy.parse(openings), names, ssl.create_default_context(), network)


HOST = Origin("https", "host.test", 8443)


async def test_the_address_that_was_judged_is_dialled_and_the_name_verified() -> None:
    network = Network()

    await dialer(network, [ONE]).dial(HOST)

    assert network.dialled == [(ONE, 8443)]
    assert network.line.secured_for == "host.test"


async def test_a_name_is_looked_up_once_for_a_connection() -> None:
    dialing = dialer(Network(), [ONE])

    await dialing.dial(HOST)

    assert isinstance(dialing.resolve, Names)
    assert dialing.resolve.asked == ["host.test"]


async def test_addresses_are_tried_in_their_order_until_one_answers() -> None:
    network = Network(away=frozenset({ONE, TWO}))

    await dialer(network, [ONE, TWO, THREE]).dial(HOST)

    assert [address for address, _ in network.dialled] == [ONE, TWO, THREE]


async def test_when_none_answers_the_last_one_says_why() -> None:
    network = Network(away=frozenset({ONE, TWO}))

    with pytest.raises(httpcore.ConnectTimeout):
        await dialer(network, [ONE, TWO]).dial(HOST)


async def test_a_name_of_a_thousand_addresses_has_eight() -> None:
    addresses = [f"93.184.{number // 250}.{number % 250 + 1}" for number in range(1000)]
    network = Network(away=frozenset(addresses))

    with pytest.raises(httpcore.ConnectTimeout):
        await dialer(network, addresses).dial(HOST)

    assert len(network.dialled) == 8


async def test_a_name_of_no_address_is_not_dialled() -> None:
    network = Network()

    with pytest.raises(OSError, match="no address"):
        await dialer(network, []).dial(HOST)

    assert network.dialled == []


@pytest.mark.parametrize("position", (0, 1, 9))
async def test_one_forbidden_address_among_many_is_enough_to_dial_none(position: int) -> None:
    addresses = [ONE, TWO, *(f"8.8.8.{number}" for number in range(8))]
    addresses.insert(position, "10.0.0.5")
    network = Network()

    with pytest.raises(errors.Denied, match=r"host\.test: its address is no public one \(private\)"):
        await dialer(network, addresses).dial(HOST)

    assert network.dialled == []


async def test_the_refusal_of_a_name_does_not_tell_its_address() -> None:
    with pytest.raises(errors.Denied) as denied:
        await dialer(Network(), ["10.11.12.13"]).dial(HOST)

    assert "10.11" not in str(denied.value)


@pytest.mark.parametrize("address", ("10.0.0.5", "127.0.0.1", "::1", "fd00::1", "100.64.0.1", ONE))
async def test_an_opened_name_may_have_an_address_inside(address: str) -> None:
    network = Network()

    await dialer(network, [address], "https://host.test:8443").dial(HOST)

    assert network.dialled == [(address, 8443)]


@pytest.mark.parametrize("address", ("169.254.169.254", "fe80::1", "224.0.0.1", "::", "168.63.129.16", "fd00:ec2::254"))
async def test_an_opened_name_never_has_some_addresses(address: str) -> None:
    network = Network()

    with pytest.raises(errors.Denied):
        await dialer(network, ["10.0.0.5", address], "https://host.test:8443").dial(HOST)

    assert network.dialled == []


@pytest.mark.parametrize(
    "opening", ("http://host.test:8443", "https://host.test", "https://other.test:8443", "https://a.host.test:8443")
)
async def test_an_opening_of_another_origin_opens_nothing(opening: str) -> None:
    with pytest.raises(errors.Denied):
        await dialer(Network(), ["10.0.0.5"], opening).dial(HOST)


async def test_plain_text_is_not_even_looked_up_without_an_opening() -> None:
    dialing = dialer(Network(), [ONE])

    with pytest.raises(errors.Denied, match="plain text"):
        await dialing.dial(Origin("http", "host.test", 80))

    assert isinstance(dialing.resolve, Names)
    assert dialing.resolve.asked == []


async def test_plain_text_that_is_opened_is_not_secured() -> None:
    network = Network()

    await dialer(network, [ONE], "http://host.test").dial(Origin("http", "host.test", 80))

    assert network.line.secured_for is None


async def test_a_connection_that_cannot_be_secured_is_closed() -> None:
    network = Network(line=Line(broken=True))

    with pytest.raises(httpcore.ConnectError):
        await dialer(network, [ONE]).dial(HOST)

    assert network.line.closed
