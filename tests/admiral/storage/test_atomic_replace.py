"""Files that take the place of older ones, and directories that are swapped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from admiral.errors import AdmiralError
from admiral.storage.atomic_replace import exchange, replaceable, replacing


def put(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


def test_the_file_appears_as_a_whole_and_nothing_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


def test_the_new_file_has_the_mode_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    put(path, "old")
    for mode in (0o644, 0o640, 0o600):
        path.chmod(mode)
        put(path, "new")
        assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_what_fails_leaves_the_old_one(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    put(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, full)
        with pytest.raises(OSError, match="No space left"):
            put(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_in_the_block_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    put(path, "old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_writer_left_is_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "file"
    code = f"""
import os, signal
from pathlib import Path
from admiral.storage.atomic_replace import replacing
with replacing(Path({str(path)!r})) as file:
    file.write(b"half of something longer")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3])
        assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["file.new.partial"]  # one, however many were killed
    put(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [str(number) * 5000 for number in range(8)]

    def write(text: str) -> None:
        with replacing(path) as file:
            for place in range(0, len(text), 100):
                file.write(text[place : place + 100].encode())
                file.flush()

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_may_appear_while_one_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer is done right after the first look, which found nothing."""
    path, look = tmp_path / "file", os.stat

    def looking(place: Any, *arguments: Any, **options: Any) -> os.stat_result:
        try:
            return look(place, *arguments, **options)
        finally:
            if place == path:
                monkeypatch.setattr(os, "stat", look)
                path.write_text("theirs")

    monkeypatch.setattr(os, "stat", looking)
    assert replaceable(path) == path
    assert path.read_text() == "theirs"


def test_directories_are_swapped_or_stay(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        place.mkdir()
        (place / "name").write_text(place.name)
    if not exchange(one, other):
        pytest.skip("this system cannot swap directories")
    assert (one / "name").read_text() == "other"
    assert (other / "name").read_text() == "one"
    with pytest.raises(FileNotFoundError):
        exchange(one, tmp_path / "none")
    assert (one / "name").read_text() == "other"


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("real") / "file")
    for text in ("first", "second"):
        put(link, text)
        assert link.is_symlink()
        assert (tmp_path / "real" / "file").read_text() == text
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    assert os.listdir(tmp_path / "real") == ["file"]


def test_what_is_no_regular_file_stays(tmp_path: Path) -> None:
    pipe, loop, through = (tmp_path / name for name in ("pipe", "loop", "through"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    through.symlink_to(pipe)
    for path in (pipe, loop, through, tmp_path):
        with pytest.raises(AdmiralError, match=r"is not a regular file\. Name a file"):
            put(path, "new")
    assert pipe.is_fifo() and loop.is_symlink() and through.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe", "through"]
    reading, writing = os.pipe()
    try:  # as /dev/stdout is, whose path is none
        with pytest.raises(AdmiralError, match="is not a regular file"):
            put(Path(f"/proc/self/fd/{writing}"), "new")
    finally:
        os.close(reading)
        os.close(writing)
