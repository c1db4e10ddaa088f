"""Claims on their way in batches: whoever is ready travels, at whatever hop, until all are done.

A batch holds the claims that came first among those that wait; one that stops leaves its place to
the next of the stream. Several threads each have a batch under way. Claims come out in the order in
which they came in, so that those behind a slow one wait for it, but no more than a bounded number.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain, islice

import torch

from admiral.errors import AdmiralError
from admiral.memory import ran_out, release
from admiral.progress import Progress

logger = logging.getLogger(__name__)

Step = Callable[[Sequence[Progress]], None]

# Claims that may be on their way or wait for one before them, in batches: no claim has more than
# so many hops, mostly, so that a slow one keeps nobody waiting.
_AHEAD = 4


class Flow:
    """Takes claims through their hops.

    Parameters
    ----------
    step
        Takes each claim of a batch one hop on, and marks the ones that stop. Where memory runs out
        it is called again with halves of the batch; what it had completed then stays.
    batch_size
        Claims that travel together.
    workers
        Threads that share a batch between them.
    threads
        Threads of each worker's matrix products.
    """

    def __init__(self, step: Step, *, batch_size: int, workers: int = 1, threads: int = 1) -> None:
        self._step, self._batch_size = step, batch_size
        self._workers, self._threads = min(workers, batch_size), threads
        self._ceiling: float = math.inf

    def run(self, claims: Iterable[Progress]) -> Iterator[Progress]:
        """Yield claims that have stopped, in order.

        Raises
        ------
        AdmiralError
            If memory is too small for a single claim; and whatever the step or the stream raise.
        """
        queue = _Queue(claims, self._batch_size)
        # A single claim has all threads to itself.
        if self._workers == 1 or not queue.several():
            yield from self._alone(queue)
        else:
            yield from self._threaded(queue)

    def _alone(self, queue: _Queue) -> Iterator[Progress]:
        while batch := queue.take(self._batch_size):
            self._advance(batch)
            queue.give_back(batch)
            yield from queue.finished()

    def _threaded(self, queue: _Queue) -> Iterator[Progress]:
        running: dict[Future[None], list[Progress]] = {}
        with _pool(self._workers, self._threads) as pool:
            while True:
                for batch in self._batches(queue, self._workers - len(running)):
                    running[pool.submit(self._advance, batch)] = batch
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    batch = running.pop(future)
                    future.result()
                    queue.give_back(batch)
                yield from queue.finished()

    def _batches(self, queue: _Queue, idle: int) -> list[list[Progress]]:
        """Return a batch for each idle worker, as far as there are claims."""
        share = math.ceil(self._batch_size / self._workers)
        ready = queue.take(share * idle)
        size = math.ceil(len(ready) / idle)
        return [ready[at : at + size] for at in range(0, len(ready), max(size, 1))]

    def _advance(self, batch: Sequence[Progress]) -> None:
        """Take a batch one hop on, in parts where memory runs out."""
        waiting = deque([batch])
        while waiting:
            part = waiting.popleft()
            if len(part) > self._ceiling:
                half = math.ceil(len(part) / 2)
                waiting.extendleft([part[half:], part[:half]])
                continue
            try:
                self._step(part)
                continue
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
            # Out here nothing refers to the failed step any more, so that its memory is free.
            release()
            self._lower(part)
            waiting.appendleft(part)

    def _lower(self, part: Sequence[Progress]) -> None:
        if len(part) == 1:
            raise AdmiralError(
                f"claim {part[0].claim.id!r}: memory ran out with this claim alone. Lower "
                "beam_size or rerank_documents, or choose a smaller model or a larger device."
            )
        self._ceiling = min(self._ceiling, len(part) // 2)
        logger.warning("memory ran out; from now on %d claims travel together", self._ceiling)


class _Queue:
    """The claims that are on their way, in the order of the stream."""

    def __init__(self, claims: Iterable[Progress], batch_size: int) -> None:
        self._stream = iter(claims)
        self._room = _AHEAD * batch_size
        self._window: deque[Progress] = deque()
        self._travelling: set[int] = set()

    def several(self) -> bool:
        """Whether there is more than one claim."""
        first = list(islice(self._stream, 2))
        self._stream = chain(first, self._stream)
        return len(first) > 1

    def take(self, count: int) -> list[Progress]:
        """Return claims that wait, the first ones first, and new ones if they are too few."""
        ready = [
            one for one in self._window if one.stopped is None and id(one) not in self._travelling
        ][:count]
        new = min(count - len(ready), self._room - len(self._window))
        for one in islice(self._stream, max(new, 0)):
            self._window.append(one)
            ready.append(one)
        self._travelling.update(map(id, ready))
        return ready

    def give_back(self, batch: Sequence[Progress]) -> None:
        """Take note that claims have made a hop."""
        self._travelling.difference_update(map(id, batch))

    def finished(self) -> Iterator[Progress]:
        """Yield the claims that have stopped, up to the first one that has not."""
        while self._window and self._window[0].stopped is not None:
            yield self._window.popleft()


@contextmanager
def _pool(workers: int, threads: int) -> Iterator[ThreadPoolExecutor]:
    """Open threads whose matrix products take `threads` threads each."""
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(
        workers, "admiral-hops", initializer=torch.set_num_threads, initargs=(threads,)
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)
