from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie.index import token_trie as token_trie
from trie.index.token_trie import TokenTrie

small = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12)
wide = st.lists(st.lists(st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**31 - 1]), max_size=5))


def _nested(sequences: list[list[int]]) -> dict[Any, Any]:
    """The slow oracle: a dict per node, rows under the key None."""
    root: dict[Any, Any] = {None: []}
    for row, sequence in enumerate(sequences):
        node = root
        for token in sequence:
            node = node.setdefault(token, {None: []})
        node[None].append(row)
    return root


def _count(oracle: dict[Any, Any]) -> int:
    below = sum(_count(child) for token, child in oracle.items() if token is not None)
    return len(oracle[None]) + below


def _same(trie: TokenTrie, node: int, oracle: dict[Any, Any]) -> int:
    """Compare from `node` on; return the number of nodes seen."""
    assert trie.rows(node).tolist() == oracle[None]
    assert trie.count(node) == _count(oracle)
    assert trie.ends(node) == bool(oracle[None])
    expected = sorted(token for token in oracle if token is not None)
    tokens, nodes = trie.children(node)
    assert tokens.dtype == np.int64
    assert tokens.tolist() == expected
    for absent in {-1, 0, 2, 4, 256, 65536, 2**31, 2**40} - set(expected):
        assert trie.child(node, absent) == -1
    assert [trie.child(node, token) for token in expected] == nodes.tolist()
    return 1 + sum(_same(trie, n, oracle[t]) for n, t in zip(nodes.tolist(), expected, strict=True))


def _distance(trie: TokenTrie, node: int) -> int:
    found = [1 + _distance(trie, below) for below in trie.children(node)[1].tolist()]
    return 0 if trie.ends(node) else min(found)


@given(small.filter(len))
def test_distances_to_end(sequences: list[list[int]]) -> None:
    trie = TokenTrie.build(sequences)
    assert trie.distances_to_end().tolist() == [_distance(trie, node) for node in range(trie.nodes)]


@given(small | wide)
def test_equals_nested_dicts(sequences: list[list[int]]) -> None:
    trie = TokenTrie.build(iter(sequences))
    assert _same(trie, trie.root, _nested(sequences)) == trie.nodes
    assert len(trie) == len(sequences)
    for row, sequence in enumerate(sequences):
        assert row in trie.rows(trie.walk(sequence))
        assert trie.walk([*sequence, 7]) == -1
        assert all(trie.contains_token(token) for token in sequence)
        assert trie.path(trie.walk(sequence)) == sequence
    assert not trie.contains_token(7)
    assert dict(trie.locate(range(len(trie)))) == {r: trie.walk(s) for r, s in enumerate(sequences)}
    assert len(trie.levels) - 2 == max(map(len, sequences), default=0)
    tokens, lengths = trie.flatten()
    assert lengths.tolist() == [len(sequence) for sequence in sequences]
    assert tokens.tolist() == [token for sequence in sequences for token in sequence]


@given(small | wide)
def test_opened_equals_built(
    tmp_path_factory: pytest.TempPathFactory, sequences: list[list[int]]
) -> None:
    directory = tmp_path_factory.mktemp("trie")
    TokenTrie.build(sequences).save(directory)
    opened = TokenTrie.open(directory)
    assert _same(opened, opened.root, _nested(sequences)) == opened.nodes
    assert len(opened) == len(sequences)


def test_a_deep_sequence() -> None:
    trie = TokenTrie.build([[5] * 3000])
    assert trie.nodes == 3001
    assert trie.rows(trie.walk([5] * 3000)).tolist() == [0]


@pytest.mark.parametrize("token", [-1, 2**31])
def test_invalid_tokens_are_rejected(token: int) -> None:
    with pytest.raises(ValueError, match="token ids"):
        TokenTrie.build([[1], [token]])


def test_tokens_beyond_64_bits_are_rejected() -> None:
    with pytest.raises(ValueError, match="token ids"):
        TokenTrie.build([[1], [2**70]])


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 128, 70_000])
def test_rows_of_any_width(rows: int) -> None:
    sequences = [[row * 7919 % rows >> 8, row * 7919 % rows & 255] for row in range(rows)]
    trie = TokenTrie.build(sequences)
    assert len(trie) == trie.count(trie.root) == rows
    for row in range(0, rows, 97):
        assert trie.rows(trie.walk(sequences[row])).tolist() == [row]
    assert trie.flatten()[0].tolist() == [token for sequence in sequences for token in sequence]


@given(st.integers(0, 2**32), st.integers(256, 400), st.integers(0, 400))
def test_wide_nodes(seed: int, above: int, under: int) -> None:
    rng = np.random.default_rng(seed)
    root = set(rng.choice(3000, above, replace=False).tolist())
    below = set(rng.choice(900, under, replace=False).tolist())
    above = int(rng.choice(list(root)))
    trie = TokenTrie.build([[token] for token in root] + [[above, token, 1] for token in below])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_trie, "_WIDE_CHILDREN", 256)
        node = trie.walk([above])
        for parent, expected in ((trie.root, root), (node, below)):
            tokens, nodes = trie.children(parent)
            assert tokens.tolist() == sorted(expected)
            places = dict(zip(tokens.tolist(), nodes.tolist(), strict=True))
            for token in (*range(-1, 1000), 2**31, 2**40):
                assert trie.child(parent, token) == places.get(token, -1)
    assert set(trie._wide) == {trie.root} | ({node} if len(below) >= 256 else set())


def test_numpy_integers_are_accepted() -> None:
    trie = TokenTrie.build([np.array([3, 1]), (3, 2), np.array([4], dtype=np.uint16)])
    node = trie.child(np.int64(trie.root), np.int64(3))
    assert trie.children(np.int64(node))[0].tolist() == [1, 2]
    assert trie.rows(trie.child(np.int64(node), np.int32(2))).tolist() == [1]
    assert not trie.ends(np.int64(node))


def test_memory_per_node() -> None:
    rng = np.random.default_rng(0)
    sequences = rng.integers(0, 30_000, (20_000, 5)).tolist()
    trie = TokenTrie.build(sequences)
    # Two bytes per token, at most three bits per node, 15 bits per row, and cumulative counts.
    assert trie.nbytes < trie.nodes * (2 + 3 / 8 + 3 / 16) + 2 * len(trie) + 10_000
