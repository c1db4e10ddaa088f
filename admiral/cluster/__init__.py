"""Runs on many machines with Ray: retrieval of chunks of claims, and builds of knowledge bases.

`connect_ray` connects to a cluster, or starts one on this machine.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from admiral.errors import AdmiralError, first_line
from admiral.kb.store.index_building import BuildWorkers
from admiral.requirements import missing_extra

LOCAL = "local"
#: What needs Ray, and what to do without it.
RAY_MESSAGE = ("--engine ray, on every node,", "use --engine local")
_CONNECT_SECONDS = 10.0
_FAULT_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_SIGACTION_BYTES = 1024  # an upper bound; a struct sigaction has 152 bytes on Linux x86-64


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The cluster of a run and the resources of its workers."""

    # ``HOST:PORT`` of a cluster, ``auto`` for the one that runs on this machine, or ``local`` to
    # start one on this machine that ends with the run
    address: str = LOCAL
    workers: int = 0  # number of workers; 0 for as many as the cluster can hold at the start
    # cpus, gpus: CPUs and GPUs of each worker. A worker uses as many threads as CPUs. Fractions of
    # a GPU let several workers share it.
    cpus: int = 1
    gpus: float = 0.0
    attempts: int = 3  # number of times that a single claim may fail before it is given up
    # time limit for each claim. A worker that exceeds it for its chunk is replaced.
    claim_seconds: float = 300.0

    def __post_init__(self) -> None:
        minima = {"workers": 0, "cpus": 1, "gpus": 0, "attempts": 1, "claim_seconds": 1}
        for name, minimum in minima.items():
            if not getattr(self, name) >= minimum:
                problem = f"{getattr(self, name)} is too small; the least is {minimum}"
                raise AdmiralError(f"setting {name!r} of the cluster: {problem}")


def load_ray(module: str = "ray", extra: str = "ray") -> Any:
    """Import Ray or one of its modules, and return it.

    Raises MissingPackagesError if it is not installed.
    """
    # Ray reads these when it is imported: send no usage statistics, and start no other cluster for
    # the threads of Ray Serve once a lost one is left.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(extra, *RAY_MESSAGE) from error


@contextmanager
def connect_ray(address: str) -> Iterator[Any]:
    """Yield the Ray package, connected to a cluster for the time of the block.

    If this process is already connected, that connection is used and stays open. Raises
    AdmiralError if Ray is not installed, or there is no cluster at the address.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        options["include_dashboard"] = False
    try:
        _check_port(address)
        with preserve_fault_handlers():
            ray.init(address=address, **options)
    except Exception as error:  # of no class of its own if a node does not start in time
        if address == LOCAL:
            raise AdmiralError(
                f"Ray cannot be started on this machine ({first_line(error)}). Try again when it "
                "is less busy, or do without --engine ray"
            ) from error
        raise AdmiralError(
            f"--ray-address {address}: no cluster can be joined there ({first_line(error)}). "
            "Start one with `ray start --head`, or leave the option out to have one on this machine"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def count_workers(ray: Any, cpus: int, gpus: float) -> int:
    """Return how many workers the nodes of the cluster can hold.

    Raises AdmiralError if no node can hold a worker.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    workers = 0
    for node in nodes:
        by_cpus = int(node.get("CPU", 0) // cpus)
        workers += min(by_cpus, int(node.get("GPU", 0) / gpus)) if gpus else by_cpus
    if not workers:
        resources = "; ".join(f"{n.get('CPU', 0):g} CPUs, {n.get('GPU', 0):g} GPUs" for n in nodes)
        raise AdmiralError(
            f"no node of the cluster has {cpus} CPUs and {gpus:g} GPUs for a worker (there are: "
            f"{resources}). Ask for fewer with --cpus-per-worker and --gpus-per-worker"
        )
    return workers


@contextmanager
def preserve_fault_handlers() -> Iterator[None]:
    """Restore the signal handlers for faults after the block.

    Ray installs its own, which print where a process crashed, in place of Java's. Java uses SIGSEGV
    for null pointers and handles it; with Ray's handler, the process would die. If Ray starts
    first, Java calls its own handler first, and nothing is lost.
    """
    # Python's signal module only knows handlers written in Python.
    library = ctypes.CDLL(None)
    handlers = {fault: ctypes.create_string_buffer(_SIGACTION_BYTES) for fault in _FAULT_SIGNALS}
    for fault, action in handlers.items():
        library.sigaction(int(fault), None, action)
    try:
        yield
    finally:
        for fault, action in handlers.items():
            library.sigaction(int(fault), action, None)


def _check_port(address: str) -> None:
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()


# Submitted tasks for each one that can run, so that the next starts as soon as one ends.
_TASKS_PER_WORKER = 4


@contextmanager
def ray_build_workers(options: ClusterOptions) -> Iterator[BuildWorkers]:
    """Connect to a cluster and yield its workers, for `admiral.kb.build`.

    Raises AdmiralError if Ray is not installed, there is no cluster, or no node has the resources
    of a worker.
    """
    with connect_ray(options.address) as ray:
        count = options.workers or _TASKS_PER_WORKER * count_workers(
            ray, options.cpus, options.gpus
        )
        yield BuildWorkers(partial(_map, ray, options, count))


def _map(
    ray: Any, options: ClusterOptions, count: int, work: Callable[[Any], Any], jobs: Sequence[Any]
) -> Iterator[Any]:
    task = ray.remote(_attempt).options(
        num_cpus=options.cpus,
        num_gpus=options.gpus,
        max_retries=options.attempts - 1,
        scheduling_strategy="SPREAD",
    )
    waiting, running = iter(jobs), deque[Any]()
    try:
        while True:
            while len(running) < count and (job := next(waiting, None)) is not None:
                running.append(task.remote(work, job))
            if not running:
                return
            result, problem = _result(ray, running.popleft(), options.attempts)
            if problem:
                raise AdmiralError(problem)
            yield result
    finally:
        for future in running:
            ray.cancel(future)


def _attempt(work: Callable[[Any], Any], job: Any) -> tuple[Any, str]:
    try:
        return work(job), ""
    except AdmiralError as error:
        return None, str(error)


def _result(ray: Any, future: Any, attempts: int) -> Any:
    try:
        return ray.get(future)
    except ray.exceptions.RayTaskError:
        raise  # a bug; keep its traceback
    except ray.exceptions.RayError as error:
        raise AdmiralError(
            f"a part of the build failed {attempts} times ({first_line(error)}). See Ray's "
            "logs for the reason, such as too little memory"
        ) from error
