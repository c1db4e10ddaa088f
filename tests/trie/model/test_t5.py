"""T5 and its relatives step by step, compared with full forward passes of transformers."""

import itertools
import random

import pytest
import torch
from torch import nn

from tests.trie.helpers import EOS, KINDS, PAD, VOCABULARY, t5
from trie import ConstraintLogitsProcessor, TokenTrie, TrieConstraint, beam_search
from trie.attention import int8_is_supported
from trie.seq2seq import Seq2Seq


def random_inputs(count, seed):
    rng = random.Random(seed)
    return [[rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 24))] for _ in range(count)]


def full_logits(model, source, target):
    """Return the logits after each token of `target`; (length, vocabulary)."""
    with torch.no_grad():
        # With a mask, since some of these models take padding tokens for padding without one.
        return model(
            input_ids=torch.tensor([source]),
            attention_mask=torch.ones(1, len(source), dtype=torch.int64),
            decoder_input_ids=torch.tensor([target]),
        ).logits[0]


def titles(rng, count, longest=5):
    return {
        tuple(rng.randrange(2, VOCABULARY) for _ in range(rng.randint(1, longest)))
        for _ in range(count)
    }


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_the_encoder_equal_the_models_own(kind):
    model = t5(3, kind).eval()
    inputs = [*random_inputs(9, 1), [PAD, 7, PAD], [4] * 24]
    hidden, mask = Seq2Seq(model).run_encoder(inputs)
    assert mask.sum(1).tolist() == [len(ids) for ids in inputs]
    for ids, found, inside in zip(inputs, hidden, mask, strict=True):
        with torch.no_grad():
            expected = model.get_encoder()(
                input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids))
            ).last_hidden_state[0]
        torch.testing.assert_close(found[inside], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_full_forward_pass(kind):
    """Beams are reordered and change in number, inputs leave the batch, parts vary in length."""
    model = t5(1, kind)
    ours = Seq2Seq(model)
    inputs = random_inputs(3, 1)
    generator = torch.Generator().manual_seed(1)
    active, written = [0, 1, 2], torch.full((3, 1, 1), ours.start)
    encoded, cache, read = ours.encode(inputs), ours.new_cache(), 0
    for at, part in enumerate((1, 1, 3, 1, 7, 4)):
        rows, beams, length = written.shape
        tokens = torch.randint(0, VOCABULARY, (rows, beams, part - 1), generator=generator)
        written = torch.cat([written, tokens], dim=2)
        logits = ours.step(encoded, cache, written[:, :, read:])
        read = length + part - 1
        for row, number in enumerate(active):
            for beam in range(beams):
                expected = full_logits(model, inputs[number], written[row, beam].tolist())
                found = logits[row, beam]
                torch.testing.assert_close(found, expected[-part:], atol=1e-3, rtol=1e-4)
        keep = [row for row in range(rows) if at != 2 or row != 1]
        encoded, active = encoded.select(keep), [active[row] for row in keep]
        parents = torch.randint(0, beams, (len(keep), 2), generator=generator)
        cache = ours.reorder(cache, torch.tensor(keep)[:, None] * beams + parents)
        last = torch.randint(0, VOCABULARY, (len(keep), 2, 1), generator=generator)
        written = torch.cat([written[torch.tensor(keep)[:, None], parents], last], dim=2)
    with pytest.raises(ValueError, match="at most 24 tokens"):
        ours.step(encoded, cache, torch.zeros(len(active), 2, 8, dtype=torch.int64))


@pytest.mark.parametrize("kind", ["t5", "t5 v1.1", "mt5"])
@pytest.mark.parametrize("seed", range(3))
def test_beam_search_equals_transformers_generate(kind, seed):
    # The cache of `generate` has as many layers as the encoder.
    model, rng = t5(seed, kind, num_decoder_layers=2).eval(), random.Random(seed)
    source = random_inputs(1, seed)[0]
    constraint = TrieConstraint(TokenTrie.build(sorted(titles(rng, 40))), EOS)
    (found,) = beam_search(Seq2Seq(model), [source], [constraint], beam_size=4, max_length=8)
    outputs = model.generate(
        torch.tensor([source]),
        attention_mask=torch.ones(1, len(source), dtype=torch.int64),
        logits_processor=[ConstraintLogitsProcessor(constraint)],
        num_beams=4,
        num_return_sequences=4,
        max_new_tokens=8,
        length_penalty=0.0,
        output_scores=True,
        return_dict_in_generate=True,
    )
    expected = [
        (*itertools.takewhile(lambda token: token != EOS, ids[1:]), EOS)
        for ids in outputs.sequences.tolist()
    ]
    assert [h.tokens for h in found] == expected
    scores = outputs.sequences_scores.tolist()
    assert [h.score for h in found] == pytest.approx(scores, abs=1e-3)


@pytest.mark.skipif(not int8_is_supported(), reason="the CPU has no int8 instructions")
@pytest.mark.parametrize("kind", ["t5", "t5 v1.1", "mt5", "umt5"])
def test_int8_is_close_to_float32(kind):
    inputs = random_inputs(4, 4)
    exact, mask = Seq2Seq(t5(4, kind)).run_encoder(inputs)
    model = t5(4, kind)
    ours = Seq2Seq(model, torch.int8)
    hidden, _ = ours.run_encoder(inputs)
    assert (hidden - exact)[mask].square().mean().sqrt() < 0.1 * exact[mask].std()
    encoded = ours.encode(inputs)
    assert ours.step(encoded, ours.new_cache(), torch.tensor([[[PAD]]] * 4)).isfinite().all()
    block = model.get_encoder().block[0].layer
    assert not block[0].SelfAttention.q.weight.numel()
    assert block[1].DenseReluDense.wo.weight.dtype == torch.float32


@pytest.mark.skipif(not int8_is_supported(), reason="the CPU has no int8 instructions")
def test_int8_of_longt5_is_rejected():
    model = t5(0, "longt5")
    with pytest.raises(ValueError, match="int8 is not supported for LongT5; use fp32 or bf16"):
        Seq2Seq(model, torch.int8)
    assert all(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
