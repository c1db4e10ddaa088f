"""Retrieval for programs with an event loop: `await` one result, or `async for` over many.

One thread runs all calls, one after the other. Torch already spreads a call over the cores, so two
calls at a time would only slow each other down. Waiting calls run between the batches of a long
`aretrieve_many`.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import count
from types import TracebackType
from typing import Self, TypeVar

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.records import Claim, RetrievalResult, as_claim, check_claims


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
        """Run a call in the thread and return its result. If cancelled early, it never starts."""
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
        """Cancel the calls that have not started, and wait for the one that has."""
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
    """Return all results of a stream, and the error that ended it, if any."""
    results = []
    try:
        for result in stream:
            results.append(result)
    except Exception as error:
        return results, error
    return results, None
