"""Files of a trie that are damaged, or were written wrongly with matching checksums."""

import json
import random
import zlib

import numpy as np
import pytest

from trie import TokenTrie, TrieFileError
from trie import token_trie as module

NAMES = ["tokens", "children", "ends", "rows"]
SEQUENCES = [[2, 1], [2], [1, 300], [2], [3, 3], []]


def damage_bytes(rng, content, other):
    """Cut, change or lengthen the content of a file, or mix it with another one's."""
    kind, found = rng.randrange(6), bytearray(content)
    if kind == 0:
        return content[: rng.randrange(len(content) + 1)]
    if kind == 1:
        return other
    if kind == 2:
        return content + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 99)))
    if kind == 3:
        at = rng.randrange(len(content))
        return content[:at] + other[at:]
    for _ in range(1 if kind == 4 else rng.randrange(1, 9)):
        at = rng.randrange(len(found))
        found[at] = found[at] ^ 1 << rng.randrange(8) if kind == 4 else rng.randrange(256)
    return bytes(found)


def spells(trie):
    """Walk all of a trie, as decoding would; return its sequences in the order of their rows."""
    found = {}
    seen = set()
    todo = [(trie.root, [])]
    while todo:
        node, path = todo.pop()
        assert 0 <= node < trie.nodes
        assert node not in seen
        seen.add(node)
        rows = trie.rows(node).tolist()
        tokens, nodes = trie.children(node)
        assert trie.ends(node) == bool(rows)
        assert tokens.size or rows or not len(trie), "a dead end"
        for row in rows:
            assert row not in found
            found[row] = path
        for token, below in zip(tokens.tolist(), nodes.tolist(), strict=True):
            assert trie.child(node, token) == below
            todo.append((below, [*path, token]))
    assert len(seen) == trie.nodes
    return [found[row] for row in range(len(trie))]


def mend(directory):
    """Write the checksums of the files as they are."""
    sums = {name: zlib.crc32((directory / f"{name}.npy").read_bytes()) for name in NAMES}
    (directory / "meta.json").write_text(json.dumps({"version": module.VERSION, "crc32": sums}))


@pytest.fixture
def saved(tmp_path):
    """Nodes 0; 1 (1), 2 (2), 3 (3); 4 (1 300), 5 (2 1), 6 (3 3)."""
    TokenTrie.build(SEQUENCES).save(tmp_path)
    return tmp_path


def test_file_names_and_dtypes(saved):
    assert {path.stem for path in saved.glob("*.npy")} == set(NAMES)
    kinds = {name: np.load(saved / f"{name}.npy").dtype.str for name in NAMES}
    assert kinds == {"tokens": "<u2", "children": "|u1", "ends": "|u1", "rows": "|u1"}
    assert spells(TokenTrie.open(saved)) == SEQUENCES


@pytest.mark.parametrize("name", NAMES)
def test_every_changed_bit_and_cut_is_noticed(saved, name):
    path = saved / f"{name}.npy"
    whole = path.read_bytes()
    damaged = [whole[:kept] for kept in range(len(whole))]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for content in damaged:
        path.unlink()  # it may still be mapped
        path.write_bytes(content)
        with pytest.raises(TrieFileError, match=rf"{path}: damaged"):
            TokenTrie.open(saved)
    path.unlink()
    with pytest.raises(TrieFileError, match=rf"{path}: damaged"):
        TokenTrie.open(saved)


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("tokens", [0, 1, 3, 2, 300, 1, 3], "children of a node do not ascend"),
        ("tokens", [0, 1, 1, 3, 300, 1, 3], "children of a node do not ascend"),
        ("tokens", [0, 1, 2, 2**31, 300, 1, 3], "children of a node do not ascend"),
        ("tokens", [0, 1, 2, 3, 300, 1], "children of nodes before them"),
        ("tokens", [], "unsigned integers"),
        ("tokens", [[0, 1, 2, 3, 300, 1, 3]], "unsigned integers"),
        ("children", [0, 4, 5, 6, 7, 7, 7, 7], "children of nodes before them"),
        ("children", [1, 1, 5, 6, 7, 7, 7, 7], "children of nodes before them"),
        ("children", [1, 4, 3, 6, 7, 7, 7, 7], "children of nodes before them"),
        ("children", [1, 4, 4, 4, 4, 7, 7, 7], "children of nodes before them"),
        ("children", [1, 4, 5, 6, 7, 7, 7, 8], "children of nodes before them"),
        ("children", [1, 4, 5, 6, 7, 7, 7], "children of nodes before them"),
        ("ends", [0, 1, 1, 3, 3, 4, 5, 5], "rows do not belong to nodes"),
        ("ends", [1, 1, 1, 3, 3, 4, 5, 6], "rows do not belong to nodes"),
        ("ends", [0, 1, 3, 1, 3, 4, 5, 6], "rows do not belong to nodes"),
        ("ends", [0, 1, 2, 4, 5, 5, 6, 6], "no sequence ends at a leaf"),
        ("rows", [5, 1, 3, 2, 0, 0], "occur once each"),
        ("rows", [5, 1, 3, 2, 0, 9], "occur once each"),
        ("rows", [5, 3, 1, 2, 0, 4], "occur once each"),
    ],
)
def test_each_invariant(saved, name, values, problem):
    np.save(saved / f"{name}.npy", np.array(values, dtype=np.uint32))
    mend(saved)
    with pytest.raises(TrieFileError, match=problem):
        TokenTrie.open(saved)


