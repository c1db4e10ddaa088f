"""Retrieval on a cluster: every worker runs the pipeline; results keep the order of the claims."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from admiral.cluster.chunks import FailedClaim, Record, RetryQueue
from admiral.cluster.ray_session import ClusterOptions, connect_ray, count_workers
from admiral.cluster.worker import Opener, Worker, open_system, worker_config
from admiral.cluster.worker_pool import WorkerPool
from admiral.config import RetrievalConfig
from admiral.records import Claim
from admiral.retrieval.provenance import recorded_settings

# Size of a chunk in batches: large enough that claims which stop early make room for others.
_BATCHES_PER_CHUNK = 4
# Minimum number of chunks for each worker, so that no worker waits long for the last one.
_CHUNKS_PER_WORKER = 4
# Outcomes wait in memory for those before them, at about 30 kB a record.
_AHEAD_CHUNKS, _MIN_AHEAD = 8, 1024


def retrieve_on_cluster(
    config: RetrievalConfig,
    claims: Iterable[Claim],
    options: ClusterOptions,
    *,
    total: int,
    opener: Opener = open_system,
) -> Iterator[Record | FailedClaim]:
    """Yield the record of each claim, or its failure, in the order of the claims.

    This uses plain Ray actors, not Ray Data: a driver that submits small chunks one by one knows
    which claims a worker died of, and can yield results in order as soon as they are complete.
    `config`: settings. Their paths must lead to the same content on every node. `opener`: opens the
    pipeline in a worker. Must be importable there. Raises AdmiralError if Ray is not installed,
    there is no cluster, no node has the resources of a worker, or a node has no knowledge base or
    checkpoint or different ones.
    """
    settings = worker_config(config, options.cpus, options.gpus)
    expected = json.dumps(recorded_settings(settings))
    with connect_ray(options.address) as ray:
        count = count_workers(ray, options.cpus, options.gpus)
        count = min(options.workers or count, max(total, 1))
        size = max(
            1, min(_BATCHES_PER_CHUNK * config.batch_size, total // (_CHUNKS_PER_WORKER * count))
        )
        ahead = max(_AHEAD_CHUNKS * count * size, _MIN_AHEAD)
        queue = RetryQueue(claims, size=size, ahead=ahead, attempts=options.attempts)
        actor = ray.remote(Worker).options(
            num_cpus=options.cpus,
            num_gpus=options.gpus,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )

        def start() -> tuple[Any, Any]:
            worker = actor.remote(settings, opener)
            return worker, worker.open.remote(expected)

        pool = WorkerPool(ray, start, count, options.claim_seconds)
        try:
            yield from _outcomes(queue, pool)
        finally:
            pool.close()


def _outcomes(queue: RetryQueue, pool: WorkerPool) -> Iterator[Record | FailedClaim]:
    while True:
        while pool.idle and (chunk := queue.take()):
            pool.submit(chunk)
        yield from queue.in_order()
        if queue.done:
            return
        for result in pool.wait():
            if result.error:
                queue.failed(result.chunk, result.error, split=result.timed_out)
            else:
                queue.succeeded(result.chunk, result.records)
