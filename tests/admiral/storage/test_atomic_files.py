"""Records as lines of JSON, and atomic writes with explained errors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import encode_record, replacing


def write(path, text):
    with replacing(path) as file:
        file.write(text.encode())


@given(st.dictionaries(st.text(st.characters()), st.text(st.characters()), max_size=4))
def test_records_are_one_line_and_round_trip(record):
    line = encode_record(record)
    assert len(line.decode("utf-8").splitlines()) == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == record


def test_only_regular_files_are_replaced(tmp_path):
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
