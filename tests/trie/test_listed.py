import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie import TokenTrie, TrieConstraint

EOS = 3
lists = st.lists(st.lists(st.sampled_from([0, 2, 4, 5]), max_size=4), min_size=1, max_size=8)


@given(lists)
def test_accepts_just_the_listed_sequences(sequences: list[list[int]]) -> None:
    constraint = TrieConstraint(TokenTrie.build(sequences), EOS)
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    todo: list[tuple[tuple[int, ...], int]] = [((), constraint.start)]
    while todo:
        ids, state = todo.pop()
        allowed = constraint.allowed(state)
        assert allowed.dtype == np.int64
        assert np.all(allowed[1:] > allowed[:-1])
        for token in set(range(7)) - set(allowed.tolist()):
            with pytest.raises(ValueError, match="not allowed"):
                constraint.advance(state, token)
        if ids[-1:] == (EOS,):
            assert not allowed.size
            seen[ids] = constraint.rows(state)
        else:
            assert allowed.size  # no dead ends
            with pytest.raises(ValueError, match="not ended"):
                constraint.parse(ids)
        todo += [((*ids, int(t)), constraint.advance(state, int(t))) for t in allowed]
    assert seen == {
        (*sequence, EOS): tuple(r for r, other in enumerate(sequences) if other == sequence)
        for sequence in sequences
    }
    assert constraint.longest == max(map(len, seen))
    for ids, rows in seen.items():
        assert constraint.parse([*ids, EOS, 0, 0]) == rows


def test_one_trie_state_is_answered_once() -> None:
    constraint = TrieConstraint(TokenTrie.build([[4], [5]]), EOS)
    allowed = constraint.allowed(constraint.start)
    assert constraint.allowed(constraint.start) is allowed
    with pytest.raises(ValueError, match="read-only"):
        allowed[0] = 1


def test_wrong_lists() -> None:
    with pytest.raises(ValueError, match="no sequences"):
        TrieConstraint(TokenTrie.build([]), EOS)
    with pytest.raises(ValueError, match="holds the end token 3"):
        TrieConstraint(TokenTrie.build([[4, EOS]]), EOS)
    with pytest.raises(ValueError, match="not allowed"):
        TrieConstraint(TokenTrie.build([[4]]), EOS).parse([5, EOS])
