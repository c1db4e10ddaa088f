"""Checks of files that differ from the manifest, or that cannot be read."""

import os
from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.storage.checksums import check_files, describe_files


@pytest.fixture
def files(tmp_path):
    (tmp_path / "titles.marisa").write_bytes(b"titles")
    (tmp_path / "rows.npy").write_bytes(b"rows")
    return tmp_path


def test_marisa_files_are_compared_with_their_checksums(files):
    entries = describe_files(files)
    (files / "rows.npy").write_bytes(b"ROWS")  # of the same size: checked by its reader
    check_files(files, entries)
    (files / "titles.marisa").write_bytes(b"TITLES")
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged .* `admiral index`"):
        check_files(files, entries)
    (files / "rows.npy").write_bytes(b"row")
    with pytest.raises(AdmiralError, match=r"rows\.npy: 3 bytes where the manifest says 4"):
        check_files(files, entries)
    (files / "rows.npy").unlink()
    with pytest.raises(AdmiralError, match=r"rows\.npy: missing \(No such file"):
        check_files(files, entries)


def test_an_unreadable_file_is_not_reported_as_damaged(files, monkeypatch):
    def refuse(*_, **__):
        raise OSError(24, "Too many open files")

    entries = describe_files(files)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(AdmiralError, match=r"titles\.marisa: cannot be read \(Too many open files"):
        check_files(files, entries)


def test_missing_permissions_do_not_ask_for_a_new_build(files, monkeypatch):
    entries = describe_files(files)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    message = r"rows\.npy: cannot be read \(Permission denied\).* nothing has to be rebuilt"
    with monkeypatch.context() as patch:  # as root may read anything
        patch.setattr(os, "access", lambda path, mode: Path(path).name != "rows.npy")
        with pytest.raises(AdmiralError, match=message):
            check_files(files, entries)
    with monkeypatch.context() as patch:  # no permission to enter its folder
        patch.setattr(Path, "stat", refuse)
        with pytest.raises(AdmiralError, match=message):
            check_files(files, entries)
