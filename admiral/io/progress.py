"""Progress on standard error: a bar on a terminal, an occasional plain line elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click
from tqdm import tqdm

EXIT_INTERRUPTED = 130  # what shells report for a program stopped by Ctrl-C


def stderr_is_terminal() -> bool:
    """Return whether standard error is a terminal and not a file, a pipe or closed."""
    return sys.stderr is not None and sys.stderr.isatty()


T = TypeVar("T")
logger = logging.getLogger(__name__)

_CLAIM_SECONDS, _DOCUMENT_SECONDS = 15.0, 30.0  # between two lines
_DOCUMENTS_PER_CHECK = 1024  # reading the clock for every document would take longer than its work


def track_claims(
    items: Iterable[T], *, done: int, total: int, quiet: bool = False, unit: str = "claim"
) -> Iterator[T]:
    """Yield items, one for each claim or other unit, and report how many of `total` are done.

    `done`: number that an earlier run finished.
    """
    if quiet:
        yield from items
    elif stderr_is_terminal():
        yield from tqdm(items, initial=done, total=total, unit=f" {unit}s", file=sys.stderr)
    else:
        start = last = time.monotonic()
        for count, item in enumerate(items, 1):
            yield item
            now = time.monotonic()
            if now - last >= _CLAIM_SECONDS or done + count == total:
                last, each = now, max(now - start, 1e-9) / count
                speed = f"{each:.2f} s per {unit}" if each > 0.05 else f"{1 / each:,.0f} per second"
                click.echo(f"{done + count} of {total} {unit}s, {speed}", err=True)


def track_documents(
    items: Iterable[T], label: str, *, total: int | None = None, enabled: bool = True
) -> Iterator[T]:
    """Yield items, one for each document, and report how many there have been."""
    if not enabled:
        yield from items
    elif stderr_is_terminal():
        yield from tqdm(items, desc=label, total=total, unit=" docs", file=sys.stderr)
    else:
        last = time.monotonic()
        for count, item in enumerate(items, start=1):
            yield item
            if count % _DOCUMENTS_PER_CHECK == 0 and time.monotonic() - last > _DOCUMENT_SECONDS:
                last = time.monotonic()
                logger.info("%s: %s%s", label, f"{count:,}", f" of {total:,}" if total else "")
