"""Whether somebody watches: standard error as a terminal."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # what shells report for a program stopped by Ctrl-C


def is_watched() -> bool:
    """Return whether standard error is a terminal; there is none where the caller closed it."""
    return sys.stderr is not None and sys.stderr.isatty()
