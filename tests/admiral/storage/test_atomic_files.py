"""Records as lines of JSON, and atomic writes with explained errors."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import encode_record, replacing, write_atomically


def write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


@given(st.dictionaries(st.text(st.characters()), st.text(st.characters()), max_size=4))
def test_records_are_one_line_and_round_trip(record: dict[str, str]) -> None:
    line = encode_record(record)
    assert len(line.decode("utf-8").splitlines()) == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == record


def test_atomic_write_keeps_the_old_file_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, [b"old"])

    def chunks() -> Iterable[bytes]:
        yield b"new"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(AdmiralError, match="No space left"):
        write_atomically(path, chunks())
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("real") / "file")
    for text in ("first", "second"):
        write(link, text)
        assert link.is_symlink()
        assert (tmp_path / "real" / "file").read_text() == text
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]
    assert os.listdir(tmp_path / "real") == ["file"]


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    pipe, loop, through = (tmp_path / name for name in ("pipe", "loop", "through"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    through.symlink_to(pipe)
    for path in (pipe, loop, through, tmp_path):
        with pytest.raises(AdmiralError, match=r"is not a regular file\. Name a file"):
            write(path, "new")
    assert pipe.is_fifo()
    assert loop.is_symlink()
    assert through.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["loop", "pipe", "through"]
    read_end, write_end = os.pipe()
    try:  # a pipe without a path, as /dev/stdout may be
        with pytest.raises(AdmiralError, match="is not a regular file"):
            write(Path(f"/proc/self/fd/{write_end}"), "new")
    finally:
        os.close(read_end)
        os.close(write_end)
