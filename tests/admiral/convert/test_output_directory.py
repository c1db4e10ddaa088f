"""Atomic output directory: complete or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from admiral.convert.to_hf import atomic_directory
from admiral.errors import AdmiralError

SOURCE = Path("elsewhere")


def fill(target, *, overwrite=False):
    with atomic_directory(target, source=SOURCE, overwrite=overwrite) as fresh:
        (fresh / "inner").mkdir()
        (fresh / "inner" / "new").write_text("new")


def test_empty_directory_is_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    fill(tmp_path / "out")
    assert (tmp_path / "out/inner/new").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_file_is_not_replaced(tmp_path, overwrite):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(AdmiralError, match="not a directory"):
        fill(tmp_path / "out", overwrite=overwrite)
    with pytest.raises(AdmiralError, match="cannot be written"):
        fill(tmp_path / "out/below", overwrite=overwrite)
    assert (tmp_path / "out").read_text() == "mine"


FAIRSEQ = ("model.pt", "dict.txt", "dict.source.txt", "dict.target.txt", "tokenizer")


@pytest.mark.parametrize(
    ("names", "replaced"),
    [
        (("thesis.tex",), False),
        (FAIRSEQ, True),
        ((*FAIRSEQ, "notes.txt"), False),
        (("model.pt",), False),
        (("SHA256SUMS", "config.json", "listed"), True),
        (("SHA256SUMS", "config.json", "not-listed"), False),
        (("config.json", "listed"), False),
    ],
)
def test_only_conversions_are_replaced(tmp_path, names, replaced):
    out = tmp_path / "out"
    out.mkdir()
    for name in names:
        listed = "".join(f"{'0' * 64}  {file}\n" for file in ("config.json", "listed"))
        (out / name).write_text(listed if name == "SHA256SUMS" else "mine")
    if replaced:
        with pytest.raises(AdmiralError, match="Give --overwrite"):
            fill(out)
        fill(out, overwrite=True)
        assert (out / "inner/new").exists()
    else:
        for overwrite in (False, True):
            with pytest.raises(AdmiralError, match="something else is there"):
                fill(out, overwrite=overwrite)
        assert sorted(os.listdir(out)) == sorted(names)


@pytest.mark.parametrize("inside", [".", "below/it"])
def test_input_is_never_replaced(tmp_path, inside):
    source = tmp_path / "out" / inside
    source.mkdir(parents=True)
    (source / "file").write_text("mine")
    (tmp_path / "link").symlink_to(source)
    for name in (source, tmp_path / "link"):
        with (
            pytest.raises(AdmiralError, match="holds the input"),
            atomic_directory(tmp_path / "out", source=name, overwrite=True),
        ):
            pass
    assert (source / "file").read_text() == "mine"


def test_interruption_and_full_disk_leave_nothing(tmp_path, monkeypatch):
    def interrupt(target):
        with atomic_directory(target, source=SOURCE) as fresh:
            (fresh / "part").write_text("part")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "out")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AdmiralError, match="No space left on device"):
        fill(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
