"""Progress of long work: a bar on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

from admiral.io.terminal import is_watched

T = TypeVar("T")
logger = logging.getLogger(__name__)
_SECONDS_BETWEEN_LINES = 30.0


def track(
    items: Iterable[T], label: str, *, total: int | None = None, enabled: bool = True
) -> Iterator[T]:
    """Yield `items`, reporting how many have gone by."""
    if not enabled:
        yield from items
    elif is_watched():
        yield from tqdm(items, desc=label, total=total, unit=" docs", file=sys.stderr)
    else:
        yield from _lines(items, label, total)


def _lines(items: Iterable[T], label: str, total: int | None) -> Iterator[T]:
    last = time.monotonic()
    for count, item in enumerate(items, start=1):
        yield item
        if count % 1024 == 0 and time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            logger.info("%s: %s%s", label, f"{count:,}", f" of {total:,}" if total else "")
