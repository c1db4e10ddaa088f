"""Build parts of a knowledge base as Ray tasks, which Ray retries if their node dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from admiral.cluster.ray_session import ClusterOptions, connect_ray, count_workers
from admiral.errors import AdmiralError, first_line
from admiral.kb.store.index_building import BuildWorkers

# Submitted tasks for each one that can run, so that the next starts as soon as one ends.
_TASKS_PER_WORKER = 4


@contextmanager
def ray_build_workers(options: ClusterOptions) -> Iterator[BuildWorkers]:
    """Connect to a cluster and yield its workers, for `admiral.kb.build`.

    Raises AdmiralError if Ray is not installed, there is no cluster, or no node has the resources
    of a worker.
    """
    with connect_ray(options.address) as ray:
        count = options.workers or _TASKS_PER_WORKER * count_workers(
            ray, options.cpus, options.gpus
        )
        yield BuildWorkers(partial(_map, ray, options, count))


def _map(
    ray: Any,
    options: ClusterOptions,
    count: int,
    work: Callable[[Any], Any],
    jobs: Sequence[Any],
) -> Iterator[Any]:
    """Yield the results of the jobs in order; at most `count` of them are submitted at a time."""
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
    """Run a job on a node; return its result, or the message of an `AdmiralError`."""
    try:
        return work(job), ""
    except AdmiralError as error:
        return None, str(error)


def _result(ray: Any, future: Any, attempts: int) -> Any:
    try:
        return ray.get(future)
    except ray.exceptions.RayTaskError:
        raise  # a bug; keep its traceback
    except ray.exceptions.RayError as error:
        raise AdmiralError(
            f"a part of the build failed {attempts} times ({first_line(error)}). See Ray's "
            "logs for the reason, such as too little memory"
        ) from error
