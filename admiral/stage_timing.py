"""Measure how long the stages of the method take, for the metrics of a service.

A stage may contain others: the cross-encoder is a part of scoring sentences, and beam search may be
one of the first stage. Each stage counts all of its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Receives the name of a stage, its seconds, and the number of claims that shared it.
OnTiming = Callable[[str, float, int], None]

# One for each thread, because each thread advances a share of a batch.
_observer: ContextVar[tuple[OnTiming, int] | None] = ContextVar("admiral_timing", default=None)


@contextmanager
def timing_stages(on_timing: OnTiming | None, claims: int) -> Iterator[None]:
    """Report the stages that the calling thread runs during the block."""
    token = _observer.set(None if on_timing is None else (on_timing, claims))
    try:
        yield
    finally:
        _observer.reset(token)


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """Measure the block as a stage; one that raises an error is not reported."""
    observer = _observer.get()
    started = time.perf_counter()
    yield
    if observer is not None:
        on_timing, claims = observer
        on_timing(stage, time.perf_counter() - started, claims)
