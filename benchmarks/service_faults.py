"""Faults under a service: a full disk, a knowledge base that is replaced."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

_WINDOW = 15.0  # seconds


class Faults:
    """The faults of a service and of its knowledge base.

    Parameters
    ----------
    process
        The service.
    kb
        The knowledge base that it serves.
    backup
        A copy of it.
    changing
        Held by whoever changes the knowledge base.
    """

    def __init__(
        self, process: psutil.Process, kb: Path, backup: Path, changing: threading.Lock
    ) -> None:
        self._process, self._kb, self._backup = process, kb, backup
        self._changing = changing
        self.kinds: dict[str, Callable[[], None]] = {
            "disk full": self._fill_disk,
            "kb replaced": self._replace_kb,
        }

    def _fill_disk(self) -> None:
        """No file of the service can grow, as on a full disk: that of its log neither."""
        limits = self._process.rlimit(psutil.RLIMIT_FSIZE)
        self._process.rlimit(psutil.RLIMIT_FSIZE, (0, limits[1]))
        time.sleep(_WINDOW)
        with suppress(psutil.NoSuchProcess):
            self._process.rlimit(psutil.RLIMIT_FSIZE, limits)

    def _replace_kb(self) -> None:
        """Restore the backup, as docs/knowledge-bases.md does."""
        restored, former = self._kb.with_name("restored"), self._kb.with_name("former")
        with self._changing:
            shutil.copytree(self._backup, restored)
            self._kb.rename(former)
            restored.rename(self._kb)
        shutil.rmtree(former)
        time.sleep(_WINDOW)
