"""Processor time, which other work on the machine disturbs least."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def best(
    work: Callable[[], T], *, repeats: int = 100, seconds: float = float("inf")
) -> tuple[float, T]:
    """Return the least processor time of `work`, in seconds, and its last result.

    Parameters
    ----------
    work
        What is measured.
    repeats, seconds
        It is run so many times, or until the runs took so long.
    """
    times, results = best_of_each([work], repeats=repeats, seconds=seconds)
    return times[0], results[0]


def best_of_each(
    steps: Sequence[Callable[[], T]], *, repeats: int = 100, seconds: float = float("inf")
) -> tuple[list[float], list[T]]:
    """Return the least processor time of each of several steps, which are run in turn."""
    times: list[list[float]] = [[] for _ in steps]
    while not times[0] or (len(times[0]) < repeats and sum(map(sum, times)) < seconds):
        results = []
        for step, taken in zip(steps, times, strict=True):
            began = time.process_time()
            results.append(step())
            taken.append(time.process_time() - began)
    return [min(taken) for taken in times], results
