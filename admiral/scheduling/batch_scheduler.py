"""Claims on their way in batches: whoever is ready travels, at whatever hop, until all are done.

A batch holds the claims that came first among those that wait; one that stops leaves its place to
the next of the stream. Several workers share a batch, each with a part of its own. Claims come out
in the order in which they came in, so that those behind a slow one wait for it, but no more than a
bounded number.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from admiral.errors import AdmiralError
from admiral.retrieval.state import Progress
from admiral.scheduling.in_flight import Window
from admiral.scheduling.memory import ran_out, release
from admiral.scheduling.torch_threads import take_threads, taking_threads

logger = logging.getLogger(__name__)

Step = Callable[[Sequence[Progress]], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a worker takes of a batch, and the threads of its matrix products."""

    claims: Sequence[Progress]
    threads: int


class Flow:
    """Takes claims through their hops.

    Parameters
    ----------
    step
        Takes each claim of a batch one hop on, and marks the ones that stop. Where memory runs out
        it is called again with fewer of them; what it had completed then stays.
    batch_size
        Claims that travel at a time.
    workers
        Most workers that share them. One that has nobody beside it works in the thread of the
        caller.
    threads
        Threads of matrix products, which the workers share: those that begin at the same time
        take all that are free, the first ones one more where they do not come out even.
    """

    def __init__(self, step: Step, *, batch_size: int, workers: int = 1, threads: int = 1) -> None:
        self._step, self._batch_size, self._threads = step, batch_size, threads
        self._workers = min(workers, batch_size, threads)
        self._ceiling: float = math.inf

    def run(
        self, claims: Iterable[Progress], ready: Callable[[], bool] = lambda: True
    ) -> Iterator[Progress]:
        """Yield claims that have stopped, in order.

        Parameters
        ----------
        claims
            The stream.
        ready
            Whether the stream would give its next claim at once. If not, those that are there go
            on without it.

        Raises
        ------
        AdmiralError
            If memory is too small for a single claim.
        Exception
            Whatever the step raises; and the stream, once the claims before have come out.
        """
        window = Window(claims, self._batch_size, ready)
        running: dict[Future[list[Progress]], _Part] = {}
        with ThreadPoolExecutor(self._workers, "admiral-hops") as pool:
            while True:
                parts = self._parts(window, running.values())
                if running or len(parts) > 1:
                    running |= {pool.submit(self._work, part): part for part in parts}
                    done = self._done(running)
                elif parts:
                    self._alone(parts[0].claims)
                    done = parts
                else:
                    break
                for part in done:
                    window.give_back(part.claims)
                yield from window.finished()
        window.end()

    def _parts(self, window: Window, running: Collection[_Part]) -> list[_Part]:
        """Return what idle workers take, as far as there are claims, places and threads."""
        threads = self._threads - sum(part.threads for part in running)
        places = self._batch_size - sum(len(part.claims) for part in running)
        idle = min(self._workers - len(running), threads)
        if idle < 1:
            return []
        share = math.ceil(self._batch_size / self._workers)
        claims = window.take(min(places, share * idle))
        stream, count = iter(claims), min(idle, len(claims))
        return [
            _Part(list(islice(stream, size)), own)
            for size, own in zip(_shares(len(claims), count), _shares(threads, count), strict=True)
        ]

    def _done(self, running: dict[Future[list[Progress]], _Part]) -> list[_Part]:
        """Wait until one part is done, or all if a claim needs the memory of the others."""
        done = wait(running, return_when=FIRST_COMPLETED).done
        if any(future.result() for future in done):
            done = wait(running).done
            self._workers = max(1, self._workers // 2)
            logger.warning("memory ran out; from now on %d workers share a batch", self._workers)
            for future in done:
                for claim in future.result():
                    self._alone([claim])
        return [running.pop(future) for future in done]

    def _work(self, part: _Part) -> list[Progress]:
        """Take claims one hop on beside others; return those for which memory was too small."""
        take_threads(part.threads)
        return list(self._advance(part.claims))

    def _alone(self, claims: Sequence[Progress]) -> None:
        """Take claims one hop on while nobody else does, with all threads."""
        with taking_threads(self._threads):
            for claim in self._advance(claims):
                raise AdmiralError(
                    f"claim {claim.claim.id!r}: memory ran out with this claim alone. Lower "
                    "beam_size or rerank_documents, or choose a smaller model or a larger device."
                )

    def _advance(self, claims: Sequence[Progress]) -> Iterator[Progress]:
        """Take claims one hop on, fewer at a time where memory runs out.

        Yields those for which it ran out when they were the only ones of a step.
        """
        waiting = deque([claims])
        while waiting:
            some = waiting.popleft()
            if len(some) > self._ceiling:
                half = math.ceil(len(some) / 2)
                waiting.extendleft([some[half:], some[:half]])
                continue
            try:
                self._step(some)
                continue
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
            # Out here nothing refers to the failed step any more, so that its memory is free.
            release()
            if len(some) == 1:
                yield some[0]
                continue
            self._ceiling = min(self._ceiling, len(some) // 2)
            logger.warning("memory ran out; from now on %d claims travel together", self._ceiling)
            waiting.appendleft(some)


def _shares(whole: int, count: int) -> list[int]:
    """Divide a number into as many that differ by one at most, the larger ones first."""
    least, more = divmod(whole, count) if count else (0, 0)
    return [least + (place < more) for place in range(count)]
