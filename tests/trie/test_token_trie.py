import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
