"""Compare beam search with transformers' own and with brute force, and test its limits."""

import itertools
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trie.helpers import bart
from trie import Transitions
from trie.beam_decoding import beam_search
from trie.seq2seq import Seq2Seq

PAD, EOS, VOCABULARY = 1, 2, 20


def listed(moves, states):
    """Return the transitions of states, given as dicts of tokens and next states."""
    found = [moves[state] for state in states.tolist()]
    return Transitions(
        np.array([token for one in found for token in one], dtype=np.int64),
        np.array([state for one in found for state in one.values()], dtype=np.int64),
        np.array([len(one) for one in found], dtype=np.int64),
    )


class Listed:
    """A constraint that accepts exactly the listed sequences; states are prefixes."""

    start = 0

    def __init__(self, sequences):
        self.sequences = {(*s, EOS) for s in sequences}
        prefixes = {s[:i] for s in self.sequences for i in range(len(s) + 1)} | {()}
        self.prefixes = sorted(prefixes, key=lambda p: (len(p), p))
        self.states = {prefix: state for state, prefix in enumerate(self.prefixes)}

    def allowed(self, state):
        prefix = self.prefixes[state]
        return sorted({s[len(prefix)] for s in self.sequences if s[: len(prefix)] == prefix != s})

    def transitions(self, states):
        return listed({s: self.moves(s) for s in states.tolist()}, states)

    def moves(self, state):
        prefix = self.prefixes[state]
        return {token: self.states[(*prefix, token)] for token in self.allowed(state)}


class Cycle:
    """A constraint that accepts any number of tokens of a set."""

    start = 0

    def __init__(self, tokens):
        self._moves = {0: {token: int(token == EOS) for token in sorted([EOS, *tokens])}, 1: {}}

    def transitions(self, states):
        return listed(self._moves, states)


class CountingModel(Seq2Seq):
    """A model that counts its steps."""

    steps = 0

    def step(self, encoded, cache, tokens):
        self.steps += 1
        return super().step(encoded, cache, tokens)


def random_sequences(rng, count, longest):
    """Return sequences with shared prefixes; some are prefixes of others."""
    found = set()
    while len(found) < count:
        found.add(tuple(rng.randint(3, 7) for _ in range(rng.randint(1, longest))))
    return found


def random_inputs(rng, count):
    return [[rng.randrange(3, VOCABULARY) for _ in range(rng.randint(1, 20))] for _ in range(count)]


def brute_force(model, source, constraint, normalise=False):
    """Score every legal sequence by one forward pass of the full model."""
    scores = {}
    for tokens in constraint.sequences:
        decoder = torch.tensor([[EOS, *tokens[:-1]]])
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([source]), decoder_input_ids=decoder).logits[0]
        score, state = 0.0, constraint.start
        for token, row in zip(tokens, logits, strict=True):
            among = row[constraint.allowed(state)] if normalise else row
            score += float(row[token] - among.logsumexp(0))
            state = constraint.moves(state)[token]
        scores[tokens] = score
    return scores


def assert_same(found, expected):
    assert [h.tokens for h in found] == [tokens for tokens, _ in expected]
    assert [h.score for h in found] == pytest.approx([score for _, score in expected], abs=1e-4)


