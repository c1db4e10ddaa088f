"""Schedule claims in batches, and run retrieval for programs with an event loop.

A batch may mix claims at different hops. Each batch holds the earliest claims of the stream that
still have to make a hop; a claim that stops makes room for the next one. Several workers may share
a batch. Claims are yielded in the order of the stream, so the claims after a slow one wait for it;
the in-flight window bounds how many do.

For `await` and `async for`, one thread runs all calls, one after the other. Torch already spreads a
call over the cores, so two calls at a time would only slow each other down. Waiting calls run
between the batches of a long `aretrieve_many`.
"""

from __future__ import annotations

import asyncio
import math
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from itertools import count, islice
from types import TracebackType
from typing import Self, TypeVar

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.records import Claim, RetrievalResult, as_claim, check_claims
from admiral.retrieval.state import SearchState

_lock = threading.Lock()


def set_torch_threads(count: int) -> None:
    """Use `count` torch threads for what the calling thread computes from now on."""
    # Always ask first: a thread that has never asked would take over a later default.
    if torch.get_num_threads() == count:
        return
    with _lock, ThreadPoolExecutor(1, "admiral-default") as new_thread:
        default = new_thread.submit(torch.get_num_threads).result()
        torch.set_num_threads(count)
        new_thread.submit(torch.set_num_threads, default).result()


@contextmanager
def using_torch_threads(count: int) -> Iterator[None]:
    """Use `count` torch threads in the calling thread until the end of the block."""
    previous = torch.get_num_threads()
    set_torch_threads(count)
    try:
        yield
    finally:
        set_torch_threads(previous)


# Size of the in-flight window, in batches. Few claims take more than four hops, so a slow claim
# hardly ever makes the others wait.
WINDOW_BATCHES = 4


@dataclass(frozen=True, slots=True)
class _Share:
    """The claims of a batch that one worker takes, and the number of its torch threads."""

    claims: Sequence[SearchState]
    threads: int


class BatchScheduler:
    """Run a step function over claims, in batches, until every claim has stopped.

    - `step`: advances each claim of a batch by one hop, and sets `stopped` on those that are done.
    - `batch_size`: number of claims that are processed at a time.
    - `workers`: maximum number of threads that share a batch. A worker that runs alone uses the
      caller's thread.
    - `threads`: number of torch threads, shared by the workers. Workers that start together divide
      the free threads evenly; the first ones get the remainder.
    """

    def __init__(
        self,
        step: Callable[[Sequence[SearchState]], None],
        *,
        batch_size: int,
        workers: int = 1,
        threads: int = 1,
    ) -> None:
        self._step, self._batch_size, self._threads = step, batch_size, threads
        self._workers = min(workers, batch_size, threads)

    def run(
        self, claims: Iterable[SearchState], ready: Callable[[], bool] = lambda: True
    ) -> Iterator[SearchState]:
        """Yield the claims in order, each after it has stopped.

        `ready`: whether the stream can give its next claim without blocking. If not, the claims in
        flight continue without it. An error of the stream is raised after all claims before it have
        been yielded.
        """
        window = InFlightWindow(claims, self._batch_size, ready)
        running: dict[Future[None], _Share] = {}
        with ThreadPoolExecutor(self._workers, "admiral-hops") as pool:
            while True:
                shares = self._next_shares(window, running.values())
                if running or len(shares) > 1:
                    running |= {pool.submit(self._run_share, share): share for share in shares}
                    done = wait(running, return_when=FIRST_COMPLETED).done
                    for future in done:
                        future.result()  # raises an error of the step
                    completed = [running.pop(future) for future in done]
                elif shares:
                    with using_torch_threads(self._threads):
                        self._step(shares[0].claims)
                    completed = shares
                else:
                    break
                for share in completed:
                    window.give_back(share.claims)
                yield from window.pop_stopped()
        window.raise_stream_error()

    def _next_shares(self, window: InFlightWindow, running: Collection[_Share]) -> list[_Share]:
        threads = self._threads - sum(share.threads for share in running)
        free_places = self._batch_size - sum(len(share.claims) for share in running)
        idle = min(self._workers - len(running), threads)
        if idle < 1:
            return []
        share_size = math.ceil(self._batch_size / self._workers)
        claims = window.take(min(free_places, share_size * idle))
        stream, count = iter(claims), min(idle, len(claims))
        return [
            _Share(list(islice(stream, size)), share_threads)
            for size, share_threads in zip(
                _split_evenly(len(claims), count), _split_evenly(threads, count), strict=True
            )
        ]

    def _run_share(self, share: _Share) -> None:
        set_torch_threads(share.threads)
        self._step(share.claims)


