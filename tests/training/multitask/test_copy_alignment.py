"""Alignment of copied tokens, compared with a slow oracle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from training.multitask.sample_encoding import copy_alignment

SEPARATORS = frozenset({8, 9})
TOKENS = st.lists(st.integers(1, 9), max_size=12)


def oracle(source: list[int], target: list[int]) -> set[tuple[int, int]]:
    """Extend every match to both sides, but not across separators."""
    aligned = set()
    for i, token in enumerate(target):
        start = end = i
        if token not in SEPARATORS:
            while start > 0 and target[start - 1] not in SEPARATORS:
                start -= 1
            while end + 1 < len(target) and target[end + 1] not in SEPARATORS:
                end += 1
        lengths = {}
        for j, other in enumerate(source):
            if other != token:
                continue
            left = right = 0
            while i - left > start and j > left and target[i - left - 1] == source[j - left - 1]:
                left += 1
            while (
                i + right < end
                and j + right + 1 < len(source)
                and target[i + right + 1] == source[j + right + 1]
            ):
                right += 1
            lengths[j] = left + 1 + right
        best = max(lengths.values(), default=0)
        if best > 1 or start == end:
            aligned |= {(i, j) for j, length in lengths.items() if length == best}
    return aligned


@given(TOKENS, TOKENS)
def test_alignment_equals_the_oracle(source: list[int], target: list[int]) -> None:
    aligned = copy_alignment(source, target, SEPARATORS)
    assert len(aligned) == len(set(aligned))
    assert set(aligned) == oracle(source, target)


def test_a_title_is_aligned_with_its_whole_mention_only() -> None:
    # source: "new york" ... "new"; target: [ new york ]
    assert copy_alignment([1, 2, 5, 1], [8, 1, 2, 9], SEPARATORS) == [(1, 0), (2, 1)]


def test_a_single_word_of_a_longer_title_is_not_a_copy() -> None:
    assert copy_alignment([1, 5, 3], [8, 1, 2, 9], SEPARATORS) == []
