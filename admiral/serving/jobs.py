"""Long jobs of the service, such as audits and uploads: one after the other in a thread."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

from admiral.errors import AdmiralError
from admiral.serving.claim_queue import QueueFullError

logger = logging.getLogger(__name__)

State = Literal["waiting", "running", "complete", "failed"]


class StoppedError(Exception):
    """The job is not wanted any more, or the service ends."""


@dataclass(slots=True, eq=False, kw_only=True)
class Job:
    """The progress of a job."""

    state: State = "waiting"
    done: int = 0  # parts of it
    problem: str = ""  # why it failed
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def has_ended(self) -> bool:
        """Whether it is complete or has failed."""
        return self.state in ("complete", "failed")

    def check(self) -> None:
        """Raise StoppedError if the job is to end."""
        if self.stopping.is_set():
            raise StoppedError


Work = TypeVar("Work", bound=Job)


class JobThread:
    """Run jobs in the order in which they were added; one that fails does not end the others.

    `name`: of the thread. `places`: how many jobs may wait.
    """

    def __init__(self, name: str, places: int) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._waiting: queue.Queue[tuple[Job, Callable[[], None]] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._unfinished: set[Job] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Work, run: Callable[[Work], None]) -> None:
        """Add a job, which `run` does; it calls the `check` of the job again and again.

        Raises QueueFullError if too many jobs wait.
        """
        if not self._places.acquire(blocking=False):
            raise QueueFullError
        with self._lock:
            self._unfinished.add(job)
        self._waiting.put((job, partial(run, job)))

    def close(self) -> None:
        """Stop all jobs, and end the thread."""
        with self._lock:
            for job in self._unfinished:
                job.stopping.set()
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            self._places.release()
            job, run = entry
            job.state = "running"
            try:
                run()
                job.state = "complete"
            except StoppedError:
                job.problem, job.state = "it was stopped", "failed"
            except AdmiralError as error:
                job.problem, job.state = str(error), "failed"
            except Exception:
                logger.exception("a job has failed")
                job.problem, job.state = "internal error; see the log of the service", "failed"
            with self._lock:
                self._unfinished.discard(job)
