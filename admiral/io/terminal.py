"""The terminal, and the exit status that it expects."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130  # what shells report for a program stopped by Ctrl-C


def stderr_is_terminal() -> bool:
    """Return whether standard error is a terminal and not a file, a pipe or closed."""
    return sys.stderr is not None and sys.stderr.isatty()
