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
from admiral.storage.atomic_files import encode_record, write_atomically


@given(st.dictionaries(st.text(st.characters()), st.text(st.characters()), max_size=4))
def test_records_are_one_line_and_come_back(record: dict[str, str]) -> None:
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
