"""A lock that another one has, and one that cannot be made, are two things."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.storage.atomic_directories import exclusive
from admiral.storage.locks import acquire


def test_who_has_a_lock_is_told_what_another_one_is_doing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    first, second = (FileLock(tmp_path / "x.lock", timeout=0, is_singleton=False) for _ in "ab")
    acquire(first, path, "baking it")
    with pytest.raises(AdmiralError, match="x: another process is baking it"):
        acquire(second, path, "baking it")
    first.release()
    acquire(second, path, "baking it")
    second.release()


def test_a_lock_that_is_waited_for_is_had_in_the_end(tmp_path: Path) -> None:
    path, held, order = tmp_path / "x", threading.Event(), []

    def bake() -> None:
        first = FileLock(tmp_path / "x.lock", timeout=0)
        acquire(first, path, "baking it")
        held.set()
        time.sleep(0.3)
        order.append("baked")
        first.release()

    with ThreadPoolExecutor(1) as pool:
        baking = pool.submit(bake)
        assert held.wait(10)
        patient = FileLock(tmp_path / "x.lock", timeout=-1, is_singleton=False)
        acquire(patient, path, "baking it")
        order.append("had")
        patient.release()
        baking.result()
    assert order == ["baked", "had"]


@pytest.mark.skipif(sys.platform != "linux", reason="nothing can be made in /proc of Linux")
def test_a_lock_that_cannot_be_made_is_not_called_held() -> None:
    with pytest.raises(FileNotFoundError):
        acquire(FileLock("/proc/x.lock", timeout=0), Path("/proc/x"), "baking it")
    for wait in (False, True):  # nor waited for
        with pytest.raises(FileNotFoundError), exclusive(Path("/proc/x"), wait=wait):
            raise AssertionError("got the lock")
