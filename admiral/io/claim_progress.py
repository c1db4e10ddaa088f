"""Progress over claims: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click
from tqdm import tqdm

from admiral.io.terminal import is_watched

T = TypeVar("T")
_SECONDS_BETWEEN_LINES = 15.0


def track(items: Iterable[T], *, done: int, total: int, quiet: bool = False) -> Iterator[T]:
    """Yield `items`, showing on standard error how far the work is.

    Parameters
    ----------
    items
        What is still to do, in the order in which it gets done.
    done
        How many were finished by an earlier run.
    total
        How many there are with those.
    quiet
        Show nothing.
    """
    if quiet:
        yield from items
    elif is_watched():
        yield from tqdm(items, initial=done, total=total, unit=" claims", file=sys.stderr)
    else:
        yield from _lines(items, done, total)


def _lines(items: Iterable[T], done: int, total: int) -> Iterator[T]:
    start = last = time.monotonic()
    for count, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES or done + count == total:
            last, each = now, max(now - start, 1e-9) / count
            speed = f"{each:.2f} s per claim" if each > 0.05 else f"{1 / each:,.0f} per second"
            click.echo(f"{done + count} of {total} claims, {speed}", err=True)
