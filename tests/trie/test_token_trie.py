""""""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie import (
    TokenTrie,
    TrieFileError,
)
from trie.token_trie import open_array, row_positions

small = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12)
wide = st.lists(st.lists(st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**31 - 1]), max_size=5))


def _nested(sequences):
    """The slow oracle: a dict per node, rows under the key None."""
    root = {None: []}
    for row, sequence in enumerate(sequences):
        node = root
        for token in sequence:
            node = node.setdefault(token, {None: []})
        node[None].append(row)
    return root


def _same(trie, node, oracle):
    """Compare from `node` on; return the number of nodes seen."""
    assert trie.rows(node).tolist() == oracle[None]
    assert trie.ends(node) == bool(oracle[None])
    expected = sorted(token for token in oracle if token is not None)
    tokens, nodes = trie.children(node)
    assert tokens.dtype == np.int64
    assert tokens.tolist() == expected
    for absent in {-1, 0, 2, 4, 256, 65536, 2**31, 2**40} - set(expected):
        assert trie.child(node, absent) == -1
    assert [trie.child(node, token) for token in expected] == nodes.tolist()
    return 1 + sum(_same(trie, n, oracle[t]) for n, t in zip(nodes.tolist(), expected, strict=True))


def _distance(trie, node):
    found = [1 + _distance(trie, below) for below in trie.children(node)[1].tolist()]
    return 0 if trie.ends(node) else min(found)


@given(small.filter(len))
def test_distances_to_end(sequences):
    trie = TokenTrie.build(sequences)
    assert trie.distances_to_end().tolist() == [_distance(trie, node) for node in range(trie.nodes)]


@given(small | wide)
def test_equals_nested_dicts(sequences):
    trie = TokenTrie.build(iter(sequences))
    assert _same(trie, trie.root, _nested(sequences)) == trie.nodes
    assert len(trie) == len(sequences)
    for row, sequence in enumerate(sequences):
        assert row in trie.rows(trie.walk(sequence))
        assert trie.walk([*sequence, 7]) == -1
        assert all(trie.contains_token(token) for token in sequence)
        assert trie.depth(trie.walk(sequence)) == len(sequence)
    assert not trie.contains_token(7)
    assert trie.sequences() == list(map(list, sequences))
    assert trie.longest == max(map(len, sequences), default=0)


@given(small | wide)
def test_opened_equals_built(tmp_path_factory, sequences):
    directory = tmp_path_factory.mktemp("trie")
    TokenTrie.build(sequences).save(directory)
    opened = TokenTrie.open(directory)
    assert _same(opened, opened.root, _nested(sequences)) == opened.nodes
    assert len(opened) == len(sequences)


@pytest.mark.parametrize("token", [-1, 2**31, 2**70, -(2**40)])
def test_invalid_tokens_are_rejected(token):
    with pytest.raises(ValueError, match="token ids"):
        TokenTrie.build([[1], [token]])


def test_numpy_integers_are_accepted():
    trie = TokenTrie.build([np.array([3, 1]), (3, 2), np.array([4], dtype=np.uint16)])
    node = trie.child(np.int64(trie.root), np.int64(3))
    assert trie.children(np.int64(node))[0].tolist() == [1, 2]
    assert trie.rows(trie.child(np.int64(node), np.int32(2))).tolist() == [1]
    assert not trie.ends(np.int64(node))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6))))
def test_positions_of_all_rows(rows):
    offsets = np.array([offset for offset, _ in rows], dtype=np.int64)
    sizes = np.array([size for _, size in rows], dtype=np.int64)
    expected = [offset + i for offset, size in rows for i in range(size)]
    assert row_positions(offsets, sizes).tolist() == expected
    assert row_positions(offsets, sizes.astype(np.int32)).tolist() == expected


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 0, 3)])
@pytest.mark.parametrize("kind", ["?", "u1", "u2", "i4", "i8", "u8", "f4", "f8"])
def test_arrays_are_read_back(shape, kind, tmp_path):
    array = np.arange(math.prod(shape)).astype(kind).reshape(shape)
    np.save(tmp_path / "a.npy", array)
    for mapped in (False, True):
        found = open_array(tmp_path / "a.npy", mapped=mapped)
        assert found.dtype == array.dtype
        assert found.shape == shape
        assert np.array_equal(found, array)


def test_reading_is_thread_safe(tmp_path):
    """numpy's reader fails about once in a few thousand reads."""
    np.save(tmp_path / "a.npy", np.arange(5))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: open_array(tmp_path / "a.npy").sum(), range(4000))
        assert set(found) == {10}


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '|O', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<q8', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<a8', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<m8', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<i3', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<i8', 'fortran_order': True, 'shape': (5, 1), }",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (6,), }",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (5), }",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (999999999999999999,), }",
        b"{" * 300,
        b"",
    ],
)
def test_unsupported_headers_are_rejected(header, tmp_path):
    content = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    (tmp_path / "a.npy").write_bytes(content + np.arange(5).tobytes())
    for mapped in (False, True):
        with pytest.raises(ValueError, match="not an array"):
            open_array(tmp_path / "a.npy", mapped=mapped)


@given(
    at=st.integers(0, 127), byte=st.integers(0, 255), mapped=st.booleans(), keep=st.integers(0, 200)
)
def test_damaged_headers_raise_two_kinds_of_errors(at, byte, mapped, keep, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "a.npy"
    np.save(path, np.arange(5))
    content = bytearray(path.read_bytes())
    content[at] = byte
    path.unlink()  # it may still be mapped
    path.write_bytes(content[:keep])
    with suppress(OSError, ValueError):
        open_array(path, mapped=mapped)


NAMES = ["tokens", "children", "ends", "rows"]
SEQUENCES = [[2, 1], [2], [1, 300], [2], [3, 3], []]


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
