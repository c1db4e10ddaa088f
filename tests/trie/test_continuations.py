"""Select the best continuations, compared with sorting all of them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import trie.beam_decoding
from trie import Transitions
from trie.beam_decoding import ConstraintBatch, ContinuationSelector, NextTokens

VOCABULARY = 8


@st.composite
def beams_with_next_tokens(draw):
    """Beams of up to four inputs and their next tokens; some states are shared."""
    inputs = sorted(draw(st.lists(st.integers(0, 3), min_size=1, max_size=9)))
    tokens = st.sets(st.integers(0, VOCABULARY - 1), min_size=1)
    groups = draw(st.lists(tokens.map(sorted), min_size=1, max_size=4))
    sizes = np.array([len(group) for group in groups])
    flat = np.array([token for group in groups for token in group])
    of = draw(st.lists(st.integers(0, len(groups) - 1), min_size=len(inputs), max_size=len(inputs)))
    next_tokens = NextTokens(np.array(of), flat, flat + 100, np.cumsum(sizes) - sizes, sizes)
    return np.array(inputs), next_tokens


def slow(logits, log_normalisers, inputs, scores, rows, next_tokens, k):
    found = []
    for beam, number in enumerate(inputs.tolist()):
        group, row = next_tokens.rows[beam], rows[beam]
        first = next_tokens.offsets[group]
        tokens = next_tokens.tokens[first : first + next_tokens.sizes[group]].tolist()
        if log_normalisers is None:
            log_normaliser = math.log(sum(math.exp(logits[row, token]) for token in tokens))
        else:
            log_normaliser = float(log_normalisers[row])
        for token in tokens:
            score = float(scores[beam]) + (float(logits[row, token]) - log_normaliser)
            found.append((number, beam, token, token + 100, score))
    found.sort(key=lambda one: (one[0], -one[4], one[1], one[2]))
    kept = []
    for one in found:
        if sum(other[0] == one[0] for other in kept) < k:
            kept.append(one)
    return kept


def rows_of(best):
    arrays = (best.inputs, best.beams, best.tokens, best.states, best.scores)
    return list(zip(*(array.tolist() for array in arrays), strict=True))


@pytest.mark.parametrize("wide", [0, 6, 1 << 14])
@given(beams_with_next_tokens(), st.integers(1, 7), st.integers(0, 1000))
def test_equals_sorting_everything(wide, case, k, seed):
    """Scores are small integers, so that many are equal and sums are exact."""
    inputs, next_tokens = case
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(inputs) + 2)[: len(inputs)]
    logits = rng.integers(-3, 3, (len(inputs) + 2, VOCABULARY)).astype(np.float32)
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    log_normalisers, scores = (
        rng.integers(0, 3, len(logits)) * 1.0,
        rng.integers(-2, 1, len(inputs)) * 1.0,
    )
    if rng.random() < 0.5:
        logits, log_normalisers = logits[: len(inputs)], log_normalisers[: len(inputs)]
        rows = np.arange(len(inputs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.beam_decoding, "_WIDE", wide)
        selector = ContinuationSelector(
            torch.from_numpy(logits),
            torch.from_numpy(log_normalisers),
            inputs,
            scores,
            rows,
            next_tokens,
        )
        best = selector.top_k(k)
    assert rows_of(best) == slow(logits, log_normalisers, inputs, scores, rows, next_tokens, k)


@pytest.mark.parametrize("wide", [0, 1 << 14])
@given(beams_with_next_tokens(), st.integers(1, 7), st.integers(0, 1000))
def test_scores_normalised_over_the_allowed_tokens(wide, case, k, seed):
    inputs, next_tokens = case
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(len(inputs), VOCABULARY)).astype(np.float32) * 3
    scores, rows = rng.normal(size=len(inputs)), np.arange(len(inputs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trie.beam_decoding, "_WIDE", wide)
        best = ContinuationSelector(
            torch.from_numpy(logits), None, inputs, scores, rows, next_tokens
        ).top_k(99)
    expected = slow(logits, None, inputs, scores, rows, next_tokens, 99)
    assert [row[4] for row in rows_of(best)] == pytest.approx([row[4] for row in expected])
    assert {row[:4] for row in rows_of(best)} == {row[:4] for row in expected}


class Table:
    """A constraint given by a table of moves; records its queries."""

    start = 0

    def __init__(self, moves):
        self.moves = [dict(sorted(one.items())) for one in moves]
        self.asked = []

    def transitions(self, states):
        self.asked.append(states.tolist())
        found = [self.moves[state] for state in states.tolist()]
        return Transitions(
            np.array([token for one in found for token in one], dtype=np.int64),
            np.array([state for one in found for state in one.values()], dtype=np.int64),
            np.array([len(one) for one in found], dtype=np.int64),
        )


moves = st.lists(st.dictionaries(st.integers(0, 9), st.integers(0, 2)), min_size=3, max_size=3)


@given(
    st.lists(moves.map(Table), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9),
)
def test_equals_one_beam_at_a_time(tables, pairs):
    constraints = [*tables, tables[0], tables[0]]  # inputs may share one
    inputs = np.array(sorted(number for number, _ in pairs), dtype=np.int64)
    states = np.array([state for _, state in pairs], dtype=np.int64)
    found = ConstraintBatch(constraints).next_tokens(inputs, states, 10)
    expected = [
        constraints[c].moves[s] for c, s in zip(inputs.tolist(), states.tolist(), strict=True)
    ]
    beams, places = found.positions(np.arange(len(inputs)))
    assert list(
        zip(
            beams.tolist(),
            found.tokens[places].tolist(),
            found.next_states[places].tolist(),
            strict=True,
        )
    ) == [(beam, token, state) for beam, one in enumerate(expected) for token, state in one.items()]
    assert found.forced == all(len(one) < 2 for one in expected)
    rows = found.rows.repeat(11)
    tokens = np.tile(np.arange(-1, 10), len(inputs))  # 99 is beyond all tokens
    tokens[tokens < 0] = 99
    states_after = found.states_after(rows, tokens).reshape(-1, 11).tolist()
    assert states_after == [[one.get(t, -1) for t in (99, *range(10))] for one in expected]
    assert found.states_after(np.full(10, -1), np.arange(10)).tolist() == [-1] * 10
    more = found.with_single_tokens(np.array([7, 99]), np.array([0, 1]) + len(found.sizes))
    assert more.states_after(more.rows, np.array([7, 99])).tolist() == [-1, -1]
    assert more.tokens[more.positions(np.arange(2))[1]].tolist() == [7, 99]
    assert more.states_after(rows, tokens).reshape(-1, 11).tolist() == states_after
    for table in tables:
        assert len(table.asked) <= 1, "each constraint is queried once"
        for asked in table.asked:
            assert asked == sorted(set(asked)), "once per state"


@pytest.mark.parametrize("token", [-1, 10])
def test_tokens_outside_the_vocabulary_are_rejected(token):
    batch = ConstraintBatch([Table([{3: 0}]), Table([{4: 0, token: 0}])])
    zeros = np.zeros(1, dtype=np.int64)
    assert batch.next_tokens(zeros, zeros, 10).tokens.tolist() == [3]
    with pytest.raises(ValueError, match="outside the model's vocabulary of 10"):
        batch.next_tokens(np.arange(2), np.zeros(2, dtype=np.int64), 10)
