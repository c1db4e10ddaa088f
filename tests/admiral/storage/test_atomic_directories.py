"""Directories are replaced whole, and checked against the checksums of their files."""

import logging
import os
import shutil
import threading

import pytest
from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.storage import atomic_files
from admiral.storage.atomic_files import staging, swap_directories


def _owned(directory):
    return (directory / "mark").exists()


def _write(target, text, *, overwrite=False):
    with staging(target, overwrite=overwrite, owned=_owned) as directory:
        (directory / "mark").write_text(text)
        (directory / "sub").mkdir()
        (directory / "sub" / "file").write_text(text)


def _visible(folder):
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


class _Fault:
    """A function of `os` that succeeds `n` times, then fails once."""

    def __init__(self, monkeypatch, name, n):
        self.left, self.original = n, getattr(os, name)
        monkeypatch.setattr(os, name, self)

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left == -1:
            raise OSError(28, "No space left on device")
        return self.original(*args, **kwargs)


@pytest.mark.parametrize("existing", ["nothing", "swapped", "renamed"])
@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_every_failing_call_leaves_the_old_directory_or_none(
    function, existing, tmp_path, monkeypatch
):
    target = tmp_path / "kb"
    if existing == "renamed":  # as on systems that cannot swap directories
        monkeypatch.setattr(atomic_files, "swap_directories", lambda first, second: False)
    failures = 0
    for n in range(50):
        shutil.rmtree(target, ignore_errors=True)
        if existing != "nothing":
            _write(target, "old")
        with monkeypatch.context() as patch:
            fault = _Fault(patch, function, n)
            try:
                _write(target, "new", overwrite=True)
            except AdmiralError as error:
                if "No space left" not in str(error):
                    raise
                failures += 1
        if fault.left >= 0:
            break  # fewer than n calls: each has failed once
        text = (target / "mark").read_text() if target.exists() else None
        if text == "new":
            # Only the sync of the parent folder comes after the rename.
            assert function == "fsync"
            assert (target / "sub" / "file").read_text() == "new"
        else:
            assert text == (None if existing == "nothing" else "old")
        _write(target, "again", overwrite=True)  # the same command works afterwards
        assert _visible(tmp_path) == ["kb"]
    else:
        pytest.fail("too many calls")
    assert failures == n
    assert n == 0 if (function, existing) == ("rename", "swapped") else n > 0


def test_readers_find_the_old_or_the_new_directory_at_every_moment(tmp_path):
    _write(tmp_path / "kb", "0" * 100)
    done = threading.Event()
    seen = []

    def read():
        while not done.is_set():
            seen.append((tmp_path / "kb" / "mark").read_text())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        number = 0
        while number < 9 or (len(set(seen)) < 2 and number < 2000):  # the reader may be slow
            number += 1
            _write(tmp_path / "kb", str(number % 10) * 100, overwrite=True)
    finally:
        done.set()
        reader.join()
    assert {text for text in seen if len(set(text)) != 1 or len(text) != 100} == set()
    assert len(set(seen)) > 1


def test_leftovers_of_a_killed_build_are_removed(tmp_path, caplog):
    _write(tmp_path / "kb", "old")
    (tmp_path / ".kb.new-0123").mkdir()
    (tmp_path / ".kb.new-0123" / "half").write_text("half")
    (tmp_path / ".kb.old-0123").mkdir()
    (tmp_path / ".kb2.new-0123").mkdir()  # belongs to another target
    with caplog.at_level(logging.WARNING):
        _write(tmp_path / "kb", "new", overwrite=True)
    assert "left by an interrupted build" in caplog.text
    assert _visible(tmp_path) == [".kb2.new-0123", "kb"]


def test_a_directory_moved_away_by_a_killed_writer_is_restored(tmp_path):
    _write(tmp_path / "kb", "old")
    (tmp_path / "kb").rename(tmp_path / ".kb.old-0123")
    with pytest.raises(AdmiralError, match="exists already"):
        _write(tmp_path / "kb", "new")
    assert (tmp_path / "kb" / "mark").read_text() == "old"
    assert _visible(tmp_path) == ["kb"]


def test_foreign_files_are_never_replaced(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("photos", "file"):
        with pytest.raises(AdmiralError, match="something else is there"):
            _write(tmp_path / name, "new", overwrite=True)
    assert (tmp_path / "photos" / "cat.jpg").exists()
    (tmp_path / "empty").mkdir()
    _write(tmp_path / "empty", "new")
    assert (tmp_path / "empty" / "mark").read_text() == "new"


def test_overwriting_must_be_requested(tmp_path):
    _write(tmp_path / "kb", "old")
    with pytest.raises(AdmiralError, match="--overwrite"):
        _write(tmp_path / "kb", "new")


def test_a_second_writer_gets_an_error(tmp_path):
    with (
        FileLock(tmp_path / ".kb.lock"),
        pytest.raises(AdmiralError, match="another process is building or changing it"),
    ):
        _write(tmp_path / "kb", "new")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "kb").symlink_to(tmp_path / "disk" / "kb")
    _write(tmp_path / "kb", "old")
    _write(tmp_path / "kb", "new", overwrite=True)
    assert (tmp_path / "kb").is_symlink()
    assert (tmp_path / "disk" / "kb" / "mark").read_text() == "new"


def test_directories_are_swapped_or_stay_unchanged(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
        (directory / "name").write_text(directory.name)
    if not swap_directories(first, second):
        pytest.skip("this system cannot swap directories")
    assert (first / "name").read_text() == "second"
    assert (second / "name").read_text() == "first"
    with pytest.raises(FileNotFoundError):
        swap_directories(first, tmp_path / "none")
    assert (first / "name").read_text() == "second"
