"""Load and save models without the messages of transformers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Turn off the progress bars and messages of transformers during the block."""
    untyped: Any = logging  # some of its functions have no annotations
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    untyped.set_verbosity_error()
    untyped.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            untyped.enable_progress_bar()
