"""Tries with changes, and tries whose rows have other numbers, compared with dicts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trie.walking import language
from trie import (
    FixedTokens,
    GrammarConstraint,
    RenumberedTrie,
    TokenSet,
    TokenTrie,
    TrieConstraint,
    TrieSequence,
    UpdatedTrie,
)
from trie.automaton import Automaton

sequence = st.lists(st.integers(0, 2), max_size=4).map(tuple)
sequences = st.lists(sequence, max_size=9)


def _same(trie, oracle):
    """Compare every node that can be reached with the dict from rows to sequences."""
    assert len(trie) == len(oracle)
    assert trie.longest == max(map(len, oracle.values()), default=0)
    todo = [(trie.root, ())]
    seen = set()
    while todo:
        node, prefix = todo.pop()
        assert node not in seen
        seen.add(node)
        rows = sorted(row for row, sequence in oracle.items() if sequence == prefix)
        assert trie.rows(node).tolist() == rows
        assert trie.rows(node).dtype == np.int64
        assert trie.ends(node) == bool(rows)
        size = len(prefix)
        longer = [s for s in oracle.values() if len(s) > size and s[:size] == prefix]
        expected = sorted({s[size] for s in longer})
        tokens, nodes = trie.children(node)
        assert tokens.dtype == np.int64
        assert tokens.tolist() == expected
        for token in (-1, 0, 1, 2, 3, 2**40):
            child = trie.child(node, token)
            assert (child >= 0) == (token in expected)
            if child >= 0:
                assert nodes[expected.index(token)] == child
                todo.append((child, (*prefix, token)))
        assert trie.walk(prefix) == node
    for token in range(4):
        assert trie.contains_token(token) == any(token in sequence for sequence in oracle.values())


@given(sequences, sequences, st.data())
def test_equals_a_dict(first, added, data):
    base = TokenTrie.build(first)
    rows = range(len(first))
    removed = data.draw(st.sets(st.sampled_from(rows)) if rows else st.just(set()))
    oracle = {row: s for row, s in enumerate([*first, *added]) if row not in removed}
    _same(UpdatedTrie(base, added, removed), oracle)
    _same(UpdatedTrie(base, removed=rows), {})
    _same(base, dict(enumerate(first)))


def test_nodes_can_be_used_without_walking():
    base = TokenTrie.build([[1, 2, 3], [1, 2]])
    node = UpdatedTrie(base, [[1, 2, 4]]).walk([1, 2])
    fresh = UpdatedTrie(base, [[1, 2, 4]])
    assert fresh.rows(node).tolist() == [1]
    assert fresh.children(node)[0].tolist() == [3, 4]


@pytest.mark.parametrize("rows", [[2], [-1], [0, 0], [0, 5]])
def test_missing_rows_are_rejected(rows):
    with pytest.raises(ValueError, match="row"):
        UpdatedTrie(TokenTrie.build([[1], [2]]), [[3]], rows)


def test_only_integers_are_rows():
    with pytest.raises(TypeError):
        UpdatedTrie(TokenTrie.build([[1, 2]]), removed=[0.2])


def _language(constraint):
    return {ids[:-1] for ids in language(constraint, 9)}


@given(sequences, sequences, st.sets(st.integers(0, 8)))
def test_every_constraint_sees_the_changes(first, added, gone):
    gone = {row for row in gone if row < len(first)}
    trie = UpdatedTrie(TokenTrie.build(first), added, gone)
    left = {one for row, one in enumerate([*first, *added]) if row not in gone}
    if not left:
        constrain: Any
        for constrain in (TrieSequence, lambda trie: TrieConstraint(trie, 9)):
            with pytest.raises(ValueError, match="no sequences"):
                constrain(trie)
        return
    assert _language(TrieConstraint(trie, 9)) == left
    inside = [TokenSet([7, 8]), TrieSequence(trie), FixedTokens([8])]
    expected = {(mark, *one, 8) for one in left for mark in (7, 8)}
    assert _language(GrammarConstraint(inside, Automaton(9))) == expected


@given(st.data(), st.lists(st.lists(sequence, min_size=1, max_size=5), min_size=1, max_size=4))
def test_rows_are_mapped_to_their_numbers(data, ranges):
    """Ranges of rows in any order, with removed and hidden rows."""
    flat = [one for rows_of_range in ranges for one in rows_of_range]
    sizes = [len(rows_of_range) for rows_of_range in ranges]
    starts, numbers, at = np.cumsum([0, *sizes[:-1]]), np.zeros(len(ranges), dtype=np.int64), 0
    for place in data.draw(st.permutations(range(len(ranges)))):
        numbers[place] = at + data.draw(st.integers(0, 3))
        at = int(numbers[place]) + sizes[place]
    number = np.concatenate([np.arange(n, n + s) for n, s in zip(numbers, sizes, strict=True)])
    removed = data.draw(st.sets(st.sampled_from(range(len(flat)))))
    left = [row for row in range(len(flat)) if row not in removed]
    # A row may be hidden only if another row has the same sequence.
    hidden = [row for row in left if flat[row] in [flat[other] for other in left if other < row]]
    hidden = [row for row in hidden if data.draw(st.booleans())]
    trie = UpdatedTrie(TokenTrie.build(flat), removed=removed)
    found = RenumberedTrie(trie, starts, numbers, np.sort(number[hidden]).astype(np.int64))
    _same(found, {int(number[row]): flat[row] for row in left if row not in hidden})
