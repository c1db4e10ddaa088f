"""Fetch pages of the web politely: robots' rules, one request to a host at a time, with limits."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Literal
from urllib.parse import urljoin

import httpx
from protego import Protego

import admiral
from admiral.sources.canonical_urls import depth

AGENT = "admiral"
_MOST_REDIRECTS = 5
_LONGEST_DELAY = 30.0  # seconds between two requests that a site may ask for
_LONGEST_ROBOTS = 500 * 2**10  # bytes of robots.txt that are read, as RFC 9309 asks for
_LONGEST_URL = 4096
_ENCODINGS = ("", "identity", "gzip", "deflate")
_PAGES = ("text/html", "application/xhtml+xml", "text/plain")
_PDF = "application/pdf"
_UNKNOWN_TYPES = ("", "application/octet-stream", "binary/octet-stream", "application/x-pdf")
_ALLOW_ALL, _ALLOW_NOTHING = Protego.parse(""), Protego.parse("User-agent: *\nDisallow: /")

#: Why a page was not fetched.
Problem = Literal[
    "offline", "private_address", "robots", "not_found", "refused", "server", "too_many_requests",
    "too_large", "too_slow", "not_a_page", "home_page", "redirects", "connection",
]  # fmt: skip
#: Problems after which another attempt may succeed.
TRANSIENT: tuple[Problem, ...] = (
    *("offline", "server", "too_many_requests", "too_slow", "connection"),
)


class FetchError(Exception):
    """A page was not fetched; `problem` says why in one word."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of fetching one page."""

    seconds: float = 30.0  # by the clock, with redirects, without waiting for a turn
    megabytes: int = 20  # MiB after decompression
    delay: float = 1.0  # seconds between the end of a request to a host and the next one


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page, or a PDF file, as a server sent it."""

    url: str  # after redirects
    content_type: str  # of the header, or ``application/pdf``
    content: bytes  # decompressed


class PageFetcher:
    """Fetches pages; use it as an asynchronous context manager.

    - `limits`: of each page.
    - `allowed_hosts`: hosts, as ``name`` or ``name:port``, that may have private addresses.
    """

    def __init__(
        self, limits: FetchLimits = FetchLimits(), allowed_hosts: Collection[str] = ()
    ) -> None:
        self.limits = limits
        self._allowed = {host.lower() for host in allowed_hosts}
        # One request to a host at a time, and when the last one ended.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._last: dict[str, float] = {}
        self._rules: dict[str, asyncio.Task[Protego]] = {}
        # The certificates of the operating system. No proxy: it would look up addresses itself.
        self._client = httpx.AsyncClient(
            verify=ssl.create_default_context(),
            trust_env=False,
            timeout=limits.seconds,
            # A connection is to an address: another host of that address must not get it.
            limits=httpx.Limits(max_keepalive_connections=0),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers={
                "User-Agent": f"{AGENT}/{admiral.__version__}",
                "Accept": "text/html, application/xhtml+xml, application/pdf, text/plain",
                "Accept-Encoding": "gzip, deflate",
            },
        )

    async def __aenter__(self) -> PageFetcher:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._rules.values():
            task.cancel()
        await self._client.aclose()

    async def fetch(self, url: str) -> FetchedPage:
        """Return a page.

        Raises FetchError if robots may not read it, or its host, or one that it redirects to, has a
        private address; if it is no HTML, plain text or PDF; if it is too large or too slow; or if
        it redirects to the home page of a site, as pages that are gone do.
        """
        address, header, content = await self._follow(url, self.limits.megabytes << 20)
        if depth(url) > 0 and depth(address) == 0 and "?" not in address:
            raise FetchError("home_page", f"{url}: leads to the home page {address}")
        return _page(address, header, content)

    async def _follow(
        self, url: str, largest: int, *, is_robots: bool = False
    ) -> tuple[str, str, bytes]:
        """Return the address of a page after redirects, its type and its content."""
        address = url
        for _ in range(_MOST_REDIRECTS + 1):
            target, delay = _checked(address), 0.0
            if not is_robots:
                rules = await self._robots(target)
                if not rules.can_fetch(str(target), AGENT):
                    raise FetchError("robots", f"{address}: robots.txt does not allow it")
                asked = min(rules.crawl_delay(AGENT) or 0.0, _LONGEST_DELAY)
                delay = max(self.limits.delay, asked)
            response = await self._request(target, delay, largest, cut=is_robots)
            if not isinstance(response, str):
                return address, *response
            address = urljoin(address, response)
        raise FetchError("redirects", f"{url}: redirects more than {_MOST_REDIRECTS} times")

    async def _robots(self, target: httpx.URL) -> Protego:
        site = f"{target.scheme}://{target.netloc.decode('ascii')}"
        if site not in self._rules:
            self._rules[site] = asyncio.create_task(self._fetch_robots(f"{site}/robots.txt"))
        return await asyncio.shield(self._rules[site])

    async def _fetch_robots(self, address: str) -> Protego:
        """Return the rules of a site: without the file, all may be read; if it fails, nothing."""
        try:
            _, _, content = await self._follow(address, _LONGEST_ROBOTS, is_robots=True)
        except FetchError as error:
            if error.problem in ("not_found", "refused", "redirects"):
                return _ALLOW_ALL
            if error.problem in ("server", "too_many_requests"):
                return _ALLOW_NOTHING
            raise
        return Protego.parse(content.decode("utf-8-sig", "replace"))

    async def _request(
        self, target: httpx.URL, delay: float, largest: int, *, cut: bool
    ) -> str | tuple[str, bytes]:
        """Return the address that a page redirects to, or its type and content."""
        async with self._turns[target.host]:
            last = self._last.get(target.host, float("-inf"))
            await asyncio.sleep(last + delay - time.monotonic())
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await self._send(target, largest, cut)
            except TimeoutError:
                seconds = f"{self.limits.seconds:g} seconds"
                raise FetchError("too_slow", f"{target}: took longer than {seconds}") from None
            except httpx.InvalidURL as error:
                raise FetchError("not_a_page", f"{target}: redirects to no address") from error
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                raise FetchError("connection", f"{target}: no page came ({reason})") from error
            finally:
                self._last[target.host] = time.monotonic()

    async def _send(self, target: httpx.URL, largest: int, cut: bool) -> str | tuple[str, bytes]:
        port = target.port or (443 if target.scheme == "https" else 80)
        host = target.raw_host.decode("ascii")
        *others, last = await public_addresses(host, port, self._allowed)
        for address in (*others, last):
            try:
                async with self._client.stream(
                    "GET",
                    target.copy_with(host=address),  # which was checked, and not looked up again
                    headers={"Host": target.netloc.decode("ascii")},
                    extensions={"sni_hostname": host},
                ) as response:
                    if response.is_redirect and "location" in response.headers:
                        return response.headers["location"]
                    _check_response(target, response)
                    content = bytearray()
                    async for piece in response.aiter_bytes():
                        content += piece
                        if len(content) > largest and not cut:
                            raise FetchError(
                                "too_large", f"{target}: is larger than {largest >> 20} MiB"
                            )
                        if len(content) > largest:
                            break
                    return response.headers.get("content-type", ""), bytes(content[:largest])
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if address == last:
                    raise
        raise AssertionError("unreachable")


async def public_addresses(host: str, port: int, allowed: Collection[str] = ()) -> list[str]:
    """Return the addresses of a host; raise FetchError if one is not public, or there is none.

    `allowed`: hosts, as ``name`` or ``name:port``, that may have any address.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchError("offline", f"{host}: no address is known ({error})") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    if host.lower() not in allowed and f"{host.lower()}:{port}" not in allowed:
        for address in addresses:
            # An address of a link has the name of an interface after it.
            if "%" in address or not is_public(ipaddress.ip_address(address)):
                raise FetchError(
                    "private_address",
                    f"{host}: its address {address} is not of the public internet",
                )
    return addresses


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an address, and that which it holds, is of the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        held = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            held.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if any(held):
            return all(is_public(each) for each in held if each)
        if address in _LOCAL_NAT64 or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _checked(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url if len(url) <= _LONGEST_URL else "")
        if target.scheme in ("http", "https") and target.host:
            return target.copy_with(fragment=None, username="", password="")
    except httpx.InvalidURL:
        pass
    raise FetchError("not_a_page", f"{url[:_LONGEST_URL]}: is no address of HTTP")


