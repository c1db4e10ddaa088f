"""Atomic output directory: complete or absent."""

import os
from pathlib import Path

import pytest

from admiral.convert import atomic_directory
from admiral.errors import AdmiralError

SOURCE = Path("elsewhere")


def fill(target, *, overwrite=False):
    with atomic_directory(target, source=SOURCE, overwrite=overwrite) as fresh:
        (fresh / "inner").mkdir()
        (fresh / "inner" / "new").write_text("new")


FAIRSEQ = ("model.pt", "dict.txt", "dict.source.txt", "dict.target.txt", "tokenizer")


@pytest.mark.parametrize(
    ("names", "replaced"),
    [
        (("thesis.tex",), False),
        (FAIRSEQ, True),
        ((*FAIRSEQ, "notes.txt"), False),
        (("SHA256SUMS", "config.json", "listed"), True),
        (("SHA256SUMS", "config.json", "not-listed"), False),
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
