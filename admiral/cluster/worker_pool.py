"""The workers of a run: started, given one lot at a time, and replaced when they fail."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from admiral.cluster.chunks import Lot, Record
from admiral.cluster.worker import decode_answer, encode_claims
from admiral.errors import AdmiralError, first_line, last_line

logger = logging.getLogger(__name__)

# Workers that die one after the other before they have opened the pipeline.
_STILLBORN = 5
_LOOK_SECONDS = 30.0
_START_SECONDS = 1800.0

Start = Callable[[], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a lot: its records, or an error, and whether its worker hung."""

    lot: Lot
    records: list[Record]
    error: str = ""
    hung: bool = False


@dataclass(frozen=True, slots=True)
class _Task:
    """A lot, the actor that has it, and when its time is over, by the monotonic clock."""

    actor: Any
    lot: Lot
    end: float


class Crew:
    """Ray actors, each of which does one thing at a time.

    A worker has never more than one lot, so that it is known which claims it died of, and it is
    replaced after any failure: an error may have left its GPU or its memory unusable. A
    replacement for a worker whose node has died starts when there is room for it again.

    Parameters
    ----------
    ray
        The package, joined to a cluster.
    start
        Starts an actor; returns its handle and the future of its opening: a text, which is empty
        if that went well.
    count
        How many there shall be.
    claim_seconds
        A worker has so many for each claim of its lot, and is ended when they are over.
    """

    def __init__(self, ray: Any, start: Start, count: int, claim_seconds: float) -> None:
        self._ray, self._start, self._claim_seconds = ray, start, claim_seconds
        self._opening: dict[Any, Any] = {}  # future -> actor
        self._busy: dict[Any, _Task] = {}
        self._idle: list[Any] = []
        self._stillborn = 0
        for _ in range(count):
            self._hire()

    @property
    def idle(self) -> bool:
        """Whether a worker is ready for a lot."""
        return bool(self._idle)

    def give(self, lot: Lot) -> None:
        """Let an idle worker answer a lot."""
        actor = self._idle.pop()
        end = time.monotonic() + self._claim_seconds * len(lot.claims)
        self._busy[actor.answer.remote(encode_claims(lot.claims))] = _Task(actor, lot, end)

    def wait(self) -> Iterator[Outcome]:
        """Wait until something happens; yield what came of lots.

        Raises
        ------
        AdmiralError
            If a worker cannot open the pipeline, or none starts at all.
        """
        futures = [*self._busy, *self._opening]
        left = [task.end - time.monotonic() for task in self._busy.values()]
        patience = max(0.0, min([_LOOK_SECONDS, *left]))
        ready, _ = self._ray.wait(futures, num_returns=1, timeout=patience)
        if ready:
            self._heard = time.monotonic()
        elif not self._busy:
            self._check_patience()
        for future in ready:
            if future in self._opening:
                self._opened(future)
            else:
                yield self._finished(future)
        yield from self._overdue()

    def _overdue(self) -> Iterator[Outcome]:
        """Yield the lots whose time is over; some may have an answer that nobody looked at."""
        now = time.monotonic()
        late = [future for future, task in self._busy.items() if task.end <= now]
        if not late:
            return
        ready, hung = self._ray.wait(late, num_returns=len(late), timeout=0)
        for future in ready:
            yield self._finished(future)
        for future in hung:
            task = self._busy.pop(future)
            limit = self._claim_seconds * len(task.lot.claims)
            yield self._failed(task, f"no answer in {limit:.0f} s", hung=True)

    def close(self) -> None:
        """End all workers."""
        actors = [
            *self._idle,
            *self._opening.values(),
            *(task.actor for task in self._busy.values()),
        ]
        for actor in actors:
            self._ray.kill(actor)
        self._idle, self._opening, self._busy = [], {}, {}

    def _hire(self) -> None:
        self._heard = time.monotonic()  # a new one has the whole time to start
        actor, opening = self._start()
        self._opening[opening] = actor

    def _opened(self, future: Any) -> None:
        actor = self._opening.pop(future)
        problem, death = self._result(future)
        if death:
            self._stillborn += 1
            logger.warning("a worker died while it started: %s", death)
            if self._stillborn >= _STILLBORN:
                raise AdmiralError(
                    f"{self._stillborn} workers in a row died while they opened the model and the "
                    f"knowledge base ({death}). Look for the reason, such as too little memory, in "
                    "Ray's logs"
                )
            self._hire()
        elif problem:
            raise AdmiralError(problem)
        else:
            self._stillborn = 0
            self._idle.append(actor)

    def _finished(self, future: Any) -> Outcome:
        task = self._busy.pop(future)
        answer, death = self._result(future)
        records, error = ([], f"its worker died: {death}") if death else decode_answer(answer)
        if error:
            return self._failed(task, error)
        self._idle.append(task.actor)
        return Outcome(task.lot, records)

    def _failed(self, task: _Task, error: str, *, hung: bool = False) -> Outcome:
        lot = task.lot
        others = f" and {len(lot.claims) - 1} more" if len(lot.claims) > 1 else ""
        what = f"claim {lot.claims[0].id!r}{others}: failure {lot.failures + 1}"
        logger.warning("%s: %s", what, error)
        self._ray.kill(task.actor)
        self._hire()
        return Outcome(lot, [], error, hung)

    def _result(self, future: Any) -> tuple[str, str]:
        """Return what a worker said, or why it can say nothing any more."""
        try:
            return self._ray.get(future), ""
        except self._ray.exceptions.RayTaskError as error:
            return "", last_line(error)
        except self._ray.exceptions.RayError as error:
            return "", first_line(error)

    def _check_patience(self) -> None:
        """Tell, and at last complain, that no worker finds its place."""
        silent = time.monotonic() - self._heard
        if silent > _START_SECONDS:
            raise AdmiralError(
                f"no worker has started for {silent / 60:.0f} minutes. See with `ray status` what "
                "the cluster has left, or ask for less with --cpus-per-worker and --gpus-per-worker"
            )
        logger.warning("waiting for workers to start, for %.0f s now", silent)
