from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trie.walking import language
from trie import RenumberedTrie, TokenTrie, TrieConstraint, UpdatedTrie

sequence = st.lists(st.integers(0, 2), max_size=3).map(tuple)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(st.data(), st.lists(st.lists(sequence, min_size=1, max_size=5), min_size=1, max_size=4))
def test_rows_are_mapped_to_their_numbers(
    data: st.DataObject, ranges: list[list[tuple[int, ...]]]
) -> None:
    """Ranges of rows in any order, with hidden rows, compared with a dict."""
    places = data.draw(st.permutations(range(len(ranges))))
    gaps = data.draw(st.lists(st.integers(0, 3), min_size=len(places), max_size=len(places)))
    firsts, at = {}, 0
    for place, gap in zip(places, gaps, strict=True):
        firsts[place] = at + gap
        at = firsts[place] + len(ranges[place])
    starts = ints([0, *np.cumsum(list(map(len, ranges)))[:-1].tolist()])
    flat = [one for rows_of_range in ranges for one in rows_of_range]
    number = {
        start + offset: firsts[place] + offset
        for place, start in enumerate(starts.tolist())
        for offset in range(len(ranges[place]))
    }
    trie: TokenTrie | UpdatedTrie = TokenTrie.build(flat)
    removed = set(data.draw(st.lists(st.sampled_from(range(len(flat))), unique=True)))
    if removed:
        trie = UpdatedTrie(trie).remove(sorted(removed))
    left = [row for row in range(len(flat)) if row not in removed]
    # A row may be hidden only if another row has the same sequence.
    hidden = [row for row in left if any(flat[row] == flat[o] for o in left if o < row)]
    hidden = [row for row in hidden if data.draw(st.booleans())]
    shown = [row for row in left if row not in hidden]
    numbers = ints([firsts[place] for place in range(len(ranges))])
    found = RenumberedTrie(trie, starts, numbers, ints(sorted(number[row] for row in hidden)))
    assert (len(found), found.nodes, found.longest) == (len(shown), trie.nodes, trie.longest)
    for ids in {*flat, (1, 1, 1, 1)}:
        node = found.walk(ids)
        assert node == trie.walk(ids)
        want = sorted(number[row] for row in shown if flat[row] == ids)
        if node >= 0:
            assert found.ends(node) == bool(want) == bool(found.rows(node).size)
            assert found.rows(node).tolist() == want
        else:
            assert not want
    if shown and all(len(ids) for ids in flat):
        ended = language(TrieConstraint(found, 9), 9)
        assert ended.keys() == {(*flat[row], 9) for row in shown}


@pytest.mark.parametrize(
    ("starts", "numbers"), [([], []), ([1], [0]), ([0, 0], [1, 2]), ([0], [0, 1]), ([0, 2], [0])]
)
def test_invalid_ranges_are_rejected(starts: list[int], numbers: list[int]) -> None:
    trie = TokenTrie.build([[1], [2], [3]])
    with pytest.raises(ValueError, match="do not ascend from 0, each with a number"):
        RenumberedTrie(trie, ints(starts), ints(numbers), ints([]))
