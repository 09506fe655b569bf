"""Which addresses are public."""

from __future__ import annotations

import ipaddress

import pytest

from toolcall_operator.core import addresses

# what it is, the address, what is said of it
FORBIDDEN = (
    ("this machine", "127.0.0.1", "loopback"),
    ("this machine, by another number", "127.255.255.254", "loopback"),
    ("this machine in IPv6", "::1", "loopback"),
    ("a private network of the largest kind", "10.0.0.5", "private"),
    ("its last address", "10.255.255.255", "private"),
    ("a private network of the middle kind", "172.16.0.1", "private"),
    ("its last address", "172.31.255.255", "private"),
    ("a private network of the smallest kind", "192.168.1.1", "private"),
    ("what carriers and clouds share", "100.64.0.1", "private"),
    ("its last address", "100.127.255.255", "private"),
    ("a private network in IPv6", "fd12:3456:789a::1", "private"),
    ("a private network in IPv6 that nobody may number yet", "fc00::1", "private"),
    ("a link's own", "169.254.0.1", "link-local"),
    ("a link's own in IPv6", "fe80::1", "link-local"),
    ("a link's own with its zone", "fe80::1%eth0", "link-local"),
    ("a public address with a zone", "2606:4700:4700::1111%eth0", "link-local"),
    ("the metadata of nearly every cloud", "169.254.169.254", "metadata"),
    ("the metadata of Alibaba Cloud", "100.100.100.200", "metadata"),
    ("the metadata of Oracle's older cloud", "192.0.0.192", "metadata"),
    ("the platform of Azure, which looks public", "168.63.129.16", "metadata"),
    ("the metadata of AWS in IPv6", "fd00:ec2::254", "metadata"),
    ("the identities of pods on AWS in IPv6", "fd00:ec2::23", "metadata"),
    ("the metadata of Google Cloud in IPv6", "fd20:ce::254", "metadata"),
    ("the metadata of Oracle Cloud in IPv6", "fd00:c1::a9fe:a9fe", "metadata"),
    ("the metadata of Scaleway in IPv6", "fd00:42::42", "metadata"),
    ("no address", "0.0.0.0", "unspecified"),  # noqa: S104 - nothing binds here
    ("this network", "0.1.2.3", "unspecified"),
    ("no address in IPv6", "::", "unspecified"),
    ("a group", "224.0.0.1", "multicast"),
    ("the last group", "239.255.255.255", "multicast"),
    ("a group of a link in IPv6", "ff02::1", "multicast"),
    ("a group of the whole world in IPv6", "ff0e::1", "multicast"),
    ("everybody on this network", "255.255.255.255", "reserved"),
    ("what was never given out", "240.0.0.1", "reserved"),
    ("an assignment to a protocol", "192.0.0.8", "reserved"),
    ("an anycast address of a protocol", "192.0.0.9", "reserved"),
    ("a sink of reverse lookups", "192.31.196.1", "reserved"),
    ("another sink of reverse lookups", "192.175.48.1", "reserved"),
    ("a sink of reverse lookups in IPv6", "2620:4f:8000::1", "reserved"),
    ("a relay of multicast", "192.52.193.1", "reserved"),
    ("an example", "192.0.2.1", "documentation"),
    ("another example", "198.51.100.1", "documentation"),
    ("a third example", "203.0.113.1", "documentation"),
    ("an example in IPv6", "2001:db8::1", "documentation"),
    ("a new example in IPv6", "3fff::1", "documentation"),
    ("a test of speed", "198.18.0.1", "benchmarking"),
    ("its last address", "198.19.255.255", "benchmarking"),
    ("a test of speed in IPv6", "2001:2::1", "benchmarking"),
    ("site-local of old", "fec0::1", "reserved"),
    ("what is discarded", "100::1", "reserved"),
    ("what is discarded by another prefix", "100:0:0:1::1", "reserved"),
    ("a segment of a route", "5f00::1", "reserved"),
    ("a hash for an identity", "2001:20::1", "reserved"),
    ("an anycast address of a protocol in IPv6", "2001:1::1", "reserved"),
    ("a relay of 6to4", "192.88.99.1", "tunnel"),
    ("6to4 to a private address", "2002:a00:1::1", "tunnel"),
    ("6to4 to the metadata", "2002:a9fe:a9fe::", "tunnel"),
    ("6to4 to a public address", "2002:808:808::1", "tunnel"),
    ("Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "tunnel"),
    ("NAT64 of a network's own", "64:ff9b:1::a00:1", "tunnel"),
    ("NAT64 to a private address", "64:ff9b::a00:1", "private"),
    ("NAT64 to the metadata", "64:ff9b::a9fe:a9fe", "metadata"),
    ("NAT64 to this machine", "64:ff9b::7f00:1", "loopback"),
    ("this machine, mapped", "::ffff:127.0.0.1", "loopback"),
    ("a private address, mapped", "::ffff:10.0.0.1", "private"),
    ("the metadata, mapped", "::ffff:169.254.169.254", "metadata"),
    ("no address, mapped", "::ffff:0.0.0.0", "unspecified"),
    ("this machine, as IPv6 of old wrote IPv4", "::127.0.0.1", "reserved"),
    ("a public address, as IPv6 of old wrote IPv4", "::8.8.8.8", "reserved"),
    ("below everything that was given out in IPv6", "1fff:ffff::1", "reserved"),
    ("above everything that was given out in IPv6", "4000::1", "reserved"),
)

PUBLIC = (
    ("a server", "93.184.216.34"),
    ("a resolver", "8.8.8.8"),
    ("the address below a private network", "9.255.255.255"),
    ("the address above a private network", "11.0.0.0"),
    ("the address below the middle private network", "172.15.255.255"),
    ("the address above the middle private network", "172.32.0.0"),
    ("the address below the shared network", "100.63.255.255"),
    ("the address above the shared network", "100.128.0.0"),
    ("the address above the tests of speed", "198.20.0.0"),
    ("the neighbour of Azure's platform", "168.63.129.17"),
    ("a server in IPv6", "2606:4700:4700::1111"),
    ("the first address behind the protocols' own in IPv6", "2001:200::1"),
    ("a server without IPv6, by NAT64", "64:ff9b::808:808"),
    ("a server, mapped", "::ffff:8.8.8.8"),
)


@pytest.mark.parametrize(
    ("address", "what"), [row[1:] for row in FORBIDDEN], ids=[f"{row[0]}, {row[1]}" for row in FORBIDDEN]
)
def test_nothing_is_sent_to(address: str, what: str) -> None:
    assert addresses.forbidden(address) == what
    assert addresses.forbidden(ipaddress.ip_address(address)) == what


@pytest.mark.parametrize("address", [row[1] for row in PUBLIC], ids=[f"{row[0]}, {row[1]}" for row in PUBLIC])
def test_anything_may_be_sent_to(address: str) -> None:
    assert addresses.forbidden(address) == ""
    assert addresses.forbidden(address, opened=True) == ""


@pytest.mark.parametrize(
    ("address", "what"), [row[1:] for row in FORBIDDEN], ids=[f"{row[0]}, {row[1]}" for row in FORBIDDEN]
)
def test_an_opening_lifts_loopback_and_private_and_nothing_else(address: str, what: str) -> None:
    assert addresses.forbidden(address, opened=True) == ("" if what in {"loopback", "private"} else what)


@pytest.mark.parametrize("text", ("127.1", "0x7f.1", "2130706433", "localhost", "", "10.0.0.1/8", "[::1]"))
def test_what_is_not_an_address_is_not_judged(text: str) -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        addresses.forbidden(text)
