"""Middleware: host names, API keys, limits of bodies, security headers, log and metrics.

Requests are counted as metrics in the format of Prometheus.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from admiral.errors import AdmiralError
from admiral.serving.document_uploads import UPLOADS
from admiral.serving.page_audits import AUDIT_PAGES, AUDITS, PAGE_PATHS
from admiral.serving.request_models import ProblemError
from admiral.serving.service import Service, ServiceLimits

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class RequestMetrics:
    """Count requests; memory and processor time are those of the process.

    `service`: its queues are read when the metrics are, and its claims are counted.
    """

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "admiral_requests", "Requests.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "admiral_request_seconds",
            "Duration of requests.",
            labels,
            buckets=_SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        service.claim_metrics.register(self._registry)
        self._registry.register(_Queues(service))

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `status` is 0 if its client left before the response."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)


class _Queues(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield the places, and how many are taken, of each queue, and its waiting claims."""
        places = GaugeMetricFamily("admiral_queue_places", "Places of a queue.", labels=["kb"])
        taken = GaugeMetricFamily(
            "admiral_queue_places_taken", "Claims that wait or are being processed.", labels=["kb"]
        )
        waiting = GaugeMetricFamily(
            "admiral_queue_waiting", "Claims that have not begun.", labels=["kb"]
        )
        for name, queue in self._service.queues.items():
            places.add_metric([name], queue.places)
            taken.add_metric([name], queue.taken)
            waiting.add_metric([name], queue.waiting)
        yield from (places, taken, waiting)

    def describe(self) -> Iterable[Metric]:
        """Return the names of `collect`'s metrics without reading the queues."""
        return ()


logger = logging.getLogger(__name__)

_OPEN_PATHS = ("/healthz", "/readyz", *PAGE_PATHS)
_MIN_KEY = 16
# Methods that have a label of their own: a client may send any word as a method.
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
# Files may come from slow connections: in multiples of the limit of other bodies.
_UPLOAD_PATIENCE = 20
_LOCAL = ("localhost", "127.0.0.1", "::1")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# Pages have policies of their own; nothing else is to be shown as one, or in one.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def read_api_keys(path: Path) -> list[bytes]:
    """Read API keys, one per line; blank lines and lines that begin with # are skipped.

    Raises AdmiralError if the file cannot be read, or holds no key or a short one.
    """
    try:
        lines = [line.strip() for line in path.read_bytes().splitlines()]
    except OSError as error:
        raise AdmiralError(f"{path}: the API keys cannot be read: {error.strerror}") from error
    keys = [line for line in lines if line and not line.startswith(b"#")]
    if not keys:
        raise AdmiralError(f"{path}: holds no API key. Write one key per line")
    if any(len(key) < _MIN_KEY for key in keys):
        raise AdmiralError(f"{path}: a key is shorter than {_MIN_KEY} bytes. Use a longer one")
    return keys


class AccessMiddleware:
    """Check keys and the length of bodies, count requests and log them without their contents.

    `api_keys`: keys of which requests must give one, as ``Authorization: Bearer KEY``; none for no
    check. `hosts`: host names to accept in requests, in addition to the addresses of the machine;
    None accepts any. Otherwise a page from elsewhere could point its own name here (DNS rebinding).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        api_keys: Sequence[bytes],
        limits: ServiceLimits,
        metrics: RequestMetrics,
        hosts: Collection[str] | None = None,
    ) -> None:
        self._app, self._api_keys = app, api_keys
        self._hosts = None if hosts is None else {name.lower() for name in hosts}
        self._limits, self._metrics = limits, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id, started, status = uuid.uuid4().hex, time.perf_counter(), 0

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._checked(scope, receive, send_named)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.observe(method, route, status, seconds)
            record = {
                "request": request_id,
                "method": method,
                "route": route,
                "status": status,
                "seconds": round(seconds, 4),
            }
            logger.info(json.dumps(record))

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if foreign := self._foreign(scope["method"], headers):
            await foreign.response()(scope, receive, send)
            return
        if not self._allowed(scope["path"], headers):
            problem = ProblemError(
                401,
                "the API key is missing or unknown",
                "Send the header `Authorization: Bearer KEY`",
                headers={"WWW-Authenticate": "Bearer"},
            )
            await problem.response()(scope, receive, send)
            return
        length = headers.get("content-length", "0")
        limits = self._limits
        most, remedy, patience = {
            AUDITS: (limits.page_bytes, "Send its sections one by one", 1),
            UPLOADS: (limits.upload_bytes, "Send fewer or smaller files", _UPLOAD_PATIENCE),
        }.get(scope["path"], (limits.body_bytes, "Send fewer or shorter claims", 1))
        too_long = ProblemError(413, f"the body is longer than {most} bytes", remedy)
        if not length.isdecimal() or int(length) > most:
            await too_long.response()(scope, receive, send)
            return
        read, complete = 0, False
        seconds = patience * limits.read_seconds
        end = asyncio.get_running_loop().time() + seconds

        async def receive_counted() -> Message:
            nonlocal read, complete
            if complete:  # what follows is the end of the connection
                return await receive()
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError as error:
                raise _too_slow(seconds) from error
            complete = not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > most:  # only with a body of unknown length
                raise too_long
            return message

        await self._app(scope, receive_counted, send)

    def _foreign(self, method: str, headers: Headers) -> ProblemError | None:
        """Return what is wrong with the host or the origin of a request, if anything is."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host and self._hosts is not None and not self._is_own(host):
            return ProblemError(
                421, "this host name is not served here", "Give it to the server by --allowed-host"
            )
        if origin is None or method in _SAFE_METHODS:
            return None
        place = origin.partition("://")[2]
        name = _host_name(place)
        # Other programs of this machine have pages, too.
        is_named = self._hosts is not None and name in self._hosts and name not in _LOCAL
        if place == host or is_named:
            return None
        return ProblemError(
            403,
            "the request comes from a page of another origin",
            "Give the name of its host to the server by --allowed-host",
        )

    def _is_own(self, host: str) -> bool:
        name = _host_name(host)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return self._hosts is not None and name in self._hosts
        return True  # only a name can be made to point here

    def _allowed(self, path: str, headers: Headers) -> bool:
        if not self._api_keys or path in _OPEN_PATHS or path.startswith(AUDIT_PAGES):
            return True
        scheme, _, key = headers.get("authorization", "").partition(" ")
        given = key.strip().encode("latin-1")
        # All keys are compared, so that the time does not depend on which one matches.
        matches = [hmac.compare_digest(given, known) for known in self._api_keys]
        return scheme.lower() == "bearer" and any(matches)


def _too_slow(seconds: float) -> ProblemError:
    return ProblemError(
        408,
        f"the body has not arrived within {seconds:g} seconds",
        "Send the request again as a whole",
        headers={"Connection": "close"},
    )


def _host_name(place: str) -> str:
    """Return the name or address of ``name:port`` or ``[address]:port``, in lower case."""
    if place.startswith("["):
        return place[1:].partition("]")[0].lower()
    return place.partition(":")[0].rstrip(".").lower()
