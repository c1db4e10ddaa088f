"""Ray itself: found or missed with a remedy, started or joined, and what it has to offer."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from admiral.cluster.fault_handlers import kept_fault_handlers
from admiral.errors import AdmiralError, first_line

LOCAL = "local"
_KNOCK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How a run is spread.

    Attributes
    ----------
    address
        A cluster's ``HOST:PORT``, ``auto`` for the one that runs on this machine, or ``local``: a
        cluster of this machine alone, which ends with the run.
    workers
        Actors; 0 for as many as the cluster has room for at the start.
    cpus, gpus
        Of each worker. It uses so many threads, and a GPU only if it has one; several workers
        share a GPU as fractions of it.
    attempts
        So often a claim fails alone before it is passed over.
    claim_seconds
        A worker has so many for each claim of its lot; one that takes longer is taken to hang.
    """

    address: str = LOCAL
    workers: int = 0
    cpus: int = 1
    gpus: float = 0.0
    attempts: int = 3
    claim_seconds: float = 300.0

    def __post_init__(self) -> None:
        leasts = {"workers": 0, "cpus": 1, "gpus": 0, "attempts": 1, "claim_seconds": 1}
        for name, least in leasts.items():
            if not getattr(self, name) >= least:
                problem = f"{getattr(self, name)} is too small; the least is {least}"
                raise AdmiralError(f"setting {name!r} of the cluster: {problem}")


def load_ray() -> Any:
    """Return the package, or raise `AdmiralError`, naming the remedy."""
    # Read when it is imported: a run tells nobody of itself.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise AdmiralError(
            f"--engine ray needs a package that is not installed ({error}). Install it on every "
            "node with `pip install 'admiral-retrieval[ray]'`, or use --engine local"
        ) from error
    return ray


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give Ray, joined to a cluster; one that this process has joined already is kept.

    Raises
    ------
    AdmiralError
        If there is no Ray, or no cluster at the address.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        options["include_dashboard"] = False
    try:
        _knock(address)
        with kept_fault_handlers():
            ray.init(address=address, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise AdmiralError(
            f"--ray-address {address}: no cluster can be joined there ({first_line(error)}). "
            "Start one with `ray start --head`, or leave the option out to have one on this machine"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise OSError if nobody listens at HOST:PORT, for which Ray would wait ten minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=_KNOCK_SECONDS).close()


def room(ray: Any, cpus: int, gpus: float) -> int:
    """Return how many workers of so many CPUs and GPUs each the cluster's nodes can hold.

    Raises
    ------
    AdmiralError
        If it is none.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    places = 0
    for node in nodes:
        fits = int(node.get("CPU", 0) // cpus)
        places += min(fits, int(node.get("GPU", 0) / gpus)) if gpus else fits
    if not places:
        found = "; ".join(f"{n.get('CPU', 0):g} CPUs, {n.get('GPU', 0):g} GPUs" for n in nodes)
        raise AdmiralError(
            f"no node of the cluster has {cpus} CPUs and {gpus:g} GPUs for a worker (there are: "
            f"{found}). Ask for fewer with --cpus-per-worker and --gpus-per-worker"
        )
    return places
