"""Scores of allowed tokens beside those that a loop over rows and tokens leaves."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trie.decoding.allowed_scores
from trie.decoding.allowed_scores import Allowed
from trie.decoding.next_tokens import Following

VOCABULARY, LEAST = 8, -1e4


@st.composite
def followings(draw: st.DrawFn) -> Following:
    """What may follow up to nine rows; some share it."""
    tokens = st.sets(st.integers(0, VOCABULARY - 1), min_size=1)
    found = draw(st.lists(tokens.map(sorted), min_size=1, max_size=4))
    sizes = np.array([len(group) for group in found])
    flat = np.array([token for group in found for token in group])
    of = draw(st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=9))
    return Following(np.array(of), flat, flat + 100, np.cumsum(sizes) - sizes, sizes)


def slow(scores: torch.Tensor, following: Following) -> tuple[torch.Tensor, list[int]]:
    kept, lost = torch.full_like(scores, -math.inf), []
    for row, group in enumerate(following.groups.tolist()):
        first = following.firsts[group]
        tokens = following.tokens[first : first + following.sizes[group]].tolist()
        for token in tokens:
            kept[row, token] = scores[row, token]
        if all(score == -math.inf for score in kept[row].tolist()):
            kept[row, tokens] = LEAST
            lost.append(row)
    return kept, lost


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("wide", [0, 6, 1 << 14])
@given(st.lists(followings(), min_size=1, max_size=7), st.integers(0, 1000))
def test_equals_the_loop(wide: int, dtype: torch.dtype, cases: list[Following], seed: int) -> None:
    """Call after call with one object, which keeps lines; every bad score is among them."""
    rng = np.random.default_rng(seed)
    allowed = Allowed()
    for following in cases:
        scores = rng.normal(size=(len(following.groups), VOCABULARY))
        bad = rng.choice([math.inf, -math.inf, math.nan], scores.shape, p=[0.1, 0.8, 0.1])
        scores = np.where(rng.random(scores.shape) < rng.choice([0, 0.3, 1]), bad, scores)
        given_scores = torch.from_numpy(scores).to(dtype)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trie.decoding.allowed_scores, "_WIDE", wide)
            kept, lost = allowed.of(given_scores, following, LEAST)
        expected, expected_lost = slow(given_scores, following)
        torch.testing.assert_close(kept, expected, rtol=0, atol=0, equal_nan=True)
        assert lost.tolist() == expected_lost
        untouched = torch.from_numpy(scores).to(dtype)
        torch.testing.assert_close(given_scores, untouched, rtol=0, atol=0, equal_nan=True)


def test_lines_fit_the_scores() -> None:
    """The same tokens of another vocabulary, or in another precision."""
    tokens, zero = np.array([1, 3]), np.zeros(1, dtype=np.int64)
    following = Following(zero, tokens, tokens, zero, np.array([2]))
    allowed = Allowed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.decoding.allowed_scores, "_WIDE", 0)
        for width, dtype in [(5, torch.float32), (9, torch.float32), (9, torch.float64)]:
            kept, _ = allowed.of(torch.zeros(1, width, dtype=dtype), following, LEAST)
            assert kept.shape == (1, width) and kept.dtype == dtype
            assert torch.isfinite(kept).nonzero()[:, 1].tolist() == [1, 3]
