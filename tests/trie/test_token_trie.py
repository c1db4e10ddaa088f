""""""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie.npy_files import open_array
from trie.token_trie import TokenTrie, row_positions

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
        assert trie.path(trie.walk(sequence)) == sequence
        assert trie.depth(trie.walk(sequence)) == len(sequence)
    assert not trie.contains_token(7)
    some = np.arange(0, len(trie), 2)
    assert trie.locate(some).tolist() == sorted({trie.walk(s) for s in sequences[::2]})
    assert trie.longest == max(map(len, sequences), default=0)


@given(small | wide)
def test_opened_equals_built(tmp_path_factory, sequences):
    directory = tmp_path_factory.mktemp("trie")
    TokenTrie.build(sequences).save(directory)
    opened = TokenTrie.open(directory)
    assert _same(opened, opened.root, _nested(sequences)) == opened.nodes
    assert len(opened) == len(sequences)


def test_a_deep_sequence():
    trie = TokenTrie.build([[5] * 3000])
    assert trie.nodes == 3001
    assert trie.rows(trie.walk([5] * 3000)).tolist() == [0]


@pytest.mark.parametrize("token", [-1, 2**31, 2**70, -(2**40)])
def test_invalid_tokens_are_rejected(token):
    with pytest.raises(ValueError, match="token ids"):
        TokenTrie.build([[1], [token]])


def test_only_integers_are_tokens():
    with pytest.raises(TypeError):
        TokenTrie.build([[1.7]])


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 128, 70_000])
def test_rows_of_any_width(rows):
    sequences = [[row * 7919 % rows >> 8, row * 7919 % rows & 255] for row in range(rows)]
    trie = TokenTrie.build(sequences)
    assert len(trie) == rows
    for row in range(0, rows, 97):
        assert trie.rows(trie.walk(sequences[row])).tolist() == [row]


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


def test_archives_are_rejected(tmp_path):
    np.savez(tmp_path / "a.npz", np.arange(5))
    with pytest.raises(ValueError, match="not an array"):
        open_array(tmp_path / "a.npz")
