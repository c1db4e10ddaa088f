"""The parts of a build as Ray's tasks, which Ray tries again when their node dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from admiral.cluster.ray_session import ClusterOptions, connected, room
from admiral.errors import AdmiralError, first_line
from admiral.kb.store.build_workers import Spread

# Tasks handed out for each that can run: the next is there when one ends.
_AHEAD = 4


@contextmanager
def spread_over(options: ClusterOptions) -> Iterator[Spread]:
    """Give what `admiral.kb.build` spreads a build with.

    Raises
    ------
    AdmiralError
        If there is no Ray or no cluster, or no node has room for a worker.
    """
    with connected(options.address) as ray:
        count = options.workers or _AHEAD * room(ray, options.cpus, options.gpus)
        yield Spread(partial(_map, ray, options, count))


def _map(
    ray: Any,
    options: ClusterOptions,
    count: int,
    work: Callable[[Any], Any],
    jobs: Sequence[Any],
) -> Iterator[Any]:
    """Yield the results of the jobs in order, at most `count` of them under way."""
    task = ray.remote(_attempt).options(
        num_cpus=options.cpus,
        num_gpus=options.gpus,
        max_retries=options.attempts - 1,
        scheduling_strategy="SPREAD",
    )
    waiting, running = iter(jobs), deque[Any]()
    try:
        while True:
            while len(running) < count and (job := next(waiting, None)) is not None:
                running.append(task.remote(work, job))
            if not running:
                return
            result, problem = _result(ray, running.popleft(), options.attempts)
            if problem:
                raise AdmiralError(problem)
            yield result
    finally:
        for future in running:
            ray.cancel(future)


def _attempt(work: Callable[[Any], Any], job: Any) -> tuple[Any, str]:
    """Do a job on a node; what the user can put right comes back as a message."""
    try:
        return work(job), ""
    except AdmiralError as error:
        return None, str(error)


def _result(ray: Any, future: Any, attempts: int) -> Any:
    try:
        return ray.get(future)
    except ray.exceptions.RayTaskError:
        raise  # a fault of ours, with its traceback
    except ray.exceptions.RayError as error:
        raise AdmiralError(
            f"a part of the build failed {attempts} times ({first_line(error)}). Look for "
            "the reason, such as too little memory, in Ray's logs"
        ) from error
