"""Which IP addresses belong to no server on the public Internet, and what they are instead.

The table is our own, since `ipaddress.is_global` calls some of these global: NAT64, site-local, multicast, `3fff::/20`,
Azure's platform address (https://github.com/python/cpython/issues/113171 and /151749). Its sources:

- https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry: every block of both, also
  those that can be reached from anywhere (AS112, AMT): no server that anybody has business with lives in one;
- https://www.iana.org/assignments/multicast-addresses and ipv6-address-space: of IPv6, 2000::/3 alone is unicast that
  was given to anybody;
- the clouds' own pages for the addresses at which a machine asks who it is, and gets credentials.
"""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

LOOPBACK = "loopback"
PRIVATE = "private"
LINK_LOCAL = "link-local"
METADATA = "metadata"
MULTICAST = "multicast"
UNSPECIFIED = "unspecified"
RESERVED = "reserved"
DOCUMENTATION = "documentation"
BENCHMARKING = "benchmarking"
TUNNEL = "tunnel"

OPENABLE = frozenset({LOOPBACK, PRIVATE})
"""What the operator's configuration can open for a server of its own; nothing opens the rest."""

_BLOCKS_4 = (
    # Addresses of machines' metadata that are in no link-local block; these stand before the blocks that hold them.
    ("100.100.100.200/32", METADATA),  # Alibaba Cloud
    ("168.63.129.16/32", METADATA),  # Azure's platform; looks public
    ("192.0.0.192/32", METADATA),  # Oracle Cloud, classic
    ("169.254.169.254/32", METADATA),  # nearly everybody
    ("0.0.0.0/8", UNSPECIFIED),  # RFC 791; Linux takes 0.0.0.0 for this machine
    ("10.0.0.0/8", PRIVATE),  # RFC 1918
    ("100.64.0.0/10", PRIVATE),  # RFC 6598, between carriers and customers; clouds number pods with it
    ("127.0.0.0/8", LOOPBACK),  # RFC 1122
    ("169.254.0.0/16", LINK_LOCAL),  # RFC 3927
    ("172.16.0.0/12", PRIVATE),  # RFC 1918
    ("192.0.0.0/24", RESERVED),  # RFC 6890, protocol assignments
    ("192.0.2.0/24", DOCUMENTATION),  # RFC 5737
    ("192.31.196.0/24", RESERVED),  # RFC 7535, AS112
    ("192.52.193.0/24", RESERVED),  # RFC 7450, AMT
    ("192.88.99.0/24", TUNNEL),  # RFC 7526, relays of 6to4
    ("192.168.0.0/16", PRIVATE),  # RFC 1918
    ("192.175.48.0/24", RESERVED),  # RFC 7534, AS112
    ("198.18.0.0/15", BENCHMARKING),  # RFC 2544
    ("198.51.100.0/24", DOCUMENTATION),  # RFC 5737
    ("203.0.113.0/24", DOCUMENTATION),  # RFC 5737
    ("224.0.0.0/4", MULTICAST),  # RFC 5771
    ("240.0.0.0/4", RESERVED),  # RFC 1112, and the broadcast address
)

_BLOCKS_6 = (
    ("fd00:ec2::/32", METADATA),  # AWS: instances, pods' identities, names, time
    ("fd20:ce::254/128", METADATA),  # Google Cloud
    ("fd00:c1::a9fe:a9fe/128", METADATA),  # Oracle Cloud
    ("fd00:42::42/128", METADATA),  # Scaleway
    ("::/128", UNSPECIFIED),  # RFC 4291
    ("::1/128", LOOPBACK),  # RFC 4291
    ("64:ff9b:1::/48", TUNNEL),  # RFC 8215, NAT64 of a network's own
    ("100::/64", RESERVED),  # RFC 6666, discarded
    ("100:0:0:1::/64", RESERVED),  # RFC 9780, dummy
    ("2001::/32", TUNNEL),  # RFC 4380, Teredo
    ("2001:2::/48", BENCHMARKING),  # RFC 5180
    ("2001::/23", RESERVED),  # RFC 2928, protocol assignments
    ("2001:db8::/32", DOCUMENTATION),  # RFC 3849
    ("2002::/16", TUNNEL),  # RFC 3056, 6to4
    ("2620:4f:8000::/48", RESERVED),  # RFC 7534, AS112
    ("3fff::/20", DOCUMENTATION),  # RFC 9637
    ("5f00::/16", RESERVED),  # RFC 9602, segment routing
    ("fc00::/7", PRIVATE),  # RFC 4193
    ("fe80::/10", LINK_LOCAL),  # RFC 4291
    ("fec0::/10", RESERVED),  # RFC 3879, site-local of old
    ("ff00::/8", MULTICAST),  # RFC 4291
)

_TABLE_4 = tuple((IPv4Network(block), what) for block, what in _BLOCKS_4)
_TABLE_6 = tuple((IPv6Network(block), what) for block, what in _BLOCKS_6)
_GIVEN_OUT = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")  # RFC 4291: the system speaks IPv4 to them
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: how a network without IPv4 reaches servers that have nothing else
_V4 = (1 << 32) - 1


def forbidden(address: IPv4Address | IPv6Address | str, *, opened: bool = False) -> str:
    """What kind of address this is, in a word, if nothing may be sent to it; empty if something may.

    `opened`: the configuration names this very server, so it may be loopback or private.

    Raises:
        ValueError: this is no address.
    """
    what = _kind(ipaddress.ip_address(address))
    return "" if opened and what in OPENABLE else what


def _kind(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv4Address):
        return next((what for block, what in _TABLE_4 if address in block), "")
    if address.scope_id is not None:
        return LINK_LOCAL  # an address with a zone means something on this machine's links alone: RFC 4007
    if address in _MAPPED or address in _NAT64:
        return _kind(IPv4Address(int(address) & _V4))
    return next((what for block, what in _TABLE_6 if address in block), "" if address in _GIVEN_OUT else RESERVED)
