import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trie.walking import language
from trie import TokenTrie, TrieConstraint

EOS = 3
lists = st.lists(st.lists(st.sampled_from([0, 2, 4, 5]), max_size=4), min_size=1, max_size=8)


@given(lists)
def test_accepts_exactly_the_sequences_of_the_trie(sequences: list[list[int]]) -> None:
    constraint = TrieConstraint(TokenTrie.build(sequences), EOS)
    seen = {ids: constraint.rows(state) for ids, state in language(constraint, EOS).items()}
    assert seen == {
        (*sequence, EOS): tuple(r for r, other in enumerate(sequences) if other == sequence)
        for sequence in sequences
    }
    assert constraint.longest == max(map(len, seen))
    for ids, rows in seen.items():
        assert constraint.parse([*ids, EOS, 0, 0]) == rows
        with pytest.raises(ValueError, match="not ended"):
            constraint.parse(ids[:-1])
        for token in {0, 1, 2, 4, 5, 6, -1, 2**40}:
            if not any(other[: len(ids)] == (*ids[:-1], token) for other in seen):
                with pytest.raises(ValueError, match=f"token {token} is not allowed"):
                    constraint.parse([*ids[:-1], token])


def test_invalid_sequences_are_rejected() -> None:
    with pytest.raises(ValueError, match="no sequences"):
        TrieConstraint(TokenTrie.build([]), EOS)
    with pytest.raises(ValueError, match="contains the end token 3"):
        TrieConstraint(TokenTrie.build([[4, EOS]]), EOS)
    with pytest.raises(ValueError, match="not allowed"):
        TrieConstraint(TokenTrie.build([[4]]), EOS).parse([5, EOS])