def _check_response(target: httpx.URL, response: httpx.Response) -> None:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    status = response.status_code
    problem: Problem = "refused"
    if status in (404, 410):
        problem = "not_found"
    elif status == httpx.codes.TOO_MANY_REQUESTS:
        problem = "too_many_requests"
    elif status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.REQUEST_TIMEOUT:
        problem = "server"
    if status != httpx.codes.OK:
        raise FetchError(problem, f"{target}: the server answers {status}")
    if encoding not in _ENCODINGS:
        raise FetchError("not_a_page", f"{target}: has the encoding {encoding}, not asked for")


def _page(url: str, header: str, content: bytes) -> FetchedPage:
    kind = header.partition(";")[0].strip().lower()
    if content.startswith(b"%PDF-"):
        return FetchedPage(url, _PDF, content)
    if kind in _UNKNOWN_TYPES and re.match(rb"\s*<(!doctype html|html|head|body)\b", content, re.I):
        return FetchedPage(url, "text/html", content)
    if kind not in _PAGES:
        what = kind if kind not in ("", _PDF) else "something that is no page"
        raise FetchError("not_a_page", f"{url}: the server sends {what}")
    if not content.strip():
        raise FetchError("not_a_page", f"{url}: the server sends nothing")
    return FetchedPage(url, header, content)
