"""Retrieve for many claims on the cores and GPUs of a Ray cluster, with Ray Data.

Ray Data hands out blocks of claims to a pool of workers, each of which has opened the system, and
keeps the order of the claims. It starts a worker again whose process or node has died, and repeats
the blocks that it lost. Claims and outcomes are sent as JSON, so Ray pickles no objects but the
settings.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from admiral.config import FILE_SETTINGS, ClusterOptions, RetrievalConfig
from admiral.errors import AdmiralError, first_line, last_line
from admiral.models.checkpoint import choose_precision
from admiral.records import Claim, Record
from admiral.requirements import is_bundled
from admiral.retrieval.provenance import recorded_settings

_LOCAL = "local"
_CONNECT_SECONDS = 10.0
# Size of a block, in batches: large enough that claims which stop early make room for others.
_BATCHES_PER_BLOCK = 4
# Minimum number of blocks for each worker, so that no worker waits long for the last one.
_BLOCKS_PER_WORKER = 4
_RESTARTS = 3  # of a worker


def worker_config(config: RetrievalConfig, options: ClusterOptions) -> RetrievalConfig:
    """Return the settings of a worker, with absolute paths."""
    device, gpus = config.device, options.gpus_per_worker
    if device.startswith("cuda"):
        if not gpus:
            raise AdmiralError(f"device {device!r}: the workers have no GPU; add --gpus-per-worker")
        device = "cuda"  # Ray makes only its own GPU visible to a worker
    if device == "auto" and not gpus:
        device = "cpu"
    adapted = config.changed(device=device, threads=config.threads or options.cpus_per_worker)
    # Resolved here to be the same on all nodes; this node may have no GPU even if the others do.
    precision = choose_precision(adapted.changed(device="cuda") if gpus else adapted)
    paths = {}
    for key in ("model", "kb", *FILE_SETTINGS):
        value = getattr(config, key)
        if value and not is_bundled(value) and Path(value).exists():
            # Workers have another working directory.
            paths[key] = str(Path(value).absolute())
    return adapted.changed(precision=precision, **paths)


class Retriever:
    """A worker, which Ray Data calls with blocks of claims.

    `config`: its settings, see `worker_config`. `expected`: what `recorded_settings` returns for
    them where the run was started, as JSON. If the system cannot be opened, or is another one, the
    outcome of every block is a record with the field ``problem``.
    """

    def __init__(self, config: RetrievalConfig, expected: str) -> None:
        from admiral.pipeline import Admiral

        self._problem = ""
        try:
            _check_equal(recorded_settings(config), json.loads(expected))
            self._system = Admiral.from_pretrained(config=config)
        except AdmiralError as error:
            self._problem = f"node {platform.node()}: {error}"

    def __call__(self, block: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return the outcome of each claim: its record, or one with the field ``error``."""
        if self._problem:
            return {"outcome": [json.dumps({"problem": self._problem})]}
        claims = [Claim(*json.loads(claim)) for claim in block["claim"]]
        outcomes: list[Record]
        try:
            outcomes = [result.to_json() for result in self._system.retrieve_many(claims)]
        except Exception:  # of one of the claims
            outcomes = [self._retrieve_alone(claim) for claim in claims]
        return {"outcome": list(map(json.dumps, outcomes))}

    def _retrieve_alone(self, claim: Claim) -> Record:
        try:
            return self._system.retrieve(claim).to_json()
        except Exception as error:
            kind = "" if isinstance(error, AdmiralError) else f"{type(error).__name__}: "
            return {"id": claim.id, "claim": claim.text, "error": kind + first_line(error)}


def _check_equal(own: Record, expected: Record) -> None:
    for key in sorted(own.keys() | expected.keys()):
        if own.get(key) != expected.get(key):
            raise AdmiralError(
                f"{key} is {own.get(key)!r} and not {expected.get(key)!r} as where the run was "
                "started. Install the same release, model and knowledge base, at the same place, "
                "on every node"
            )


def retrieve_on_cluster(
    config: RetrievalConfig, claims: Iterable[Claim], options: ClusterOptions
) -> Iterator[Record]:
    """Yield the record of each claim in order; that of one that fails has the field ``error``.

    The paths of `config` must lead to the same content on every node.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # is read when Ray is imported
    import ray
    import ray.data

    settings = worker_config(config, options)
    expected = json.dumps(recorded_settings(settings))
    rows = [{"claim": json.dumps([claim.id, claim.text])} for claim in claims]
    with _connected(ray, options.ray_address):
        workers = options.workers or _room(ray, options)
        size = min(
            _BATCHES_PER_BLOCK * config.batch_size, len(rows) // _BLOCKS_PER_WORKER // workers
        )
        blocks = math.ceil(len(rows) / max(size, 1))
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.WARNING)
        dataset = ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
            Retriever,
            fn_constructor_args=(settings, expected),
            batch_size=None,  # a block at a time
            compute=ray.data.ActorPoolStrategy(size=min(workers, blocks)),
            # Ray Data calls both at once experimental.
            num_cpus=None if options.gpus_per_worker else options.cpus_per_worker,
            num_gpus=options.gpus_per_worker or None,
            max_restarts=_RESTARTS,
            max_task_retries=_RESTARTS,
        )
        try:
            for row in dataset.iter_rows():
                outcome: Record = json.loads(row["outcome"])
                if "problem" in outcome:
                    raise AdmiralError(outcome["problem"])
                yield outcome
        except ray.exceptions.RayError as error:
            raise AdmiralError(
                f"--engine ray: the run has ended ({last_line(error)}). Ray's logs have the "
                "reason, such as too little memory; the same command resumes it"
            ) from error


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    """Connect to a cluster for the time of the block, or start one on this machine."""
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == _LOCAL:
        options["include_dashboard"] = False
    host, colon, port = address.rpartition(":")
    try:
        if colon:  # Ray itself waits long for a cluster that is not there
            socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
        ray.init(address=address, **options)
    except Exception as error:  # of no class of its own if a node does not start in time
        raise AdmiralError(
            f"--ray-address {address}: no cluster can be joined or started there "
            f"({first_line(error)}). Start one with `ray start --head`, or do without --engine ray"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _room(ray: Any, options: ClusterOptions) -> int:
    """Return how many workers the nodes of the cluster can hold."""
    cpus, gpus = options.cpus_per_worker, options.gpus_per_worker
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
