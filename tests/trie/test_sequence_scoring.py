"""Scores of given sequences: against full forward passes, beam search, and other batches."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trie.helpers import bart
from tests.trie.test_beam_decoding import EOS, Listed, brute_force, random_inputs, random_sequences
from trie.seq2seq import Seq2Seq
from trie.sequence_scoring import SequenceScorer


@settings(max_examples=10)
@given(st.integers(0, 1000), st.booleans())
def test_scores_are_those_of_full_forward_passes(seed, normalise):
    rng = random.Random(seed)
    model = bart(seed)
    inputs = random_inputs(rng, 3)
    constraints = [Listed(random_sequences(rng, rng.randint(1, 12), 6)) for _ in inputs]
    sequences = [sorted(constraint.sequences) for constraint in constraints]
    expected = [
        brute_force(model, *pair, normalise) for pair in zip(inputs, constraints, strict=True)
    ]
    scorer = SequenceScorer(Seq2Seq(model), inputs, constraints if normalise else None)
    found = scorer.score(sequences)
    for own, scores, wanted in zip(sequences, found, expected, strict=True):
        assert scores == pytest.approx([wanted[sequence] for sequence in own], abs=1e-4)


def test_a_sequence_that_is_not_allowed_has_probability_zero():
    model, constraint = Seq2Seq(bart(5)), Listed({(3, 4), (3, 5, 6)})
    sequences = [[3, 4, EOS], [3, 6, EOS], [3, 4, EOS, EOS], [3]]
    scorer = SequenceScorer(model, [[3, 4]], [constraint])
    ((allowed, forbidden, longer, prefix),) = scorer.score([sequences])
    assert allowed < 0
    assert forbidden == longer == -math.inf
    assert prefix == pytest.approx(0.0)  # the only token allowed there


def test_bad_arguments_are_errors():
    model = Seq2Seq(bart(1))
    with pytest.raises(ValueError, match="1 inputs, but 0 constraints"):
        SequenceScorer(model, [[3]], [])
    scorer = SequenceScorer(model, [[3], [4]])
    with pytest.raises(ValueError, match="2 inputs, but 1 lists"):
        scorer.score([[[3]]])
    with pytest.raises(ValueError, match="has 0 tokens"):
        scorer.score([[[]], []])
    with pytest.raises(ValueError, match="has 25 tokens"):
        scorer.score([[[3] * 25], []])
