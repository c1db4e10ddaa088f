"""Files are replaced whole or not at all, where users may write."""

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import (
    check_distinct_paths,
    encode_record,
    replacing,
    replacing_path,
)


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
    pipe, through = tmp_path / "pipe", tmp_path / "through"
    os.mkfifo(pipe)
    through.symlink_to(pipe)
    for path in (pipe, through, tmp_path):
        with pytest.raises(AdmiralError, match=r"is not a regular file\. Name a file"):
            write(path, "new")
    assert pipe.is_fifo()
    assert through.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["pipe", "through"]
    read_end, write_end = os.pipe()
    try:  # a pipe without a path, as /dev/stdout may be
        with pytest.raises(AdmiralError, match="is not a regular file"):
            write(Path(f"/proc/self/fd/{write_end}"), "new")
    finally:
        os.close(read_end)
        os.close(write_end)


def test_an_input_is_not_written_over(tmp_path):
    (tmp_path / "claims.jsonl").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "claims.jsonl")
    check_distinct_paths(tmp_path / "new", tmp_path / "claims.jsonl", None)
    with pytest.raises(AdmiralError, match="link: is the input as well"):
        check_distinct_paths(tmp_path / "link", None, tmp_path / "claims.jsonl")


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


def test_writers_of_one_file_do_not_mix(tmp_path):
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
