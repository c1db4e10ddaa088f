"""A lock that another one has, and one that cannot be made, are two things."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.kb.durable import exclusive
from admiral.locks import acquire


def test_who_has_a_lock_is_told_what_another_one_is_doing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    first, second = (FileLock(tmp_path / "x.lock", timeout=0, is_singleton=False) for _ in "ab")
    acquire(first, path, "baking it")
    with pytest.raises(AdmiralError, match="x: another process is baking it"):
        acquire(second, path, "baking it")
    first.release()
    acquire(second, path, "baking it")
    second.release()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing can be made in /proc of Linux")
def test_a_lock_that_cannot_be_made_is_not_called_held() -> None:
    with pytest.raises(FileNotFoundError):
        acquire(FileLock("/proc/x.lock", timeout=0), Path("/proc/x"), "baking it")
    with pytest.raises(FileNotFoundError), exclusive(Path("/proc/x"), wait=False):
        raise AssertionError("got the lock")