def slow_search(model, source, constraint, beams, length, normalise):
    """Search for one input, one beam at a time, with the full model."""
    running = [((), 0.0)]
    ended = []
    for _ in range(length):
        found = []
        for tokens, score in running:
            allowed = constraint.allowed(constraint.states[tokens])
            with torch.no_grad():
                logits = model(
                    input_ids=torch.tensor([source]),
                    decoder_input_ids=torch.tensor([[EOS, *tokens]]),
                ).logits[0, -1]
            total = (logits[allowed] if normalise else logits).logsumexp(0)
            found += [((*tokens, t), score + float(logits[t] - total)) for t in allowed]
        found = sorted(found, key=lambda one: -one[1])[: 2 * beams]
        ended += [one for one in found[:beams] if one[0][-1] == EOS]
        ended = sorted(ended, key=lambda one: -one[1])[:beams]
        running = [one for one in found if one[0][-1] != EOS][:beams]
        if not running or (len(ended) == beams and running[0][1] <= ended[-1][1]):
            break
    return ended


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@settings(max_examples=12, derandomize=True)  # the order of nearly equal scores is random
@given(data=st.data(), beams=st.integers(1, 6), length=st.integers(1, 9), seed=st.integers(0, 99))
def test_equals_one_beam_at_a_time(batch_size, data, beams, length, seed):
    """Inputs differ in depth, have few or many legal sequences, and may share a constraint."""
    rng = random.Random(seed)
    model = bart(seed % 5)
    shapes = st.tuples(st.integers(1, 30), st.integers(3, 8))
    distinct = [
        Listed(random_sequences(rng, *data.draw(shapes)))
        for _ in range(data.draw(st.integers(1, batch_size)))
    ]
    constraints = [rng.choice(distinct) for _ in range(batch_size)]
    inputs = random_inputs(rng, batch_size)
    normalise = data.draw(st.booleans())
    found = beam_search(
        Seq2Seq(model),
        inputs,
        constraints,
        beam_size=beams,
        max_length=length,
        normalise=normalise,
    )
    for source, constraint, ours in zip(inputs, constraints, found, strict=True):
        assert_same(ours, slow_search(model, source, constraint, beams, length, normalise))


def test_unfinished_sequences_are_dropped():
    model = Seq2Seq(bart(1))
    constraint = Listed({(3, 4, 5), (3,), (4, 4)})
    for length, expected in [(1, set()), (2, {(3, EOS)}), (3, {(3, EOS), (4, 4, EOS)})]:
        (found,) = beam_search(model, [[5]], [constraint], beam_size=3, max_length=length)
        assert {h.tokens for h in found} == expected


@pytest.mark.parametrize("beams", [1, 3])
def test_search_in_an_infinite_language_ends(beams):
    """The best hypotheses are found, and the search stops before the maximum length."""
    bart_model = bart(2)
    bart_model.final_logits_bias[0, EOS] = 4.0  # short sequences are the best
    model = CountingModel(bart_model)
    (found,) = beam_search(model, [[5, 6]], [Cycle([3, 4])], beam_size=beams, max_length=24)
    assert model.steps < 10
    short = {t for n in range(4) for t in itertools.product((3, 4), repeat=n)}
    scores = brute_force(bart_model, [5, 6], Listed(short))
    best = sorted(scores.items(), key=lambda item: -item[1])[:beams]
    assert_same(found, best)


def test_ties_are_ordered_by_token():
    """Among tokens with equal scores, lower ids come first."""
    model = bart(3)
    with torch.no_grad():
        model.lm_head.weight[3:9] = model.lm_head.weight[3]
        model.final_logits_bias[0, 3:9] = 0.0
    constraint = Listed({(token,) for token in range(3, 9)})
    (found,) = beam_search(Seq2Seq(model), [[5]], [constraint], beam_size=3, max_length=4)
    assert [h.tokens[0] for h in found] == [3, 4, 5]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"beam_size": 0}, "at least 1"),
        ({"max_length": 0}, "at least 1"),
        ({"max_length": 25}, "decodes at most 24"),
        ({"inputs": [[5], [6]]}, "2 inputs, but 1 constraints"),
        ({"inputs": [[5] * 25]}, "25 tokens"),
        ({"constraints": [Listed({(VOCABULARY,)})]}, "outside the model's vocabulary"),
    ],
)
def test_invalid_arguments_are_rejected(changes, match):
    arguments = {"inputs": [[5]], "constraints": [Listed({(3,)})], "beam_size": 2, "max_length": 4}
    with pytest.raises(ValueError, match=match):
        beam_search(Seq2Seq(bart(0)), **{**arguments, **changes})


def test_nan_logits_are_rejected():
    model = bart(0)
    with torch.no_grad():
        model.lm_head.weight[3] = math.nan
    with pytest.raises(ValueError, match="NaN"):
        beam_search(Seq2Seq(model), [[5]], [Listed({(4,)})], beam_size=2, max_length=4)
