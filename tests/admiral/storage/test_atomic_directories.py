"""Directories are replaced whole or not at all."""

import os
import shutil

import pytest
from filelock import FileLock

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import staging


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


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("function", ["fsync", "rename"])
def test_every_failing_call_leaves_the_old_directory_or_none(
    function, exists, tmp_path, monkeypatch
):
    target = tmp_path / "kb"
    failures = 0
    for n in range(50):
        shutil.rmtree(target, ignore_errors=True)
        if exists:
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
            assert text == ("old" if exists else None)
        _write(target, "again", overwrite=True)  # the same command works afterwards
        assert _visible(tmp_path) == ["kb"]
    else:
        pytest.fail("too many calls")
    assert failures == n > 0


def test_leftovers_of_a_killed_writer(tmp_path):
    _write(tmp_path / "kb", "old")
    for name in (".kb.new", ".kb.old", ".kb2.new"):  # the last belongs to another target
        (tmp_path / name).mkdir()
    _write(tmp_path / "kb", "new", overwrite=True)
    assert _visible(tmp_path) == [".kb2.new", "kb"]
    (tmp_path / "kb").rename(tmp_path / ".kb.old")  # between two renames
    with pytest.raises(AdmiralError, match="exists already"):
        _write(tmp_path / "kb", "newer")
    assert (tmp_path / "kb" / "mark").read_text() == "new"


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
