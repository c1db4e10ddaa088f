"""Retrieval on a cluster: the pipeline in every worker, outcomes in the order of the claims."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from admiral.cluster.chunks import Failure, Ledger, Record
from admiral.cluster.ray_session import ClusterOptions, connected, room
from admiral.cluster.worker import Opener, Worker, open_system, worker_config
from admiral.cluster.worker_pool import Crew
from admiral.config import RetrievalConfig
from admiral.records import Claim
from admiral.retrieval.provenance import recorded_settings

# A lot holds so many batches: few journeys, and long enough for claims to make room for others.
_BATCHES = 4
# Every worker gets at least so many lots, so that no one waits long for the last.
_LOTS = 4
# Outcomes wait for those before them; a record takes some 30 kB.
_AHEAD_LOTS, _AHEAD_LEAST = 8, 1024


def retrieve_on_cluster(
    config: RetrievalConfig,
    claims: Iterable[Claim],
    options: ClusterOptions,
    *,
    total: int,
    opener: Opener = open_system,
) -> Iterator[Record | Failure]:
    """Yield the record of each claim, or why it was passed over, in the order of the claims.

    Plain actors do the work, not Ray Data: a driver that hands out small lots and hears of each
    one knows which claims a worker died of, can give results in order as they come, and needs no
    stage to be done before the next.

    Parameters
    ----------
    config
        Settings. The paths in it must hold the same on every node.
    claims
        Read as they are needed.
    options
        The cluster, and the workers to be had there.
    total
        How many claims there are; few of them make small lots.
    opener
        Opens the pipeline in a worker; it must be importable there.

    Raises
    ------
    AdmiralError
        If there is no Ray or no cluster, no worker finds room, or a node lacks the knowledge base
        or the checkpoint, or has other ones.
    """
    settings = worker_config(config, options.cpus, options.gpus)
    expected = json.dumps(recorded_settings(settings))
    with connected(options.address) as ray:
        count = room(ray, options.cpus, options.gpus)
        count = min(options.workers or count, max(total, 1))
        size = max(1, min(_BATCHES * config.batch_size, total // (_LOTS * count)))
        ahead = max(_AHEAD_LOTS * count * size, _AHEAD_LEAST)
        ledger = Ledger(claims, size=size, ahead=ahead, attempts=options.attempts)
        actor = ray.remote(Worker).options(
            num_cpus=options.cpus,
            num_gpus=options.gpus,
            max_restarts=0,
            scheduling_strategy="SPREAD",
        )

        def start() -> tuple[Any, Any]:
            worker = actor.remote(settings, opener)
            return worker, worker.open.remote(expected)

        crew = Crew(ray, start, count, options.claim_seconds)
        try:
            yield from _answers(ledger, crew)
        finally:
            crew.close()


def _answers(ledger: Ledger, crew: Crew) -> Iterator[Record | Failure]:
    while True:
        while crew.idle and (lot := ledger.take()):
            crew.give(lot)
        yield from ledger.in_order()
        if ledger.done:
            return
        for outcome in crew.wait():
            if outcome.error:
                ledger.failed(outcome.lot, outcome.error, apart=outcome.hung)
            else:
                ledger.answered(outcome.lot, outcome.records)