class InFlightWindow:
    """The claims that have been read from a stream and not yet yielded, in order.

    It holds at most `WINDOW_BATCHES` times the batch size. If the stream raises an error, the
    claims before it are completed first. `ready` tells whether the next claim comes without
    blocking.
    """

    def __init__(
        self, claims: Iterable[SearchState], batch_size: int, ready: Callable[[], bool]
    ) -> None:
        self._stream, self._ready = self._read(claims), ready
        self._capacity = WINDOW_BATCHES * batch_size
        self._claims: deque[SearchState] = deque()
        self._running: set[int] = set()  # the `id()` of each claim that a worker has
        self._stream_error: Exception | None = None

    def take(self, count: int) -> list[SearchState]:
        """Return at most `count` idle claims, the earliest first, reading new ones if necessary.

        Blocks on the stream only if there are no other claims in flight.
        """
        taken = [
            claim
            for claim in self._claims
            if claim.stopped is None and id(claim) not in self._running
        ][:count]
        while len(taken) < count and len(self._claims) < self._capacity:
            if self._claims and not self._ready():
                break
            claim = next(self._stream, None)
            if claim is None:
                break
            self._claims.append(claim)
            taken.append(claim)
        self._running.update(map(id, taken))
        return taken

    def give_back(self, claims: Sequence[SearchState]) -> None:
        """Mark claims as idle again after a hop."""
        self._running.difference_update(map(id, claims))

    def pop_stopped(self) -> Iterator[SearchState]:
        """Remove and yield the claims that have stopped, up to the first one that has not."""
        while self._claims and self._claims[0].stopped is not None:
            yield self._claims.popleft()

    def raise_stream_error(self) -> None:
        """Raise the error of the stream, if there was one. Call it once no claim is left."""
        if self._stream_error is not None:
            raise self._stream_error

    def _read(self, claims: Iterable[SearchState]) -> Iterator[SearchState]:
        try:
            yield from claims
        except Exception as error:
            self._stream_error = error


def _split_evenly(total: int, count: int) -> list[int]:
    quotient, remainder = divmod(total, count) if count else (0, 0)
    return [quotient + (index < remainder) for index in range(count)]


class ReferenceCount:
    """Count the threads inside its ``with`` blocks; `close` waits until the count is zero.

    A thread that is inside may enter again, even while another thread waits in `close`.
    """

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()
        self._local = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._local, "depth", 0)
        with self._changed:
            if self._closed and not depth:
                raise closed_error()
            self._count += 1
        self._local.depth = depth + 1

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._local.depth -= 1
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Refuse new threads with an `AdmiralError`, and wait until no thread is inside."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._count == 0)


def closed_error() -> AdmiralError:
    """Return the error for a call on a closed system."""
    return AdmiralError("the system was closed. Open another one.")


T = TypeVar("T")


class AsyncRetrieval(ABC):
    """Add asynchronous methods to a class that has `retrieve`, `retrieve_many` and `close`.

    A call that is cancelled before its turn never starts. A batch that has started is completed and
    its results are dropped; the next call waits for it. In both cases the object stays usable.
    `config`: settings, of which `batch_size` is used here.
    """

    config: RetrievalConfig

    def __init__(self) -> None:
        self._worker = _CallThread()

    @abstractmethod
    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve documents and evidence for one claim."""

    @abstractmethod
    def retrieve_many(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources."""

    async def aretrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve for one claim without blocking the event loop.

        Takes the parameters of `retrieve`. Raises AdmiralError in the same cases as `retrieve`.
        """
        return await self._worker.run(lambda: self.retrieve(claim, hops))

    async def aretrieve_many(
        self,
        claims: Iterable[str | Claim] | AsyncIterable[str | Claim],
        hops: str | int | None = None,
    ) -> AsyncGenerator[RetrievalResult, None]:
        """Yield a result for each claim, in order, without blocking the event loop.

        Claims are taken `batch_size` (a setting) at a time, and the first result of a batch comes
        only after the whole batch has been read. For a slow stream, call `aretrieve` for each claim
        instead. Raises AdmiralError in the same cases as `retrieve_many`.
        """
        async with aclosing(_batches(claims, self.config.batch_size)) as batches:
            async for batch in batches:
                results, error = await self._worker.run(
                    lambda batch=batch: _collect(self.retrieve_many(batch, hops))  # type: ignore[misc]
                )
                for result in results:
                    yield result
                if error is not None:
                    raise error

    async def aclose(self) -> None:
        """Close without blocking the event loop; a batch that has started is completed first."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _CallThread:
    """A thread that runs calls in the order of their arrival; started by the first call."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        with self._lock:
            if self._closed.is_set():
                raise closed_error()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="admiral")
            future = asyncio.get_running_loop().run_in_executor(self._pool, call)
        try:
            return await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed.is_set() and (task is None or not task.cancelling()):
                raise closed_error() from None  # cancelled by `close`, not by the caller
            raise

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


async def _batches(
    claims: Iterable[str | Claim] | AsyncIterable[str | Claim], size: int
) -> AsyncGenerator[list[Claim], None]:
    """Yield the claims in lists of `size`; the last one may be shorter.

    An error of the stream is raised after the claims before it have been yielded.
    """
    batch: list[Claim] = []
    numbers = count(1)  # default ids count across batches, each of which is a call of its own
    stream_error: Exception | None = None
    try:
        async for claim in claims if isinstance(claims, AsyncIterable) else _as_async(claims):
            batch.append(as_claim(claim, next(numbers)))
            if len(batch) == size:
                yield batch
                batch = []
    except Exception as error:
        stream_error = error
    if batch:
        yield batch
    if stream_error is not None:
        raise stream_error


async def _as_async(claims: Iterable[str | Claim]) -> AsyncGenerator[str | Claim, None]:
    for claim in check_claims(claims):
        yield claim


def _collect(stream: Iterator[RetrievalResult]) -> tuple[list[RetrievalResult], Exception | None]:
    results = []
    try:
        for result in stream:
            results.append(result)
    except Exception as error:
        return results, error
    return results, None
