"""Long jobs of the service, audits and uploads: a table, and a thread that does them in turn."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field, PrivateAttr

from admiral.errors import AdmiralError
from admiral.serving.problems import ProblemError, queue_full

logger = logging.getLogger(__name__)

#: Jobs that may wait.
WAITING = 4


class StoppedError(Exception):
    """The job is not wanted any more, or the service ends."""


class Job(BaseModel):
    """The progress of a job, as the service answers it."""

    state: Literal["waiting", "running", "complete", "failed"] = "waiting"
    done: Annotated[int, Field(description="Files or statements that were read.")] = 0
    problem: Annotated[str, Field(description="Why it failed; empty otherwise.")] = ""
    _stopping: threading.Event = PrivateAttr(default_factory=threading.Event)

    def check(self) -> None:
        """Raise StoppedError if the job is to end."""
        if self._stopping.is_set():
            raise StoppedError


Kind = TypeVar("Kind", bound=Job)


class Jobs:
    """Do jobs in the order in which they were added; one that fails does not end the others."""

    def __init__(self) -> None:
        #: By names that are unique among all kinds of jobs.
        self.table: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "admiral-jobs")

    def all(self, kind: type[Kind]) -> dict[str, Kind]:
        """Return the jobs of a kind by name, oldest first."""
        return {name: job for name, job in list(self.table.items()) if isinstance(job, kind)}

    def get(self, kind: type[Kind], name: str) -> Kind:
        """Return a job; raise ProblemError if there is none of this name and kind."""
        job = self.table.get(name)
        if not isinstance(job, kind):
            raise ProblemError(404, "there is no such job, or no longer", "Send its contents again")
        return job

    def submit(
        self,
        name: str,
        job: Job,
        work: Callable[[], object],
        undo: Callable[[], object] = lambda: None,
    ) -> None:
        """Add a job, which `work` does, calling `job.check` again and again.

        `undo`: called if it is stopped. Raises ProblemError if too many jobs wait.
        """
        with self._lock:
            if sum(each.state == "waiting" for each in self.all(Job).values()) >= WAITING:
                raise queue_full()
            self.table[name] = job
        self._thread.submit(self._run, job, work, undo)

    def stop(self, job: Job) -> bool:
        """Let a job end soon; return whether it has ended already."""
        with self._lock:
            job._stopping.set()
            return job.state in ("complete", "failed")

    def close(self) -> None:
        """Stop all jobs, and end the thread."""
        for job in self.all(Job).values():
            self.stop(job)
        self._thread.shutdown()

    def _run(self, job: Job, work: Callable[[], object], undo: Callable[[], object]) -> None:
        try:
            job.check()
            job.state = "running"
            work()
            with self._lock:  # so that `stop` comes before or after
                job.check()
                job.state = "complete"
        except StoppedError:
            job.problem, job.state = "it was stopped", "failed"
            undo()
        except AdmiralError as error:
            job.problem, job.state = str(error), "failed"
        except Exception:
            logger.exception("a job has failed")
            job.problem, job.state = "internal error; see the log of the service", "failed"
