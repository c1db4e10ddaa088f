"""Both prefix functions allow the same sequences."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.nested import constraint_function, prefix_function
from trie import TokenTrie, TrieConstraint

END = 2
SEQUENCES = st.lists(st.lists(st.integers(3, 6), min_size=1, max_size=4), min_size=1, max_size=8)


@given(SEQUENCES, SEQUENCES, st.lists(st.integers(2, 6), max_size=5))
def test_automata_allow_what_nested_dicts_allow(
    first: list[list[int]], second: list[list[int]], prefix: list[int]
) -> None:
    constraints = [TrieConstraint(TokenTrie.build(one), END) for one in (first, second)]
    found = constraint_function(constraints, END)
    ids = torch.tensor([END, *prefix])
    for number, sequences in enumerate((first, second)):
        expected = prefix_function(sequences, END)
        assert found(number, ids[:1]) == sorted(expected(number, ids[:1]))
        assert found(number, ids) == sorted(expected(number, ids))
