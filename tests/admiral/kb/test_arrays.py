"""Whatever is wrong with the file of an array, the error is one of two."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build
from admiral.kb.arrays import open_array


def test_an_array_comes_back(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5))
    for mapped in (False, True):
        assert open_array(tmp_path / "a.npy", mapped=mapped).tolist() == [0, 1, 2, 3, 4]


@given(
    at=st.integers(0, 127),
    byte=st.integers(0, 255),
    mapped=st.booleans(),
    keep=st.integers(0, 200),
)
def test_damaged_headers(
    at: int, byte: int, mapped: bool, keep: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "a.npy"
    np.save(path, np.arange(5))
    content = bytearray(path.read_bytes())
    content[at] = byte
    path.unlink()  # it may be mapped still
    path.write_bytes(content[:keep])
    with suppress(OSError, ValueError):
        open_array(path, mapped=mapped)


def test_archives_are_no_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.arange(5))
    with pytest.raises(ValueError, match="not an array"):
        open_array(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["documents/rows.npy", "titles-keys.npy", "bm25/text/*indptr*"])
def test_a_reader_names_the_damage(name: str, birds: Path, tmp_path: Path) -> None:
    build(birds, tmp_path / "kb", bm25="bm25s", progress=False)
    (path,) = (tmp_path / "kb").glob(name)
    path.write_bytes(path.read_bytes().replace(b"'shape': (", b"'shape': [", 1))
    with pytest.raises(AdmiralError, match="damaged"), KnowledgeBase.open(tmp_path / "kb") as kb:
        kb.search(["bird"], 3)
