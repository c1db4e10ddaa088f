import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trie.index.damaged_tries import rounds, seal, spells
from trie import TokenTrie, TrieFileError
from trie.index import block_checks, trie_files
from trie.index.invariants import RowInvariants

NAMES = ["tokens", "firsts", "inner", "ends", "rows", "rows_high", "shared", "sums"]
SEQUENCES = [[2, 1], [2], [1, 300], [2], [3, 3], []]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Nodes 0; 1 (1), 2 (2), 3 (3); 4 (1 300), 5 (2 1), 6 (3 3)."""
    TokenTrie.build(SEQUENCES).save(tmp_path)
    return tmp_path


def _bits(*flags: int) -> list[int]:
    return [sum(flag << place for place, flag in enumerate(flags))]


def _changes(saved: Path) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    for name in NAMES:
        values = np.load(saved / f"{name}.npy")
        yield name, values[:-1] if values.size else np.append(values, 0)
        yield name, np.append(values, values[-1:])
        yield name, values.astype(np.int64)
        yield name, values[None]


def test_invalid_arrays_are_rejected(saved: Path) -> None:
    for name, values in _changes(saved):
        path = saved / f"{name}.npy"
        whole = path.read_bytes()
        np.save(path, values)
        if name != "sums":
            seal(saved)
        with pytest.raises(TrieFileError, match=str(path)) as error:
            TokenTrie.open(saved)
        assert error.value.path == path
        path.write_bytes(whole)
        seal(saved)
    assert list(spells(TokenTrie.open(saved)).values()) == SEQUENCES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [0, 5, 64, 127, -1])
def test_truncated_files_are_rejected(saved: Path, name: str, kept: int) -> None:
    path = saved / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(TrieFileError, match=str(path)):
        TokenTrie.open(saved)
    path.unlink()
    with pytest.raises(TrieFileError, match=str(path)):
        TokenTrie.open(saved)


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("tokens", [0, 1, 3, 2, 300, 1, 3], "do not ascend"),
        ("tokens", [0, 1, 1, 3, 300, 1, 3], "do not ascend"),
        ("tokens", [0, 1, 2, 2**31, 300, 1, 3], "too large"),
        ("firsts", _bits(0, 1, 0, 0, 1, 1, 1), "begin at node 1"),
        ("firsts", _bits(1, 0, 1, 0, 1, 1, 1), "begin at node 1"),
        ("firsts", _bits(1, 1, 0, 0, 1, 1, 0), "have children"),
        ("firsts", _bits(1, 1, 0, 0, 1, 1, 1, 1), "after the last"),
        ("inner", _bits(0, 1, 1, 1, 1, 0, 0), "before its parent"),
        ("inner", _bits(1, 0, 0, 0, 1, 1, 1), "before its parent"),
        ("inner", _bits(1, 1, 1, 1, 1, 1, 1), "shape"),  # without leaves, there are fewer ends
        ("ends", _bits(1, 1, 1, 1), "7 nodes end 6"),
        ("ends", _bits(1, 0, 1, 0, 1), "after the last"),
        ("rows", [5, 1, 3, 2, 0, 0], "exactly once"),
        ("rows", [5, 1, 3, 2, 0, 9], "exactly once"),
        ("rows", [5, 3, 1, 2, 0, 4], "do not ascend"),
        ("shared", [5], "several rows"),
    ],
)
def test_each_invariant(saved: Path, name: str, values: list[int], problem: str) -> None:
    old = np.load(saved / f"{name}.npy").dtype
    new = np.uint32 if name == "tokens" else old
    np.save(saved / f"{name}.npy", np.array(values, dtype=new))
    seal(saved)
    if name in ("tokens", "rows"):
        trie = TokenTrie.open(saved)
        with pytest.raises(TrieFileError, match=problem):
            spells(trie)
        with pytest.raises(TrieFileError, match=problem) as error:
            trie.check()
    else:  # checked on opening
        with pytest.raises(TrieFileError, match=problem) as error:
            TokenTrie.open(saved)
    assert error.value.path.parent == saved


def test_nodes_without_rows_are_rejected(saved: Path) -> None:
    TokenTrie.build([]).save(saved / "..")
    for name in ("rows", "rows_high", "shared"):
        shutil.copy(saved / ".." / f"{name}.npy", saved)
    meta = json.loads((saved / "meta.json").read_text())
    (saved / "meta.json").write_text(json.dumps({**meta, "rows": 0}))
    seal(saved)
    with pytest.raises(ValueError, match="end 0 sequences"):
        TokenTrie.open(saved)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_damaged_files_are_rejected_or_harmless(tmp_path: Path, seed: int) -> None:
    outcomes = rounds(tmp_path, 10_000 if seed else 300, seed)
    kinds = ["trie, checksums mended", "trie, checksums as they were", "journal, checksum mended"]
    for kind in kinds:
        refused = sum(outcomes[key] for key in outcomes if key.startswith(f"{kind}: refused"))
        assert refused > outcomes[f"{kind}: equal"] > 0
    for kind in kinds[:2]:
        assert outcomes[f"{kind}: refused when opened"]
        assert outcomes[f"{kind}: refused when read"]
    assert outcomes["trie, checksums mended: another sound trie"]


@pytest.mark.parametrize(
    ("place", "name", "result"),
    [
        (trie_files, "structure_problems", []),
        (block_checks, "token_problem", ""),
        (RowInvariants, "problem", ""),
        (block_checks._FileChecker, "_compare", None),
    ],
)
def test_every_check_is_needed(
    place: Any, name: str, result: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, lambda *_: result)
    with pytest.raises((AssertionError, IndexError)):
        rounds(tmp_path, 300, 0)


@pytest.mark.parametrize(
    "meta",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "nodes": 7, "rows": 6, "crc32": {}}',
        '{"version": 4, "nodes": 7, "rows": 6, "block": 64, "crc32": {}}',
        '{"version": 3, "nodes": 7, "rows": 6, "crc32": {}}',
        '{"version": 3, "nodes": "7", "rows": 6, "block": 64, "crc32": {}}',
        '{"version": 3, "nodes": 0, "rows": 6, "block": 64, "crc32": {}}',
        '{"version": 3, "nodes": 7, "rows": -1, "block": 64, "crc32": {}}',
        '{"version": 3, "nodes": 7, "rows": 6, "block": 64, "crc32": []}',
        '{"version": 3, "nodes": 7, "rows": 6, "block": 96, "crc32": {}}',
        '{"version": 3, "nodes": 7, "rows": 6, "block": 0, "crc32": {}}',
        '{"version": 3, "nodes": 7, "rows": 6, "block": 64.0, "crc32": {}}',
        "[" * 100_000,
    ],
)
def test_damaged_metadata(saved: Path, meta: str) -> None:
    (saved / "meta.json").write_text(meta)
    with pytest.raises(TrieFileError, match=r"meta\.json"):
        TokenTrie.open(saved)


def test_older_versions_name_a_remedy(saved: Path) -> None:
    meta = json.loads((saved / "meta.json").read_text())
    (saved / "meta.json").write_text(json.dumps({**meta, "version": 2}))
    with pytest.raises(
        TrieFileError, match="version 2, but this program reads 3; build the trie again"
    ):
        TokenTrie.open(saved)


def test_pickles_are_rejected(saved: Path) -> None:
    np.save(saved / "rows.npy", np.array([{}] * 6, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"rows\.npy"):
        TokenTrie.open(saved)


def test_file_names_and_dtypes(saved: Path) -> None:
    assert {p.stem for p in saved.glob("*.npy")} == set(NAMES)
    kinds = {name: np.load(saved / f"{name}.npy").dtype.str for name in NAMES}
    assert kinds == {
        "tokens": "<u2", "firsts": "<u8", "inner": "<u8", "ends": "<u8",
        "rows": "|u1", "rows_high": "<u8", "shared": "|u1", "sums": "<u4",
    }  # fmt: skip
    meta = json.loads((saved / "meta.json").read_text())
    expected = {"version": 3, "nodes": 7, "rows": 6, "block": block_checks.BLOCK_SIZE, "crc32": 0}
    assert {**meta, "crc32": 0} == expected


def test_parents_come_first_beyond_the_first_word(tmp_path: Path) -> None:
    # In a chain, the counts alone never decide whether a parent comes first.
    TokenTrie.build([[5] * 300]).save(tmp_path)
    inner = np.load(tmp_path / "inner.npy")
    assert spells(TokenTrie.open(tmp_path)) == {0: [5] * 300}
    inner[2] &= ~np.uint64(1 << 7)  # node 135 has no child
    inner[4] |= np.uint64(1 << (300 & 63))  # but the last one has
    np.save(tmp_path / "inner.npy", inner)
    seal(tmp_path)
    with pytest.raises(ValueError, match="before its parent"):
        TokenTrie.open(tmp_path)
