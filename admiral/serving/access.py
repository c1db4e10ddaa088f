"""Middleware: host names, API keys, limits of bodies, security headers, log and metrics."""

from __future__ import annotations

import hmac
import logging
import re
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from fastapi.security.utils import get_authorization_scheme_param
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from admiral.errors import AdmiralError
from admiral.io.streams import open_binary
from admiral.serving import metrics
from admiral.serving.page_audits import AUDIT_PAGES
from admiral.serving.pages import PAGE_PATHS
from admiral.serving.problems import ProblemError, as_problem

logger = logging.getLogger(__name__)

#: Length of a body.
BODY_BYTES = 1_000_000
_OPEN_PATHS = ("/healthz", "/readyz", *PAGE_PATHS)
_MIN_KEY = 16
# Methods that have a label of their own: a client may send any word as a method.
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_LOCAL = ("localhost", "127.0.0.1")
_ADDRESS = re.compile(r"(\d+(\.\d+){3}|\[[\da-fA-F:.]+\])(:\d+)?")
# Pages have policies of their own; nothing else is to be shown as one, or in one.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def read_api_keys(path: Path) -> list[bytes]:
    """Read API keys, one per line; blank lines and lines that begin with # are skipped."""
    with open_binary(path) as file:
        lines = [line.strip() for line in file]
    keys = [line for line in lines if line and not line.startswith(b"#")]
    if not keys or min(map(len, keys)) < _MIN_KEY:
        remedy = f"Write one key of at least {_MIN_KEY} bytes per line"
        raise AdmiralError(f"{path}: holds no API key, or a shorter one. {remedy}")
    return keys


class AccessMiddleware:
    """Check hosts, origins, keys and bodies; count requests, and log them without their contents.

    `api_keys`: requests must give one, as ``Authorization: Bearer KEY``; none for no check.
    `hosts`: names to accept in requests, beside addresses; None accepts any. `body_bytes`: lengths
    of the bodies of some paths.
    """

    def __init__(
        self,
        app: ASGIApp,
        api_keys: Sequence[bytes] = (),
        hosts: Collection[str] | None = None,
        body_bytes: Mapping[str, int] | None = None,
    ) -> None:
        self._app, self._api_keys, self._body_bytes = app, api_keys, body_bytes or {}
        self._hosts = None if hosts is None else {name.lower() for name in hosts}

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

        most = self._body_bytes.get(scope["path"], BODY_BYTES)
        problem = self._problem(scope["method"], scope["path"], Headers(scope=scope), most)
        try:
            if problem is None:
                try:
                    await self._app(scope, _limited(receive, most), send_named)
                except Exception as error:
                    if status:  # the answer has begun
                        raise
                    problem = as_problem(error)
            if problem is not None:
                await problem.response()(scope, receive, send_named)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            metrics.REQUESTS.labels(method, route, str(status)).inc()
            metrics.REQUEST_SECONDS.labels(method, route).observe(seconds)
            fields = {"request": request_id, "method": method, "route": route, "status": status}
            logger.info("request", extra={"fields": {**fields, "seconds": round(seconds, 4)}})

    def _problem(self, method: str, path: str, headers: Headers, most: int) -> ProblemError | None:
        """Return what is wrong with a request before its body is read, if anything is."""
        host, origin = headers.get("host", ""), headers.get("origin")
        # Only a name can be made to point here (DNS rebinding), no address.
        known = self._hosts is None or _ADDRESS.fullmatch(host) or _host_name(host) in self._hosts
        if host and not known:
            remedy = "Give it to the server by --allowed-host"
            return ProblemError(421, "this host name is not served here", remedy)
        if origin is not None and method not in ("GET", "HEAD", "OPTIONS"):
            place = origin.partition("://")[2]
            # Other programs of this machine have pages, too.
            named = (self._hosts or set()).difference(_LOCAL)
            if place != host and _host_name(place) not in named:
                remedy = "Give the name of its host to the server by --allowed-host"
                return ProblemError(403, "the request comes from a page of another origin", remedy)
        if not self._has_key(path, headers):
            remedy = "Send the header `Authorization: Bearer KEY`"
            asked = {"WWW-Authenticate": "Bearer"}
            return ProblemError(401, "the API key is missing or unknown", remedy, headers=asked)
        length = headers.get("content-length", "0")
        return None if length.isdecimal() and int(length) <= most else _too_long(most)

    def _has_key(self, path: str, headers: Headers) -> bool:
        if not self._api_keys or path in _OPEN_PATHS or path.startswith(AUDIT_PAGES):
            return True
        scheme, key = get_authorization_scheme_param(headers.get("authorization"))
        given = key.strip().encode("latin-1")
        # All keys are compared, so that the time does not depend on which one matches.
        matches = [hmac.compare_digest(given, known) for known in self._api_keys]
        return scheme.lower() == "bearer" and any(matches)


def _limited(receive: Receive, most: int) -> Receive:
    """Return a function that receives a body of at most `most` bytes."""
    read = 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:  # only with a body of unknown length
            raise _too_long(most)
        return message

    return receive_limited


def _too_long(most: int) -> ProblemError:
    detail = f"the body is longer than {most} bytes"
    return ProblemError(413, detail, "Send less in one request: fewer claims, sections or files")


def _host_name(place: str) -> str:
    """Return the name of ``name:port``."""
    return place.partition(":")[0].rstrip(".").lower()
