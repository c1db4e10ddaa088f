"""Mask scores, compared with a loop over rows and tokens."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trie.logits_processor
from trie.logits_processor import ScoreMasker
from trie.next_tokens import NextTokens

VOCABULARY, FALLBACK = 8, -1e4


@st.composite
def next_token_sets(draw):
    """Next tokens of up to nine rows, some of which share them."""
    tokens = st.sets(st.integers(0, VOCABULARY - 1), min_size=1)
    found = draw(st.lists(tokens.map(sorted), min_size=1, max_size=4))
    sizes = np.array([len(group) for group in found])
    flat = np.array([token for group in found for token in group])
    of = draw(st.lists(st.integers(0, len(found) - 1), min_size=1, max_size=9))
    return NextTokens(np.array(of), flat, flat + 100, np.cumsum(sizes) - sizes, sizes)


def slow(scores, next_tokens):
    kept, lost = torch.full_like(scores, -math.inf), []
    for row, group in enumerate(next_tokens.rows.tolist()):
        first = next_tokens.offsets[group]
        tokens = next_tokens.tokens[first : first + next_tokens.sizes[group]].tolist()
        for token in tokens:
            kept[row, token] = scores[row, token]
        if all(score == -math.inf for score in kept[row].tolist()):
            kept[row, tokens] = FALLBACK
            lost.append(row)
    return kept, lost


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("wide", [0, 6, 1 << 14])
@given(st.lists(next_token_sets(), min_size=1, max_size=7), st.integers(0, 1000))
def test_equals_the_loop(wide, dtype, cases, seed):
    """One object is called several times and caches masks; scores include inf and NaN."""
    rng = np.random.default_rng(seed)
    masker = ScoreMasker()
    for next_tokens in cases:
        scores = rng.normal(size=(len(next_tokens.rows), VOCABULARY))
        bad = rng.choice([math.inf, -math.inf, math.nan], scores.shape, p=[0.1, 0.8, 0.1])
        scores = np.where(rng.random(scores.shape) < rng.choice([0, 0.3, 1]), bad, scores)
        given_scores = torch.from_numpy(scores).to(dtype)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trie.logits_processor, "_WIDE", wide)
            kept, lost = masker.mask(given_scores, next_tokens, FALLBACK)
        expected, expected_lost = slow(given_scores, next_tokens)
        torch.testing.assert_close(kept, expected, rtol=0, atol=0, equal_nan=True)
        assert lost.tolist() == expected_lost
        untouched = torch.from_numpy(scores).to(dtype)
        torch.testing.assert_close(given_scores, untouched, rtol=0, atol=0, equal_nan=True)


def test_cached_masks_fit_the_scores():
    """The same tokens with another vocabulary or dtype."""
    tokens, zero = np.array([1, 3]), np.zeros(1, dtype=np.int64)
    next_tokens = NextTokens(zero, tokens, tokens, zero, np.array([2]))
    masker = ScoreMasker()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.logits_processor, "_WIDE", 0)
        for width, dtype in [(5, torch.float32), (9, torch.float32), (9, torch.float64)]:
            kept, _ = masker.mask(torch.zeros(1, width, dtype=dtype), next_tokens, FALLBACK)
            assert kept.shape == (1, width)
            assert kept.dtype == dtype
            assert torch.isfinite(kept).nonzero()[:, 1].tolist() == [1, 3]
