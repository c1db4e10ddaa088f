"""The front of replicas: accepts requests, passes them on, and repeats those that a replica lost.

All requests only read, so they may be repeated. Ray Serve itself does not repeat a request whose
replica has ended: its own HTTP proxy answers 500.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from admiral.serving.access import AccessMiddleware
from admiral.serving.application import ROUTERS
from admiral.serving.problems import ProblemError, problem_of
from admiral.serving.request_metrics import RequestMetrics
from admiral.serving.retrieval_routes import disconnect, problem_event
from admiral.serving.service import ServiceLimits

# Replicas that a request may lose: more suggest that the request itself ends them.
_MAX_LOST = 3
# Seconds before a request is repeated.
_PAUSE = 0.2
# Seconds beyond the deadline, which replicas keep themselves.
_GRACE = 5.0
_START, _BODY = "http.response.start", "http.response.body"
_FORWARDED = ("method", "path", "raw_path", "query_string", "scheme", "http_version")
_TOO_MANY = 429


class ReplicaLostError(Exception):
    """A replica has ended before its response was complete."""


class Replicas(Protocol):
    """Processes that have the application of the service."""

    def ask(self, request: dict[str, Any], body: bytes) -> AsyncGenerator[Message, None]:
        """Yield the messages of a response (ASGI).

        Raises
        ------
        ReplicaLostError
            If the replica has ended.
        QueueFullError
            If no replica takes the request.
        """
        ...

    async def metrics(self) -> Mapping[str, bytes]:
        """Return the metrics of each replica by its name."""
        ...


def create_front(
    replicas: Replicas,
    limits: ServiceLimits,
    api_keys: Sequence[bytes] = (),
    hosts: Collection[str] | None = None,
) -> ASGIApp:
    """Return the application that passes requests on to replicas.

    Parameters
    ----------
    limits
        The limits of requests; those of the replicas are the same.
    api_keys
        Keys of which each request must give one; none for no check.
    hosts
        As for `AccessMiddleware`.
    """
    metrics = RequestMetrics()
    return AccessMiddleware(
        _Front(replicas, limits.deadline + _GRACE, metrics),
        api_keys=api_keys,
        limits=limits,
        metrics=metrics,
        hosts=hosts,
    )


class _Front:
    def __init__(self, replicas: Replicas, deadline: float, metrics: RequestMetrics) -> None:
        self._replicas, self._deadline, self._metrics = replicas, deadline, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = _route(scope)
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        except ProblemError as problem:  # the body is too long
            await problem.response()(scope, receive, send)
            return
        answering = asyncio.ensure_future(self._answer(scope, body, send))
        leaving = asyncio.ensure_future(disconnect(request))
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering

    async def _answer(self, scope: Scope, body: bytes, send: Send) -> None:
        started = False
        try:
            async with asyncio.timeout(self._deadline):
                if scope["path"] == "/healthz":
                    await PlainTextResponse("ok")(scope, _never, send)
                    return
                if scope["path"] == "/metrics":
                    text = self._metrics.text_with(await self._replicas.metrics())
                    response = Response(text, media_type=CONTENT_TYPE_LATEST)
                    await response(scope, _never, send)
                    return
                async with aclosing(self._messages(_forwarded(scope), body)) as messages:
                    async for message in messages:
                        started = True
                        await send(message)
        except Exception as error:
            problem = problem_of(error)
            if not started:
                await problem.response()(scope, _never, send)
            else:  # only streams are sent in parts
                await send({"type": _BODY, "body": problem_event(problem)})

    async def _messages(
        self, request: dict[str, Any], body: bytes
    ) -> AsyncGenerator[Message, None]:
        """Yield the messages of a response; streams are passed on as they come."""
        lost, started = 0, False
        while True:
            held: list[Message] = []
            stream = False
            try:
                async with aclosing(self._replicas.ask(request, body)) as messages:
                    async for message in messages:
                        stream = stream or _begins_stream(message)
                        if not stream:
                            held.append(message)
                        elif message["type"] == _BODY or not started:
                            started = True
                            yield message
            except ReplicaLostError as error:
                lost += 1
                if lost == _MAX_LOST:
                    raise ProblemError(
                        503,
                        f"{lost} replicas have ended while they processed the request",
                        "Try again later, or send a shorter claim",
                    ) from error
            else:
                # A request that was accepted once is not refused because a replica has ended.
                if not (lost and held and held[0]["status"] == _TOO_MANY):
                    if started and held:
                        raise _problem(held)
                    for message in held:
                        yield message
                    return
            await asyncio.sleep(_PAUSE)


def _route(scope: Scope) -> Any:
    """Return the route of the application that a request has, for the log and the metrics."""
    for router in ROUTERS:
        for route in router.routes:
            if route.matches(scope)[0] is Match.FULL:
                return route
    return None


def _forwarded(scope: Scope) -> dict[str, Any]:
    """Return what a replica reads of a request; the key has been checked."""
    headers = [
        (bytes(name), bytes(value))
        for name, value in scope["headers"]
        if name.lower() != b"authorization"
    ]
    return {**{name: scope[name] for name in _FORWARDED}, "headers": headers}


def _begins_stream(message: Message) -> bool:
    return message["type"] == _START and any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in message["headers"]
    )


def _problem(response: Sequence[Message]) -> ProblemError:
    """Return the problem of a response, to end a stream that has begun before."""
    record = json.loads(b"".join(message.get("body", b"") for message in response))
    return ProblemError(
        record["status"], record["detail"], record["remedy"], record.get("field", "")
    )


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError
