import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trie import files
from trie.token_trie import TokenTrie

NAMES = ["tokens", "firsts", "inner", "ends", "rows", "rows_high", "shared"]
SEQUENCES = [[2, 1], [2], [1, 300], [2], [3, 3], []]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Nodes 0; 1 (1), 2 (2), 3 (3); 4 (1 300), 5 (2 1), 6 (3 3)."""
    TokenTrie.build(SEQUENCES).save(tmp_path)
    return tmp_path


def _spells(trie: TokenTrie) -> list[list[int]]:
    """Walk all of a trie by what decoding uses; return its sequences by row."""
    found: dict[int, list[int]] = {}
    todo: list[tuple[int, list[int]]] = [(trie.root, [])]
    while todo:
        node, path = todo.pop()
        assert trie.ends(node) == bool(trie.rows(node).size)
        tokens, nodes = trie.children(node)
        assert tokens.size or trie.ends(node) or not len(trie)  # no dead end
        assert np.all(np.diff(tokens) > 0)
        for row in trie.rows(node).tolist():
            assert row not in found
            found[row] = path
        for token, below in zip(tokens.tolist(), nodes.tolist(), strict=True):
            assert trie.child(node, token) == below > node
            todo.append((below, [*path, token]))
    assert sorted(found) == list(range(len(trie)))
    return [found[row] for row in range(len(trie))]


def _seal(directory: Path) -> None:
    """Mend the checksums, as one who changes files on purpose would."""
    meta = json.loads((directory / "meta.json").read_text())
    for name in NAMES:
        array = np.load(directory / f"{name}.npy", allow_pickle=True)
        meta["crc32"][name] = files.zlib.crc32(np.ascontiguousarray(array).reshape(-1).view("u1"))
    (directory / "meta.json").write_text(json.dumps(meta))


def _bits(*flags: int) -> list[int]:
    return [sum(flag << place for place, flag in enumerate(flags))]


def _changes(saved: Path) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    for name in NAMES:
        values = np.load(saved / f"{name}.npy")
        yield name, values[:-1] if values.size else np.append(values, 0)
        yield name, np.append(values, values[-1:])
        yield name, values.astype(np.int64)
        yield name, values[None]


def test_wrong_arrays_are_refused(saved: Path) -> None:
    for name, values in _changes(saved):
        path = saved / f"{name}.npy"
        whole = path.read_bytes()
        np.save(path, values)
        _seal(saved)
        with pytest.raises(ValueError, match=str(path)):
            TokenTrie.open(saved)
        path.write_bytes(whole)
    _seal(saved)
    assert _spells(TokenTrie.open(saved)) == SEQUENCES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kept", [0, 5, 64, 127, -1])
def test_cut_files_are_refused(saved: Path, name: str, kept: int) -> None:
    path = saved / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=str(path)):
        TokenTrie.open(saved)
    path.unlink()
    with pytest.raises(ValueError, match=str(path)):
        TokenTrie.open(saved)


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("tokens", [0, 1, 3, 2, 300, 1, 3], "do not ascend"),
        ("tokens", [0, 1, 1, 3, 300, 1, 3], "do not ascend"),
        ("tokens", [0, 1, 2, 2**31, 300, 1, 3], "too large"),
        ("firsts", _bits(0, 1, 0, 0, 1, 1, 1), "begin behind it"),
        ("firsts", _bits(1, 0, 1, 0, 1, 1, 1), "begin behind it"),
        ("firsts", _bits(1, 1, 0, 0, 1, 1, 0), "have children"),
        ("firsts", _bits(1, 1, 0, 0, 1, 1, 1, 1), "beyond the last"),
        ("inner", _bits(0, 1, 1, 1, 1, 0, 0), "before its parent"),
        ("inner", _bits(1, 0, 0, 0, 1, 1, 1), "before its parent"),
        ("inner", _bits(1, 1, 1, 1, 1, 1, 1), "shape"),  # without leaves, there are fewer ends
        ("ends", _bits(1, 1, 1, 1), "7 nodes end 6"),
        ("ends", _bits(1, 0, 1, 0, 1), "beyond the last"),
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
    _seal(saved)
    with pytest.raises(ValueError, match=problem) as error:
        TokenTrie.open(saved)
    assert str(saved) in str(error.value)


def test_a_trie_of_nodes_without_rows_is_refused(saved: Path) -> None:
    TokenTrie.build([]).save(saved / "..")
    for name in ("rows", "rows_high", "shared"):
        shutil.copy(saved / ".." / f"{name}.npy", saved)
    meta = json.loads((saved / "meta.json").read_text())
    (saved / "meta.json").write_text(json.dumps({**meta, "rows": 0}))
    _seal(saved)
    with pytest.raises(ValueError, match="end 0 sequences"):
        TokenTrie.open(saved)


def _damage(rng: random.Random, directory: Path) -> bool:
    """Damage the files of a trie; return whether the checksums were mended."""
    paths = sorted(directory.iterdir())
    path = rng.choice(paths)
    content = bytearray(path.read_bytes())
    kind = rng.randrange(6)
    if kind == 0:
        content = content[: rng.randrange(len(content))]
    elif kind == 1:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        for _ in range(rng.randrange(1, 9)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == 3:
        content += bytes(rng.randrange(256) for _ in range(rng.randrange(1, 99)))
    elif kind == 4:
        content = bytearray(rng.choice(paths).read_bytes())
    elif path.suffix == ".npy":  # numbers only, and the checksums fit
        values = np.load(path)
        if values.size:
            values.reshape(-1).view("u1")[rng.randrange(values.nbytes)] ^= 1 << rng.randrange(8)
            np.save(path, values)
            _seal(directory)
            return True
    path.write_bytes(content)
    return False


def _fuzz(directory: Path, cases: int, seed: int) -> tuple[int, int]:
    """Open damaged tries; return how many were refused, and how many were not."""
    rng = random.Random(seed)
    refused = harmless = 0
    for case in range(cases):
        sequences = [
            [rng.choice([0, 1, 2, 300]) for _ in range(rng.randrange(4))]
            for _ in range(rng.choice([0, 1, 7, 40]))
        ]
        place = directory / str(case)
        place.mkdir()
        TokenTrie.build(sequences).save(place)
        mended = _damage(rng, place)
        try:
            trie = TokenTrie.open(place)
        except ValueError as error:
            assert str(place) in str(error)
            refused += 1
        else:
            found = _spells(trie)  # with mended checksums another trie, but a sound one
            assert mended or found == sequences
            harmless += 1
        shutil.rmtree(place)
    return refused, harmless


def test_damaged_files_are_refused_or_harmless(tmp_path: Path) -> None:
    refused, harmless = _fuzz(tmp_path, 150, seed=0)
    assert refused > harmless > 0


@pytest.mark.slow
def test_many_damaged_files(tmp_path: Path) -> None:
    refused, harmless = _fuzz(tmp_path, 5_000, seed=1)
    assert refused > harmless > 0


@pytest.mark.parametrize(
    "meta",
    [
        "",
        "[]",
        "{}",
        '{"version": 1, "nodes": 7, "rows": 6}',
        '{"version": 3, "nodes": 7, "rows": 6, "crc32": {}}',
        '{"version": 2, "nodes": "7", "rows": 6, "crc32": {}}',
        '{"version": 2, "nodes": 0, "rows": 6, "crc32": {}}',
        '{"version": 2, "nodes": 7, "rows": -1, "crc32": {}}',
        '{"version": 2, "nodes": 7, "rows": 6, "crc32": []}',
        "[" * 100_000,
    ],
)
def test_damaged_description(saved: Path, meta: str) -> None:
    (saved / "meta.json").write_text(meta)
    with pytest.raises(ValueError, match=r"meta\.json"):
        TokenTrie.open(saved)


def test_pickles_are_not_read(saved: Path) -> None:
    np.save(saved / "rows.npy", np.array([{}] * 6, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"rows\.npy"):
        TokenTrie.open(saved)


def test_files_are_small_and_plain(saved: Path) -> None:
    assert {p.stem for p in saved.glob("*.npy")} == set(NAMES)
    kinds = {name: np.load(saved / f"{name}.npy").dtype.str for name in NAMES}
    assert kinds == {
        "tokens": "<u2", "firsts": "<u8", "inner": "<u8", "ends": "<u8",
        "rows": "|u1", "rows_high": "<u8", "shared": "|u1",
    }  # fmt: skip
    meta = json.loads((saved / "meta.json").read_text())
    assert {**meta, "crc32": 0} == {"version": 2, "nodes": 7, "rows": 6, "crc32": 0}


def test_order_is_checked_beyond_the_first_word(tmp_path: Path) -> None:
    # A chain: at every node the check by counts alone is in doubt.
    TokenTrie.build([[5] * 300]).save(tmp_path)
    inner = np.load(tmp_path / "inner.npy")
    assert _spells(TokenTrie.open(tmp_path)) == [[5] * 300]
    inner[2] &= ~np.uint64(1 << 7)  # node 135 has no child
    inner[4] |= np.uint64(1 << (300 & 63))  # but the last one has
    np.save(tmp_path / "inner.npy", inner)
    _seal(tmp_path)
    with pytest.raises(ValueError, match="before its parent"):
        TokenTrie.open(tmp_path)
