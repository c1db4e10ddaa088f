"""Writing files atomically: errors, permissions, killed and concurrent writers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from admiral.storage.atomic_files import replacing, replacing_path


def write(path, text):
    with replacing(path) as file:
        file.write(text.encode())


def test_the_new_file_has_the_mode_of_the_old_one(tmp_path):
    path = tmp_path / "file"
    write(path, "old")
    for mode in (0o644, 0o640, 0o600):
        path.chmod(mode)
        write(path, "new")
        assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_failing_call_leaves_the_old_file(function, tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(path, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, full)
        with pytest.raises(OSError, match="No space left"):
            write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_library_may_open_the_file_itself(tmp_path):
    path = tmp_path / "file"
    write(path, "old")
    with replacing_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(ValueError, match="x"), replacing_path(path) as temporary:
        temporary.write_text("newer")
        raise ValueError("x")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


def test_the_next_writer_replaces_what_a_killed_one_left(tmp_path):
    path = tmp_path / "file"
    code = f"""
import os, signal
from pathlib import Path
from admiral.storage.atomic_files import replacing
with replacing(Path({str(path)!r})) as file:
    file.write(b"half of something longer")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(2):
        process = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3])
        assert process.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["file.new.partial"]  # one, however many were killed
    write(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


def test_writers_of_one_file_wait_for_each_other(tmp_path):
    path = tmp_path / "file"
    texts = [str(number) * 5000 for number in range(8)]

    def write_slowly(text):
        with replacing(path) as file:
            for start in range(0, len(text), 100):
                file.write(text[start : start + 100].encode())
                file.flush()

    threads = [threading.Thread(target=write_slowly, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["file"]
