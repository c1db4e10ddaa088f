"""Addresses that are of the public internet, and others."""

from __future__ import annotations

import asyncio
import ipaddress

import pytest

from admiral.download.page_fetch import FetchError, is_public, public_addresses


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fec0::1", "fc00::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:a00:1::"),
        *(
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
        ),
    ],
)
def test_private_addresses(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"],
)
def test_public_addresses(address):
    assert is_public(ipaddress.ip_address(address))


HOSTS = (
    *("127.0.0.1", "localhost", "2130706433", "0x7f.1", "017700000001", "127.1", "::1"),
    "fe80::1%lo",
)


@pytest.mark.parametrize("host", HOSTS)
def test_hosts_of_this_machine_are_refused_however_they_are_written(host):
    with pytest.raises(FetchError):
        asyncio.run(public_addresses(host, 80))


def test_hosts_that_are_allowed():
    for allowed in ("localhost", "localhost:80"):
        assert "127.0.0.1" in asyncio.run(public_addresses("LocalHost", 80, {allowed}))
    with pytest.raises(FetchError, match=r"127\.0\.0\.1"):
        asyncio.run(public_addresses("127.0.0.1", 80, {"localhost", "127.0.0.1:81"}))


@pytest.mark.parametrize("host", ["nowhere.invalid", "x" * 300, "a..b", "\udc80"])
def test_unknown_hosts(host):
    with pytest.raises(FetchError):
        asyncio.run(public_addresses(host, 80))
