"""Which addresses are on the public internet; pure.

`ipaddress.is_global` differs between Python releases and takes multicast, NAT64 and tunnels for
global, so an address must pass the table below as well (IANA special-purpose registries).
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # a cloud's host, reachable from its machines only
    )
)
_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        *(
            "::/96",
            "::ffff:0:0/96",
            "::ffff:0:0:0/96",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "100::/64",
            "100:0:0:1::/64",
        ),
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7"),
        *("fe80::/10", "fec0::/10", "ff00::/8"),
    )
)

_UNICAST = IPv6Network("2000::/3")
"""All that is given out so far; whoever answers elsewhere is on a network of their own."""


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """True for an address that is nobody's own network; an IPv4 one in IPv6 dress is unwrapped."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_multicast or not address.is_global:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _IPV4)
    is_given_out = address in _UNICAST and address.scope_id is None
    return is_given_out and not any(address in network for network in _IPV6)