def test_other_types_are_rejected(saved):
    for kind in ("i8", "f8", "?"):
        np.save(saved / "rows.npy", np.array([5, 1, 3, 2, 0, 4], dtype=kind))
        mend(saved)
        with pytest.raises(TrieFileError, match="unsigned integers"):
            TokenTrie.open(saved)
    np.save(saved / "rows.npy", np.array([{}] * 6, dtype=object), allow_pickle=True)
    mend(saved)
    with pytest.raises(TrieFileError, match=r"rows\.npy: damaged .*not an array"):
        TokenTrie.open(saved)


def _changed(rng, values):
    """Change, repeat or leave out numbers."""
    values = values.copy()
    for _ in range(rng.randrange(1, 4)):
        if values.size:
            at, other = rng.randrange(values.size), rng.randrange(values.size)
            values[at] = rng.choice([values[other], values[at] ^ 1, 0, 255])
    return values[: len(values) - rng.choice([0, 0, 0, 1])]


@pytest.mark.parametrize("rounds", [500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_what_opens_is_what_building_gives(tmp_path, rounds):
    """Files are damaged, in half of the rounds with matching checksums."""
    rng, other = random.Random(0), b"\x93NUMPY" * 30
    outcomes = {"refused": 0, "equal": 0, "another trie": 0}
    for _ in range(rounds):
        sequences = [
            [rng.choice([0, 1, 2, 300]) for _ in range(rng.randrange(4))]
            for _ in range(rng.choice([0, 1, 2, 7]))
        ]
        TokenTrie.build(sequences).save(tmp_path)
        mended = rng.random() < 0.5
        if mended:
            path = tmp_path / f"{rng.choice(NAMES)}.npy"
            np.save(path, _changed(rng, np.load(path)))
            mend(tmp_path)
        else:
            path = rng.choice(sorted(tmp_path.iterdir()))
            path.write_bytes(damage_bytes(rng, path.read_bytes(), other))
        try:
            trie = TokenTrie.open(tmp_path)
        except TrieFileError as error:
            assert str(tmp_path) in str(error)
            outcomes["refused"] += 1
        else:
            read = spells(trie)
            assert mended or read == sequences
            again = TokenTrie.build(read)._arrays
            assert all(map(np.array_equal, trie._arrays[1:], again[1:]))
            assert trie._arrays.tokens[1:].tolist() == again.tokens[1:].tolist()
            outcomes["equal" if read == sequences else "another trie"] += 1
        for file in tmp_path.iterdir():
            file.unlink()
    assert min(outcomes.values()) > rounds / 50


@pytest.mark.parametrize(
    "meta", ["", "[]", "{}", '{"version": 4}', '{"version": 4, "crc32": 3}', "[" * 100_000]
)
def test_damaged_metadata(saved, meta):
    (saved / "meta.json").write_text(meta)
    with pytest.raises(TrieFileError, match=r"meta\.json: not the description of a trie"):
        TokenTrie.open(saved)


def test_other_versions_name_a_remedy(saved):
    (saved / "meta.json").write_text('{"version": 3, "crc32": {}}')
    with pytest.raises(
        TrieFileError, match="version 3, but this program reads 4; build the trie again"
    ):
        TokenTrie.open(saved)
