"""The application of the service in processes of Ray Serve, on one or more machines.

Requests and answers are plain texts, numbers and bytes, so that Ray pickles no objects of this
package, and nodes only have to agree on the release.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message

from admiral.cluster.distributed_retrieval import worker_config
from admiral.cluster.ray_session import LOCAL, connect_ray, count_workers, load_ray
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError, first_line
from admiral.serving.application import create_app
from admiral.serving.claim_queue import QueueFullError
from admiral.serving.kb_names import check_kbs
from admiral.serving.replica_front import ReplicaLostError, create_front
from admiral.serving.service import Service, ServiceLimits
from admiral.storage import is_bundled

# Requests beyond the places of the queue that a replica takes: those that read documents.
_READS = 64
_NAME = "admiral"
_HEALTH_SECONDS = 2.0
_METRICS_SECONDS = 5.0


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

    Parameters
    ----------
    description
        What to open, as JSON: ``kbs``, ``config`` and ``limits``.
    """

    def __init__(self, description: str) -> None:
        given = json.loads(description)
        limits, config = ServiceLimits(**given["limits"]), RetrievalConfig(**given["config"])
        self._service = Service.open(given["kbs"], config, limits)
        self.app = create_app(self._service)

    async def answer(self, request: dict[str, Any], body: bytes) -> AsyncGenerator[Message, None]:
        """Yield the messages of a response, see `ReplicaFront`.

        Parameters
        ----------
        request
            The scope of ASGI: method, path, query and headers.
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
    """The replicas of a deployment of `Replica`, see `admiral.serving.replica_front.Replicas`."""

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
            answer.cancel()

    async def metrics(self) -> dict[str, bytes]:
        """Return the metrics of each replica that gives them in time, by its name."""
        response = self._handle.broadcast("metrics")
        given = await response.results_async(timeout_s=_METRICS_SECONDS, return_exceptions=True)
        return dict(each for each in given if not isinstance(each, BaseException))


def load_serve() -> Any:
    """Import Ray Serve and return the package.

    Raises
    ------
    AdmiralError
        If it is not installed.
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

    Parameters
    ----------
    kbs
        Names or directories of knowledge bases, the same on every node.
    limits
        The limits of requests; `places` are those of each replica.
    api_keys
        Keys of which each request must give one; none for no check.
    hosts
        As for `AccessMiddleware`.

    Raises
    ------
    AdmiralError
        If Ray Serve is not installed, there is no such knowledge base, no cluster or no room, or
        replicas cannot start.
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
        try:
            try:
                handle = serve.run(deployment.bind(description), name=_NAME, route_prefix=None)
            except RuntimeError as error:
                raise AdmiralError(
                    f"--engine ray: the replicas cannot be started ({first_line(error)}). Ray's "
                    "session directory has their log; see whether `admiral serve` starts alone"
                ) from error
            yield create_front(RayReplicas(handle), limits, api_keys, hosts)
        finally:
            serve.delete(_NAME)


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
