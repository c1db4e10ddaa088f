"""Retrieval for programs with an event loop: `await` one answer, or `async for` over many.

All work is done by one thread, one call after the other, with the one model that is loaded: torch
spreads the work of a call over the cores, so a second call at the same time would only slow both.
Calls that wait have their turn between the batches of a long run.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Iterable,
    Iterator,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import count
from typing import Self, TypeVar

from admiral.config import RetrievalConfig
from admiral.records import Claim, RetrievalResult, given_claim, several
from admiral.scheduling.closing import closed_error

T = TypeVar("T")


class AwaitableRetrieval(ABC):
    """Adds the awaitable methods to a class that has `retrieve`, `retrieve_many` and `close`.

    Whoever is cancelled while waiting for a turn takes no time of the model. A batch that has
    begun is finished and its answers are dropped; the next call waits for it. Either way the object
    can be used as before.
    """

    config: RetrievalConfig

    def __init__(self) -> None:
        self._worker = _Worker()

    @abstractmethod
    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve for one claim."""

    @abstractmethod
    def retrieve_many(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order."""

    @abstractmethod
    def close(self) -> None:
        """Release everything."""

    async def aretrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve for one claim without blocking the event loop; see `retrieve`.

        Raises
        ------
        AdmiralError
            As `retrieve` does.
        """
        return await self._worker.run(lambda: self.retrieve(claim, hops))

    async def aretrieve_many(
        self,
        claims: Iterable[str | Claim] | AsyncIterable[str | Claim],
        hops: str | int | None = None,
    ) -> AsyncGenerator[RetrievalResult, None]:
        """Yield a result for each claim, in order, without blocking the event loop.

        `batch_size` claims (a setting) are taken at a time and travel together, so that of a slow
        stream of claims nothing is answered before so many have come; give such ones to
        `aretrieve`.

        Raises
        ------
        AdmiralError
            As `retrieve_many` does.
        """
        async with aclosing(_batches(claims, self.config.batch_size)) as batches:
            async for batch in batches:
                results, failure = await self._worker.run(
                    lambda batch=batch: _collected(self.retrieve_many(batch, hops))  # type: ignore[misc]
                )
                for result in results:
                    yield result
                if failure is not None:
                    raise failure

    async def aclose(self) -> None:
        """Close without blocking the event loop while a batch that has begun is finished."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Worker:
    """A thread that runs calls in the order in which they came; it starts with the first one."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in the thread and return what it returns; cancelled, it may not begin."""
        with self._lock:
            if self._closed.is_set():
                raise closed_error()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="admiral")
            waiting = asyncio.get_running_loop().run_in_executor(self._pool, call)
        try:
            return await waiting
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed.is_set() and (task is None or not task.cancelling()):
                raise closed_error() from None  # `close` cancelled the call, nobody the caller
            raise

    def close(self) -> None:
        """Cancel the calls that have not begun, and wait for the one that has."""
        with self._lock:
            self._closed.set()
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


async def _batches(
    claims: Iterable[str | Claim] | AsyncIterable[str | Claim], size: int
) -> AsyncGenerator[list[Claim], None]:
    """Yield the claims in lists of `size`, the last one shorter; then raise what they raised."""
    batch: list[Claim] = []
    numbers = count(1)  # of all claims: each list is a call of its own
    failure: Exception | None = None
    try:
        async for claim in claims if isinstance(claims, AsyncIterable) else _each(claims):
            batch.append(given_claim(claim, next(numbers)))
            if len(batch) == size:
                yield batch
                batch = []
    except Exception as error:
        failure = error
    if batch:
        yield batch
    if failure is not None:
        raise failure


async def _each(claims: Iterable[str | Claim]) -> AsyncGenerator[str | Claim, None]:
    for claim in several(claims):
        yield claim


def _collected(
    results: Iterator[RetrievalResult],
) -> tuple[list[RetrievalResult], Exception | None]:
    """Return the results, and what was raised behind them."""
    found = []
    try:
        for result in results:
            found.append(result)
    except Exception as error:
        return found, error
    return found, None
