"""Writer locks: a held lock and one that cannot be created give different errors."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.storage.atomic_directories import exclusive_access
from admiral.storage.atomic_files import WriterLock


def test_the_error_says_what_the_other_process_is_doing(tmp_path):
    first, second = (
        WriterLock(tmp_path / "x.lock", tmp_path / "x", "indexing it") for _ in range(2)
    )
    with first, pytest.raises(AdmiralError, match="x: another process is indexing it"):
        second.acquire()
    with second:
        pass
    assert not list(tmp_path.iterdir())


def test_a_waiting_writer_gets_the_lock_in_the_end(tmp_path):
    held, order = threading.Event(), []

    def hold():
        with WriterLock(tmp_path / "x.lock", tmp_path / "x", "indexing it"):
            held.set()
            time.sleep(0.3)
            order.append("first")

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(hold)
        assert held.wait(10)
        with WriterLock(tmp_path / "x.lock", tmp_path / "x", "indexing it", wait=True):
            order.append("second")
        holder.result()
    assert order == ["first", "second"]


@pytest.mark.skipif(sys.platform != "linux", reason="no file can be created in Linux's /proc")
@pytest.mark.parametrize("wait", [False, True])
def test_a_lock_that_cannot_be_created_is_not_reported_as_held(wait):
    with pytest.raises(FileNotFoundError), exclusive_access(Path("/proc/x"), wait=wait):
        raise AssertionError("got the lock")
