"""Retrieval on a cluster: a pool of workers, each with the pipeline; results keep their order.

A chunk of claims that fails, because of an error or because its worker or node died, is retried as
a whole. If it fails again, or if its worker timed out, it is split into single claims, so that a
claim is only blamed for its own failures. A single claim that fails `attempts` times is given up.

Claims and results are sent as JSON, so that nodes only have to agree on the format of records, and
Ray pickles no objects of this package.
"""

from __future__ import annotations

import json
import logging
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admiral.cluster import ClusterOptions, connect_ray, count_workers
from admiral.config import FILE_SETTINGS, RetrievalConfig
from admiral.errors import AdmiralError, first_line, last_line
from admiral.models.checkpoint import choose_precision
from admiral.records import Claim
from admiral.requirements import is_bundled
from admiral.retrieval.provenance import recorded_settings

if TYPE_CHECKING:
    from admiral.pipeline import Admiral

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive claims that a worker retrieves together."""

    first: int
    claims: tuple[Claim, ...]
    failures: int = 0  # how often this chunk has failed


@dataclass(frozen=True, slots=True)
class FailedClaim:
    """A claim that was given up."""

    claim: Claim
    attempts: int  # how often it was tried alone
    error: str

    def to_json(self) -> Record:
        """Return the record for the file of failed claims, which can be read as claims."""
        return {
            "id": self.claim.id,
            "claim": self.claim.text,
            "attempts": self.attempts,
            "error": self.error,
        }


class RetryQueue:
    """The chunks to process, including failed ones, and the outcomes that wait for their turn.

    `ahead`: maximum number of claims that are read after the first one without an outcome. This
    bounds the memory, and what is lost if this process dies. `attempts`: number of times that a
    single claim may fail before it is given up.
    """

    def __init__(self, claims: Iterable[Claim], *, size: int, ahead: int, attempts: int) -> None:
        if min(size, attempts) < 1 or ahead < size:
            raise ValueError(f"chunks of {size}, {ahead} ahead, {attempts} attempts")
        self._claims = iter(claims)
        self._next = next(self._claims, None)
        self._size, self._ahead, self._attempts = size, ahead, attempts
        self._retries: deque[Chunk] = deque()
        self._outcomes: dict[int, Record | FailedClaim] = {}  # by index, until their turn
        self._read = self._yielded = 0

    @property
    def done(self) -> bool:
        """Whether the outcomes of all claims have been yielded."""
        return self._next is None and self._yielded == self._read

    def take(self) -> Chunk | None:
        """Return the next chunk to process, failed ones first; None if there is none for now."""
        if self._retries:
            return self._retries.popleft()
        count = min(self._size, self._yielded + self._ahead - self._read)
        if count <= 0 or self._next is None:
            return None
        claims = (self._next, *islice(self._claims, count - 1))
        self._next = next(self._claims, None)
        chunk = Chunk(self._read, claims)
        self._read += len(claims)
        return chunk

    def succeeded(self, chunk: Chunk, records: Sequence[Record]) -> None:
        """Store the records of a chunk, one for each claim in order."""
        ids = [record["id"] for record in records]
        if ids != [claim.id for claim in chunk.claims]:
            raise ValueError(f"records of {ids} for other claims")
        self._outcomes.update(enumerate(records, chunk.first))

    def failed(self, chunk: Chunk, error: str, *, split: bool = False) -> None:
        """Schedule a failed chunk again, or give up its claim.

        `split`: split it into single claims even after its first failure.
        """
        failures = chunk.failures + 1
        if len(chunk.claims) == 1:
            if failures < self._attempts:
                self._retries.append(replace(chunk, failures=failures))
            else:
                self._outcomes[chunk.first] = FailedClaim(chunk.claims[0], failures, error)
        elif failures == 1 and not split:
            self._retries.append(replace(chunk, failures=failures))
        else:
            self._retries.extend(Chunk(n, (c,)) for n, c in enumerate(chunk.claims, chunk.first))

    def in_order(self) -> Iterator[Record | FailedClaim]:
        """Yield each outcome once, in the order of the claims, as far as they are available."""
        while (outcome := self._outcomes.pop(self._yielded, None)) is not None:
            self._yielded += 1
            yield outcome


Opener = Callable[[RetrievalConfig], "Admiral"]


def open_system(config: RetrievalConfig) -> Admiral:
    """Open the checkpoint and the knowledge base of this node."""
    from admiral.pipeline import Admiral

    return Admiral.from_pretrained(config.model, kb=config.kb, config=config)


def worker_config(config: RetrievalConfig, cpus: int, gpus: float) -> RetrievalConfig:
    """Return the settings of a worker, with absolute paths.

    Raises AdmiralError if the settings name a GPU and the worker has none.
    """
    device = config.device
    if device.startswith("cuda"):
        if not gpus:
            raise AdmiralError(f"device {device!r}: the workers have no GPU; add --gpus-per-worker")
        device = "cuda"  # Ray makes only its own GPU visible to a worker
    if device == "auto" and not gpus:
        device = "cpu"
    adapted = replace(config, device=device, threads=config.threads or cpus)
    # Resolved here to be the same on all nodes; this node may have no GPU even if the others do.
    adapted.precision = choose_precision(replace(adapted, device="cuda") if gpus else adapted)
    for key in ("model", "kb", *FILE_SETTINGS):
        value = getattr(config, key)
        if value and not is_bundled(value) and Path(value).exists():
            # Workers have another working directory.
            setattr(adapted, key, str(Path(value).absolute()))
    return adapted


class Worker:
    """A Ray actor that retrieves claims. It is replaced after its first failure.

    `config`: the settings; see `worker_config`. `opener`: opens the pipeline.
    """

    def __init__(self, config: RetrievalConfig, opener: Opener) -> None:
        self._config, self._opener = config, opener
        self._system: Admiral | None = None

    def open(self, expected: str) -> str:
        """Open the pipeline; return an error message, which is empty if it succeeded."""
        from admiral.retrieval.provenance import recorded_settings

        try:
            own, driver = recorded_settings(self._config), json.loads(expected)
            for key in sorted(own.keys() | driver.keys()):
                if own.get(key) != driver.get(key):
                    raise AdmiralError(
                        f"{key} is {own.get(key)!r} and not {driver.get(key)!r} as where the run "
                        "was started. Install the same release, model and knowledge base, at the "
                        "same place, on every node"
                    )
            self._system = self._opener(self._config)
        except AdmiralError as error:
            return f"node {platform.node()}: {error}"
        return ""

    def retrieve(self, claims: str) -> str:
        """Retrieve claims.

        `claims`: JSON written by `encode_claims`. Returns ``{"records": [...]}`` as JSON, or
        ``{"error": "..."}`` if the pipeline raised an error.
        """
        assert self._system is not None
        batch = [Claim(id, text) for id, text in json.loads(claims)]
        try:
            records = [result.to_json() for result in self._system.retrieve_many(batch)]
        except Exception as error:
            return json.dumps({"error": _error_message(error)})
        return json.dumps({"records": records})


def encode_claims(claims: Sequence[Claim]) -> str:
    """Return claims as JSON for `Worker.retrieve`."""
    return json.dumps([[claim.id, claim.text] for claim in claims])


def _error_message(error: Exception) -> str:
    text, kind = " ".join(str(error).split())[:500], type(error).__name__
    if isinstance(error, AdmiralError):
        return text
    return f"{kind}: {text}" if text else kind


def decode_results(results: str) -> tuple[list[dict[str, Any]], str]:
    """Return the records and the error (empty if there was none) from `Worker.retrieve`."""
    value = json.loads(results)
    return value.get("records", []), value.get("error", "")


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


logger = logging.getLogger(__name__)

# Number of workers in a row that may die before they have opened the pipeline.
_MAX_FAILED_STARTS = 5
_POLL_SECONDS = 30.0
_START_SECONDS = 1800.0

StartWorker = Callable[[], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """The result of a chunk."""

    chunk: Chunk
    records: list[Record]
    error: str = ""
    timed_out: bool = False  # whether it failed because its worker took too long


@dataclass(frozen=True, slots=True)
class _Task:
    """A submitted chunk, the actor that has it, and its deadline on the monotonic clock."""

    actor: Any
    chunk: Chunk
    deadline: float


class WorkerPool:
    """Ray actors, each of which processes one chunk at a time.

    A worker never has more than one chunk, so that the claims it died of are known. It is replaced
    after any failure, because an error may have left its GPU or its memory unusable. The
    replacement of a worker whose node died starts as soon as the cluster has the resources.
    `start`: starts an actor. Returns its handle and the future of `Worker.open`. `claim_seconds`:
    time limit for each claim of a chunk, after which its worker is replaced.
    """

    def __init__(self, ray: Any, start: StartWorker, count: int, claim_seconds: float) -> None:
        self._ray, self._start, self._claim_seconds = ray, start, claim_seconds
        self._starting: dict[Any, Any] = {}  # future -> actor
        self._busy: dict[Any, _Task] = {}
        self._idle: list[Any] = []
        self._failed_starts = 0
        for _ in range(count):
            self._start_worker()

    @property
    def idle(self) -> bool:
        """Whether a worker is ready for a chunk."""
        return bool(self._idle)

    def submit(self, chunk: Chunk) -> None:
        """Give a chunk to an idle worker."""
        actor = self._idle.pop()
        deadline = time.monotonic() + self._claim_seconds * len(chunk.claims)
        future = actor.retrieve.remote(encode_claims(chunk.claims))
        self._busy[future] = _Task(actor, chunk, deadline)

    def wait(self) -> Iterator[ChunkResult]:
        """Wait for the next event; yield the results of completed chunks.

        Raises AdmiralError if a worker cannot open the pipeline, or no worker starts at all.
        """
        futures = [*self._busy, *self._starting]
        seconds_left = [task.deadline - time.monotonic() for task in self._busy.values()]
        timeout = max(0.0, min([_POLL_SECONDS, *seconds_left]))
        ready, _ = self._ray.wait(futures, num_returns=1, timeout=timeout)
        if ready:
            self._last_event = time.monotonic()
        elif not self._busy:
            self._check_start_time()
        for future in ready:
            if future in self._starting:
                self._worker_started(future)
            else:
                yield self._finish(future)
        yield from self._finish_overdue()

    def close(self) -> None:
        """Stop all workers."""
        actors = [
            *self._idle,
            *self._starting.values(),
            *(task.actor for task in self._busy.values()),
        ]
        for actor in actors:
            self._ray.kill(actor)
        self._idle, self._starting, self._busy = [], {}, {}

    def _finish_overdue(self) -> Iterator[ChunkResult]:
        now = time.monotonic()
        overdue = [future for future, task in self._busy.items() if task.deadline <= now]
        if not overdue:
            return
        ready, timed_out = self._ray.wait(overdue, num_returns=len(overdue), timeout=0)
        for future in ready:
            yield self._finish(future)
        for future in timed_out:
            task = self._busy.pop(future)
            limit = self._claim_seconds * len(task.chunk.claims)
            yield self._fail(task, f"no answer in {limit:.0f} s", timed_out=True)

    def _start_worker(self) -> None:
        self._last_event = time.monotonic()  # restarts the time limit for starting
        actor, future = self._start()
        self._starting[future] = actor

    def _worker_started(self, future: Any) -> None:
        actor = self._starting.pop(future)
        problem, death = self._get(future)
        if death:
            self._failed_starts += 1
            logger.warning("a worker died while it started: %s", death)
            if self._failed_starts >= _MAX_FAILED_STARTS:
                raise AdmiralError(
                    f"{self._failed_starts} workers in a row died while they opened the model and "
                    f"the knowledge base ({death}). See Ray's logs for the reason, such as too "
                    "little memory"
                )
            self._start_worker()
        elif problem:
            raise AdmiralError(problem)
        else:
            self._failed_starts = 0
            self._idle.append(actor)

    def _finish(self, future: Any) -> ChunkResult:
        task = self._busy.pop(future)
        results, death = self._get(future)
        records, error = ([], f"its worker died: {death}") if death else decode_results(results)
        if error:
            return self._fail(task, error)
        self._idle.append(task.actor)
        return ChunkResult(task.chunk, records)

    def _fail(self, task: _Task, error: str, *, timed_out: bool = False) -> ChunkResult:
        chunk = task.chunk
        more = f" and {len(chunk.claims) - 1} more" if len(chunk.claims) > 1 else ""
        failure = f"claim {chunk.claims[0].id!r}{more}: failure {chunk.failures + 1}"
        logger.warning("%s: %s", failure, error)
        self._ray.kill(task.actor)
        self._start_worker()
        return ChunkResult(chunk, [], error, timed_out)

    def _get(self, future: Any) -> tuple[str, str]:
        try:
            return self._ray.get(future), ""
        except self._ray.exceptions.RayTaskError as error:
            return "", last_line(error)
        except self._ray.exceptions.RayError as error:
            return "", first_line(error)

    def _check_start_time(self) -> None:
        seconds = time.monotonic() - self._last_event
        if seconds > _START_SECONDS:
            raise AdmiralError(
                f"no worker has started for {seconds / 60:.0f} minutes. See with `ray status` what "
                "the cluster has left, or ask for less with --cpus-per-worker and --gpus-per-worker"
            )
        logger.warning("waiting for workers to start, for %.0f s now", seconds)
