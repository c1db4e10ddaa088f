"""Look up the address of a host, and refuse all that are not of the public internet.

A page may link, or redirect, to a server of the network in which this program runs. The address
that was looked up and checked is the one that is connected to, so that a name server cannot give
another one in between.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")


class PrivateAddressError(Exception):
    """A host has an address that is not of the public internet."""


class UnknownHostError(Exception):
    """The address of a host cannot be looked up."""


def is_public(address: Address) -> bool:
    """Return whether an address, and that which it holds, is of the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        held: list[Address] = []
        if address.ipv4_mapped is not None:
            held.append(address.ipv4_mapped)
        if address.sixtofour is not None:
            held.append(address.sixtofour)
        if address.teredo is not None:
            held += address.teredo
        if address in _NAT64:
            held.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if held:
            return all(map(is_public, held))
        if address in _LOCAL_NAT64 or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


async def public_addresses(host: str, port: int, allowed: Collection[str] = ()) -> list[str]:
    """Return the addresses of a host.

    `allowed`: hosts, as ``name`` or ``name:port``, that may have any address. Raises
    PrivateAddressError if one of the addresses is not public, and UnknownHostError if there is
    none.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHostError(f"{host}: no address is known ({error})") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if host.lower() in allowed or f"{host.lower()}:{port}" in allowed:
        return addresses
    for address in addresses:
        # An address of a link has the name of an interface after it.
        if "%" in address or not is_public(ipaddress.ip_address(address)):
            raise PrivateAddressError(
                f"{host}: its address {address} is not of the public internet"
            )
    return addresses
