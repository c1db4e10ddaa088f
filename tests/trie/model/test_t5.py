"""T5 and its relatives, which `generate` decodes, compared with all sequences scored one by one."""

import random

import pytest
import torch

from tests.trie.helpers import EOS, KINDS, PAD, VOCABULARY, t5
from trie import TokenTrie, TrieConstraint, beam_search
from trie.seq2seq import Seq2Seq


def random_inputs(count, seed):
    rng = random.Random(seed)
    return [[rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 24))] for _ in range(count)]


def titles(seed, count):
    rng = random.Random(seed)
    return sorted(
        {
            tuple(rng.randrange(2, VOCABULARY) for _ in range(rng.randint(1, 5)))
            for _ in range(count)
        }
    )


def scores_of(model, source, sequences, normalise):
    """Return the log-probability of each sequence, by a forward pass for each."""
    scores = {}
    for sequence in sequences:
        ids, score = (*sequence, EOS), 0.0
        with torch.no_grad():
            logits = model(
                input_ids=torch.tensor([source]),
                # Some of these models take padding tokens for padding without a mask.
                attention_mask=torch.ones(1, len(source), dtype=torch.int64),
                decoder_input_ids=torch.tensor([[PAD, *sequence]]),
            ).logits[0]
        for place, (token, row) in enumerate(zip(ids, logits, strict=True)):
            allowed = {(*s, EOS)[place] for s in sequences if s[:place] == ids[:place]}
            among = row[sorted(allowed)] if normalise else row
            score += float(row[token] - among.logsumexp(0))
        scores[ids] = score
    return scores


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_beams_have_the_scores_of_full_forward_passes(kind, normalise):
    """With as many beams as titles, all of them are found; the second input has fewer."""
    # The cache of `generate` has as many layers as the encoder.
    model, inputs = t5(3, kind, num_decoder_layers=2).eval(), random_inputs(2, 3)
    lists = titles(3, 6), titles(4, 1)
    constraints = [TrieConstraint(TokenTrie.build(one), EOS) for one in lists]
    beams = len(lists[0])
    found = beam_search(
        Seq2Seq(model), inputs, constraints, beam_size=beams, max_length=8, normalise=normalise
    )
    for source, sequences, hypotheses in zip(inputs, lists, found, strict=True):
        expected = scores_of(model, source, sequences, normalise)
        assert [h.tokens for h in hypotheses] == sorted(expected, key=lambda ids: -expected[ids])
        for hypothesis in hypotheses:
            assert hypothesis.score == pytest.approx(expected[hypothesis.tokens], abs=1e-3)


def test_one_beam_and_unfinished_sequences():
    model, (source,) = t5(0, num_decoder_layers=2).eval(), random_inputs(1, 0)
    constraint = TrieConstraint(TokenTrie.build([(4, 5, 6), (7,), (4, 9)]), EOS)
    model.generation_config.no_repeat_ngram_size = 1  # of a checkpoint; not used
    for length, legal in ((1, set()), (2, {(7, EOS)}), (3, {(7, EOS), (4, 9, EOS)})):
        (found,) = beam_search(
            Seq2Seq(model), [source], [constraint], beam_size=3, max_length=length
        )
        assert {h.tokens for h in found} == legal
        (best,) = beam_search(
            Seq2Seq(model), [source], [constraint], beam_size=1, max_length=length
        )
        assert best == found[:1]


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_close_to_float32(kind):
    inputs = random_inputs(4, 4)
    constraint = TrieConstraint(TokenTrie.build(titles(4, 5)), EOS)
    states, scores = [], []
    for dtype in (torch.float32, torch.bfloat16):
        ours = Seq2Seq(t5(4, kind, num_decoder_layers=2), dtype)
        hidden, mask = ours.run_encoder(inputs)
        assert hidden.dtype == torch.float32
        states.append(hidden[mask])
        (found,) = beam_search(ours, inputs[:1], [constraint], beam_size=5, max_length=8)
        scores.append({h.tokens: h.score for h in found})
    assert (states[0] - states[1]).square().mean().sqrt() < 0.1 * states[0].std()
    assert scores[1] == pytest.approx(scores[0], abs=0.5)
