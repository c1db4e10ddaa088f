"""Fetch pages of the web politely: robots' rules, one request to a host at a time, with limits."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote, urljoin

import httpx

import admiral
from admiral.library.canonical_urls import depth

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


#: As much of a file as is read, in bytes; RFC 9309 asks for 500 KiB.
LONGEST = 500 * 2**10
_LINE = re.compile(r"\s*([A-Za-z-]+)\s*:\s*([^#\n]*)")
_ESCAPES = re.compile(r"(?:%(?!2[Ff]|2[Aa]|24)[0-9A-Fa-f]{2})+")  # but those of / * $
_SAFE = "/%?=&*$;:@!'()+,~-._#[]"


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules for one robot.

    `rules`: (whether allowed, pattern of a path); `delay`: seconds between two requests.
    """

    rules: tuple[tuple[bool, str], ...] = ()
    delay: float = 0.0

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be read: the longest rule counts.

        Of two rules of one length, that which allows counts. ``robots.txt`` itself may be read.
        """
        target = _escaped(target or "/")
        if target == "/robots.txt":
            return True
        matching = [(len(rule), allowed) for allowed, rule in self.rules if _matches(rule, target)]
        return max(matching, default=(0, True))[1]


#: Nothing may be read, as where the server does not say what may.
NOTHING = RobotsRules(((False, "/"),))


def robots_rules(text: str, agent: str) -> RobotsRules:
    """Return the rules of a file for a robot, or else those for all robots.

    `agent`: the name of the robot, without its version. Lines that cannot be read do not count.
    """
    groups = list(_groups(text))
    own = [group for group in groups if agent.lower() in group[0]]
    chosen = own or [group for group in groups if "*" in group[0]]
    rules: list[tuple[bool, str]] = []
    delay = 0.0
    for _, lines in chosen:
        for key, value in lines:
            if key == "crawl-delay":
                delay = max(delay, float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else 0.0)
            elif value:
                rules.append((key == "allow", _escaped(value)))
    return RobotsRules(tuple(rules), delay)


def _groups(text: str) -> Iterator[tuple[set[str], list[tuple[str, str]]]]:
    agents: set[str] = set()
    lines: list[tuple[str, str]] = []
    for line in text.removeprefix("\ufeff").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        key, value = match[1].lower(), match[2].strip()
        if key == "user-agent":
            if lines:
                yield agents, lines
                agents, lines = set(), []
            agents.add(value.partition("/")[0].strip().lower())
        elif key in ("allow", "disallow", "crawl-delay") and agents:
            lines.append((key, value))
    if agents:
        yield agents, lines


def _matches(rule: str, target: str) -> bool:
    """Return whether a rule with ``*`` and a final ``$`` matches; linear in both lengths."""
    is_whole = rule.endswith("$")
    first, *rest = rule.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    position = len(first)
    for number, piece in enumerate(rest):
        if is_whole and number == len(rest) - 1:
            return len(target) - len(piece) >= position and target.endswith(piece)
        found = target.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return not is_whole or position == len(target)


def _escaped(path: str) -> str:
    plain = _ESCAPES.sub(lambda match: unquote(match[0], errors="replace"), path)
    return quote(plain, safe=_SAFE, errors="replace")


AGENT = "admiral"
_MOST_REDIRECTS = 5
_LONGEST_DELAY = 30.0  # seconds between two requests that a site may ask for
_CHUNK = 1 << 14  # bytes that are decompressed at once
_LONGEST_URL = 4096
_PAGES = ("text/html", "application/xhtml+xml", "text/plain")
_PDF, _PDF_START = "application/pdf", b"%PDF-"
_UNKNOWN_TYPES = ("", "application/octet-stream", "binary/octet-stream", "application/x-pdf")

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
    """A page was not fetched.

    Attributes
    ----------
    problem
        Why, as one word.
    """

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of fetching one page."""

    seconds: float = 30.0  # by the clock, with redirects, without waiting for a turn
    megabytes: int = 20  # MiB, as sent and also after decompression
    delay: float = 1.0  # seconds between the end of a request to a host and the next one


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page, or a PDF file, as a server sent it."""

    url: str  # after redirects
    content_type: str  # of the header, or ``application/pdf``
    content: bytes  # decompressed


@dataclass(slots=True)
class _Turn:
    """The turn of a host: one request at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last: float = float("-inf")


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
        self._turns: dict[str, _Turn] = {}
        self._rules: dict[str, asyncio.Task[RobotsRules]] = {}
        # The certificates of the operating system. No proxy: it would look up addresses itself.
        self._client = httpx.AsyncClient(
            verify=ssl.create_default_context(),
            trust_env=False,
            timeout=limits.seconds,
            # A connection is to an address: another host of that address must not get it.
            limits=httpx.Limits(max_keepalive_connections=0),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
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
        address = url
        for _ in range(_MOST_REDIRECTS + 1):
            target = _checked(address)
            rules = await self._robots(target)
            if not rules.allows(target.raw_path.decode("ascii")):
                raise FetchError("robots", f"{address}: robots.txt does not allow it")
            delay = max(self.limits.delay, min(rules.delay, _LONGEST_DELAY))
            got = await self._request(target, delay, self.limits.megabytes << 20)
            if isinstance(got, str):
                address = urljoin(address, got)
                continue
            if depth(url) > 0 and depth(address) == 0 and "?" not in address:
                raise FetchError("home_page", f"{url}: leads to the home page {address}")
            return _page(address, *got)
        raise FetchError("redirects", f"{url}: redirects more than {_MOST_REDIRECTS} times")

    async def _robots(self, target: httpx.URL) -> RobotsRules:
        site = f"{target.scheme}://{target.netloc.decode('ascii')}"
        if site not in self._rules:
            self._rules[site] = asyncio.create_task(self._fetch_robots(f"{site}/robots.txt"))
        return await asyncio.shield(self._rules[site])

    async def _fetch_robots(self, address: str) -> RobotsRules:
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                got = await self._request(_checked(address), 0.0, LONGEST, cut=True)
            except FetchError as error:
                # RFC 9309: without the file, all may be read; if the server fails, nothing.
                if error.problem in ("not_found", "refused"):
                    return RobotsRules()
                if error.problem in ("server", "too_many_requests"):
                    return NOTHING
                raise
            if not isinstance(got, str):
                return robots_rules(got[1].decode("utf-8", "replace"), AGENT)
            address = urljoin(address, got)
        return RobotsRules()

    async def _request(
        self, target: httpx.URL, delay: float, largest: int, *, cut: bool = False
    ) -> str | tuple[str, bytes]:
        turn = self._turns.setdefault(target.host, _Turn())
        async with turn.lock:
            await asyncio.sleep(turn.last + delay - time.monotonic())
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await self._send(target, largest, cut)
            except TimeoutError:
                seconds = f"{self.limits.seconds:g} seconds"
                raise FetchError("too_slow", f"{target}: took longer than {seconds}") from None
            finally:
                turn.last = time.monotonic()

    async def _send(self, target: httpx.URL, largest: int, cut: bool) -> str | tuple[str, bytes]:
        port = target.port or (443 if target.scheme == "https" else 80)
        host = target.raw_host.decode("ascii")
        try:
            addresses = await public_addresses(host, port, self._allowed)
        except PrivateAddressError as error:
            raise FetchError("private_address", str(error)) from error
        except UnknownHostError as error:
            raise FetchError("offline", str(error)) from error
        problem: httpx.TransportError | None = None
        for address in addresses:
            try:
                async with self._client.stream(
                    "GET",
                    target.copy_with(host=address),
                    headers={
                        "Host": target.netloc.decode("ascii"),
                        "User-Agent": f"{AGENT}/{admiral.__version__}",
                        "Accept": "text/html, application/xhtml+xml, application/pdf, text/plain",
                        "Accept-Encoding": "gzip, deflate",
                    },
                    extensions={"sni_hostname": host},
                ) as response:
                    if response.is_redirect and "location" in response.headers:
                        return response.headers["location"]
                    _check_status(target, response.status_code)
                    content = await _content(target, response, largest, cut)
                    return response.headers.get("content-type", ""), content
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = error
            except httpx.InvalidURL as error:
                raise FetchError("not_a_page", f"{target}: redirects to no address") from error
            except httpx.TransportError as error:
                reason = str(error) or type(error).__name__
                raise FetchError(
                    "connection", f"{target}: the connection broke ({reason})"
                ) from error
        raise FetchError("connection", f"{target}: no connection ({problem})")


def _checked(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url if len(url) <= _LONGEST_URL else "")
        if target.scheme in ("http", "https") and target.host:
            return target.copy_with(fragment=None, username="", password="")
    except httpx.InvalidURL:
        pass
    raise FetchError("not_a_page", f"{url[:_LONGEST_URL]}: is no address of HTTP")


def _check_status(target: httpx.URL, status: int) -> None:
    if status == httpx.codes.OK:
        return
    problem: Problem = "refused"
    if status in (404, 410):
        problem = "not_found"
    elif status == httpx.codes.TOO_MANY_REQUESTS:
        problem = "too_many_requests"
    elif status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.REQUEST_TIMEOUT:
        problem = "server"
    raise FetchError(problem, f"{target}: the server answers {status}")


async def _content(target: httpx.URL, response: httpx.Response, largest: int, cut: bool) -> bytes:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    content = bytearray()
    received = 0
    async for piece in _decoded(target, response.aiter_raw(_CHUNK), encoding):
        received += piece[0]
        content += piece[1]
        if received > largest or len(content) > largest:
            if cut:
                return bytes(content[:largest])
            raise FetchError("too_large", f"{target}: is larger than {largest >> 20} MiB")
    return bytes(content)


async def _decoded(
    target: httpx.URL, raw: AsyncIterator[bytes], encoding: str
) -> AsyncIterator[tuple[int, bytes]]:
    """Yield pieces of a body with the number of bytes received for each.

    A piece is decompressed to a few bytes at a time, however much more it holds.
    """
    if encoding in ("", "identity"):
        async for chunk in raw:
            yield len(chunk), chunk
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise FetchError(
            "not_a_page", f"{target}: has the encoding {encoding}, which was not asked"
        )
    decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # of gzip or zlib
    is_first = True
    async for chunk in raw:
        if is_first and chunk and encoding == "deflate" and chunk[0] & 0x0F != zlib.DEFLATED:
            decoder = zlib.decompressobj(wbits=-zlib.MAX_WBITS)  # as some servers send it
        is_first = False
        count, rest = len(chunk), chunk
        while rest:
            try:
                piece = decoder.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise FetchError("connection", f"{target}: is damaged ({error})") from error
            yield count, piece
            count, rest = 0, decoder.unconsumed_tail
    yield 0, decoder.flush()  # what is left of one symbol
    if not decoder.eof:
        raise FetchError("connection", f"{target}: ends too early")


def _page(url: str, header: str, content: bytes) -> FetchedPage:
    kind = header.partition(";")[0].strip().lower()
    if content.startswith(_PDF_START):
        return FetchedPage(url, _PDF, content)
    if kind in _UNKNOWN_TYPES and re.match(rb"\s*<(!doctype html|html|head|body)\b", content, re.I):
        return FetchedPage(url, "text/html", content)
    if kind not in _PAGES:
        what = kind if kind not in ("", _PDF) else "something that is no page"
        raise FetchError("not_a_page", f"{url}: the server sends {what}")
    if not content.strip():
        raise FetchError("not_a_page", f"{url}: the server sends nothing")
    return FetchedPage(url, header, content)
