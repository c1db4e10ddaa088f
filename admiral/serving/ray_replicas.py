"""The application of the service in processes of Ray Serve, on one or more machines.

Requests and answers are plain texts, numbers and bytes, so that Ray pickles no objects of this
package, and nodes only have to agree on the release.

The front accepts requests, passes them on, and repeats those that a replica lost. All requests only
read, so they may be repeated. Ray Serve itself does not repeat a request whose replica has ended:
its own HTTP proxy answers 500.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from admiral.cluster import LOCAL, connect_ray, count_workers, load_ray
from admiral.cluster.distributed_retrieval import worker_config
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError, first_line
from admiral.requirements import is_bundled
from admiral.serving.access import AccessMiddleware, RequestMetrics
from admiral.serving.application import ROUTERS, create_app
from admiral.serving.claim_queue import QueueFullError
from admiral.serving.request_models import ProblemError, problem_of
from admiral.serving.retrieval_routes import disconnect, problem_event
from admiral.serving.service import Service, ServiceLimits, check_kbs

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

        Raises ReplicaLostError if the replica has ended. Raises QueueFullError if no replica takes
        the request.
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

    `limits`: the limits of requests; those of the replicas are the same. `api_keys`: keys of which
    each request must give one; none for no check. `hosts`: as for `AccessMiddleware`.
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
            # A request that was accepted once is not refused because a replica has ended.
            except QueueFullError:
                if not lost:
                    raise
            else:
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


# Requests beyond the places of the queue that a replica takes: those that read documents.
_READS = 64
_NAME = "admiral"
_HEALTH_SECONDS = 2.0
_METRICS_SECONDS = 5.0
# Seconds without Ray's head until the service ends. Ray itself aborts the process after 60.
_HEAD_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """The replicas of a service.

    Attributes
    ----------
    address
        ``HOST:PORT`` of a cluster, ``auto`` for the one that runs on this machine, or ``local`` to
        start one on this machine that ends with the service.
    replicas
        Number of replicas at the start, and the least.
    max_replicas
        The most; more than `replicas` lets Ray Serve start some while many requests are in flight.
    cpus, gpus
        CPUs and GPUs of each replica. Fractions of a GPU let several replicas share it.
    """

    address: str = LOCAL
    replicas: int = 1
    max_replicas: int = 1
    cpus: int = 1
    gpus: float = 0.0


class Replica:
    """The application of a service, which Ray Serve calls in a process of its own.

    `description`: what to open, as JSON: ``kbs``, ``config`` and ``limits``.
    """

    def __init__(self, description: str) -> None:
        given = json.loads(description)
        limits, config = ServiceLimits(**given["limits"]), RetrievalConfig(**given["config"])
        self._service = Service.open(given["kbs"], config, limits)
        self.app = create_app(self._service)

    async def answer(self, request: dict[str, Any], body: bytes) -> AsyncGenerator[Message, None]:
        """Yield the messages of a response, see `ReplicaFront`.

        `request`: the scope of ASGI: method, path, query and headers.
        """
        messages: asyncio.Queue[Message | None] = asyncio.Queue()
        left = asyncio.Event()
        bodies = iter([body])

        async def receive() -> Message:
            if (unread := next(bodies, None)) is not None:
                return {"type": "http.request", "body": unread}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            messages.put_nowait(message)

        # Version 2.3 of ASGI: streams end when `receive` reports that the client has left.
        scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, **request}
        answering = asyncio.ensure_future(self.app(scope, receive, send))
        answering.add_done_callback(lambda _: messages.put_nowait(None))
        try:
            while (message := await messages.get()) is not None:
                yield message
        finally:
            left.set()
            with suppress(Exception):  # has been answered by a problem record
                await answering

    def metrics(self) -> tuple[str, bytes]:
        """Return the name of the replica, and its metrics in the format of Prometheus."""
        name: str = load_serve().get_replica_context().replica_id.unique_id
        return name, self.app.state.metrics.text()

    def check_health(self) -> None:
        """Raise an error if claims are not being processed; Ray Serve then replaces the replica.

        One whose knowledge base was cut off remains, and says so: another could not open it.
        """
        if not self._service.alive:
            raise RuntimeError("claims are not being processed")


class RayReplicas:
    """The replicas of a deployment of `Replica`, see `admiral.serving.ray_replicas.Replicas`."""

    def __init__(self, handle: Any) -> None:
        from ray import exceptions
        from ray.serve.exceptions import BackPressureError, ReplicaUnavailableError

        self._asking, self._handle = handle.options(method_name="answer", stream=True), handle
        self._refused = BackPressureError
        self._lost = (
            exceptions.RayActorError,
            exceptions.NodeDiedError,
            exceptions.ObjectLostError,
            exceptions.WorkerCrashedError,
            ReplicaUnavailableError,
        )

    async def ask(self, request: dict[str, Any], body: bytes) -> AsyncGenerator[Message, None]:
        """Yield the messages of a response."""
        answer = self._asking.remote(request, body)
        try:
            async for message in answer:
                yield message
        except self._refused as error:
            raise QueueFullError from error
        except self._lost as error:
            raise ReplicaLostError from error
        finally:
            with suppress(Exception):  # raises again what kept the request from a replica
                answer.cancel()

    async def metrics(self) -> dict[str, bytes]:
        """Return the metrics of each replica that gives them in time, by its name."""
        response = self._handle.broadcast("metrics")
        given = await response.results_async(timeout_s=_METRICS_SECONDS, return_exceptions=True)
        return dict(each for each in given if not isinstance(each, BaseException))


def load_serve() -> Any:
    """Import Ray Serve and return the package.

    Raises AdmiralError if it is not installed.
    """
    return load_ray("ray.serve", "rayserve")


@contextmanager
def front_of_replicas(
    kbs: Sequence[str],
    config: RetrievalConfig,
    limits: ServiceLimits,
    options: ReplicaOptions,
    api_keys: Sequence[bytes] = (),
    hosts: Collection[str] | None = None,
) -> Iterator[ASGIApp]:
    """Start replicas, yield the application that passes requests on to them, and end them.

    `kbs`: names or directories of knowledge bases, the same on every node. `limits`: the limits of
    requests; `places` are those of each replica. `api_keys`: keys of which each request must give
    one; none for no check. `hosts`: as for `AccessMiddleware`.

    Raises AdmiralError if Ray Serve is not installed, there is no such knowledge base, no cluster
    or no room, or replicas cannot start; and after the block if Ray's head was lost meanwhile, for
    which the process gets SIGINT.
    """
    description = _describe(kbs, config, limits, options)
    serve = load_serve()
    with connect_ray(options.address) as ray:
        room = count_workers(ray, options.cpus, options.gpus)
        if room < options.replicas:
            raise AdmiralError(
                f"--replicas {options.replicas}: the cluster has room for {room}. Give a smaller "
                "number, or a smaller --cpus-per-replica"
            )
        serve.start(proxy_location="Disabled")
        deployment = serve.deployment(
            Replica,
            name=_NAME,
            ray_actor_options={"num_cpus": options.cpus, "num_gpus": options.gpus},
            autoscaling_config={
                "min_replicas": options.replicas,
                "max_replicas": max(options.replicas, options.max_replicas),
                # As many as share a batch.
                "target_ongoing_requests": config.batch_size,
            },
            max_ongoing_requests=limits.places + _READS,
            max_queued_requests=limits.places,
            health_check_period_s=_HEALTH_SECONDS,
            graceful_shutdown_timeout_s=limits.deadline,
        )
        head = ray.get_runtime_context().gcs_address
        ended, lost = threading.Event(), threading.Event()
        try:
            try:
                handle = serve.run(deployment.bind(description), name=_NAME, route_prefix=None)
            except RuntimeError as error:
                raise AdmiralError(
                    f"--engine ray: the replicas cannot be started ({first_line(error)}). Ray's "
                    "session directory has their log; see whether `admiral serve` starts alone"
                ) from error
            threading.Thread(target=_watch, args=(head, ended, lost), daemon=True).start()
            yield create_front(RayReplicas(handle), limits, api_keys, hosts)
        finally:
            ended.set()
            if lost.is_set():
                # Its threads that outlive the connection would report that Ray is not running.
                logging.getLogger("ray.serve").disabled = True
                raise AdmiralError(
                    f"--engine ray: Ray's head ({head}) was not reached for {_HEAD_SECONDS:.0f} "
                    "seconds; without it, replicas are not replaced. Start the service again; with "
                    "--ray-address, see that the cluster runs"
                )
            serve.delete(_NAME)


def _watch(head: str, ended: threading.Event, lost: threading.Event) -> None:
    """Let the process complete its requests and end once the head is not reached any more."""
    host, _, port = head.rpartition(":")
    reached = time.monotonic()
    while not ended.wait(_HEALTH_SECONDS):
        with suppress(OSError), socket.create_connection((host, int(port)), _HEALTH_SECONDS):
            reached = time.monotonic()
        if time.monotonic() - reached >= _HEAD_SECONDS:
            lost.set()
            os.kill(os.getpid(), signal.SIGINT)
            return


def _describe(
    kbs: Sequence[str], config: RetrievalConfig, limits: ServiceLimits, options: ReplicaOptions
) -> str:
    """Return what replicas open, as JSON with absolute paths."""
    check_kbs(kbs, config)
    paths = [
        kb if is_bundled(kb) or not Path(kb).exists() else str(Path(kb).absolute()) for kb in kbs
    ]
    adapted = worker_config(config, options.cpus, options.gpus)
    return json.dumps({"kbs": paths, "config": asdict(adapted), "limits": asdict(limits)})
