"""The best continuations beside those that sorting all of them gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trie.decoding.beam_choice
from trie.decoding.beam_choice import Choice, Chooser, rank
from trie.decoding.next_tokens import Following

VOCABULARY = 8
Row = tuple[int, int, int, int, float]  # claim, beam, token, state behind it, score


@st.composite
def followings(draw: st.DrawFn) -> tuple[np.ndarray, Following]:
    """Beams of up to four claims, and what may follow them; some states are shared."""
    claims = sorted(draw(st.lists(st.integers(0, 3), min_size=1, max_size=9)))
    tokens = st.sets(st.integers(0, VOCABULARY - 1), min_size=1)
    groups = draw(st.lists(tokens.map(sorted), min_size=1, max_size=4))
    sizes = np.array([len(group) for group in groups])
    flat = np.array([token for group in groups for token in group])
    of = draw(st.lists(st.integers(0, len(groups) - 1), min_size=len(claims), max_size=len(claims)))
    following = Following(np.array(of), flat, flat + 100, np.cumsum(sizes) - sizes, sizes)
    return np.array(claims), following


def slow(
    logits: np.ndarray,
    totals: np.ndarray | None,
    claims: np.ndarray,
    scores: np.ndarray,
    rows: np.ndarray,
    following: Following,
    count: int,
) -> list[Row]:
    found: list[Row] = []
    for beam, claim in enumerate(claims.tolist()):
        group, row = following.groups[beam], rows[beam]
        first = following.firsts[group]
        tokens = following.tokens[first : first + following.sizes[group]].tolist()
        if totals is None:
            total = math.log(sum(math.exp(logits[row, token]) for token in tokens))
        else:
            total = float(totals[row])
        for token in tokens:
            score = float(scores[beam]) + (float(logits[row, token]) - total)
            found.append((claim, beam, token, token + 100, score))
    found.sort(key=lambda one: (one[0], -one[4], one[1], one[2]))
    kept: list[Row] = []
    for one in found:
        if sum(other[0] == one[0] for other in kept) < count:
            kept.append(one)
    return kept


def rows_of(choice: Choice) -> list[Row]:
    arrays = (choice.claims, choice.beams, choice.tokens, choice.states, choice.scores)
    return list(zip(*(array.tolist() for array in arrays), strict=True))


@pytest.mark.parametrize(("wide", "piece"), [(0, 1), (0, 2), (0, 64), (6, 3), (1 << 14, 64)])
@given(followings(), st.integers(1, 7), st.integers(0, 1000))
def test_equals_sorting_everything(
    wide: int, piece: int, case: tuple[np.ndarray, Following], count: int, seed: int
) -> None:
    """Small whole numbers as scores: many are equal, and sums are exact."""
    claims, following = case
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(claims) + 2)[: len(claims)]
    logits = rng.integers(-3, 3, (len(claims) + 2, VOCABULARY)).astype(np.float32)
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    totals, scores = rng.integers(0, 3, len(logits)) * 1.0, rng.integers(-2, 1, len(claims)) * 1.0
    if rng.random() < 0.5:
        logits, totals = logits[: len(claims)], totals[: len(claims)]
        rows = np.arange(len(claims))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.decoding.beam_choice, "_WIDE", wide)
        patch.setattr(trie.decoding.beam_choice, "_PIECE", piece)
        chooser = Chooser(
            torch.from_numpy(logits), torch.from_numpy(totals), claims, scores, rows, following
        )
        choice = chooser.best(count)
    assert rows_of(choice) == slow(logits, totals, claims, scores, rows, following, count)


@pytest.mark.parametrize("wide", [0, 1 << 14])
@given(followings(), st.integers(1, 7), st.integers(0, 1000))
def test_probabilities_among_the_allowed(
    wide: int, case: tuple[np.ndarray, Following], count: int, seed: int
) -> None:
    claims, following = case
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(len(claims), VOCABULARY)).astype(np.float32) * 3
    scores, rows = rng.normal(size=len(claims)), np.arange(len(claims))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.decoding.beam_choice, "_WIDE", wide)
        choice = Chooser(torch.from_numpy(logits), None, claims, scores, rows, following).best(99)
    expected = slow(logits, None, claims, scores, rows, following, 99)
    assert [row[4] for row in rows_of(choice)] == pytest.approx([row[4] for row in expected])
    assert {row[:4] for row in rows_of(choice)} == {row[:4] for row in expected}


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize(("wide", "piece"), [(0, 2), (0, 64), (1 << 14, 64)])
@given(followings(), st.integers(1, 7), st.integers(0, 1000))
def test_not_a_number_is_never_dropped(
    wide: int,
    piece: int,
    normalise: bool,
    case: tuple[np.ndarray, Following],
    count: int,
    seed: int,
) -> None:
    claims, following = case
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(size=(len(claims), VOCABULARY)).astype(np.float32))
    beam = int(rng.integers(len(claims)))
    _, places = following.places(np.array([beam]))
    logits[beam, rng.choice(following.tokens[places])] = math.nan
    totals = None if normalise else logits.logsumexp(-1).double()
    rows = np.arange(len(claims))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.decoding.beam_choice, "_WIDE", wide)
        patch.setattr(trie.decoding.beam_choice, "_PIECE", piece)
        chooser = Chooser(logits, totals, claims, np.zeros(len(claims)), rows, following)
        with pytest.raises(ValueError, match="NaN"):
            chooser.best(count)


def test_rank() -> None:
    assert rank(np.array([1, 1, 1, 4, 6, 6])).tolist() == [0, 1, 2, 0, 0, 1]
