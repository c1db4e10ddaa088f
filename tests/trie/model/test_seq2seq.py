"""Decoding step by step, compared with full forward passes."""

import pytest
import torch

from tests.trie.helpers import bart as tiny_bart
from trie.seq2seq import KVCache, Seq2Seq

PAD, EOS, VOCABULARY = 1, 2, 30


def bart(seed, **changes):
    settings = {
        "vocab_size": VOCABULARY,
        "encoder_layers": 2,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 20,
        "max_position_embeddings": 16,
        "init_std": 0.4,
        "dropout": 0.3,
        "attention_dropout": 0.3,
    }
    model = tiny_bart(seed, biased=False, **{**settings, **changes}).train()
    for name, parameter in model.named_parameters():  # initialised as zeros and ones
        if "bias" in name or "norm" in name:
            torch.nn.init.normal_(parameter, mean=float("norm.weight" in name), std=0.2)
    model.final_logits_bias.normal_()
    return model


def random_inputs(count, seed):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 17, (count,), generator=generator).tolist()
    return [torch.randint(0, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]


def full_logits(model, source, target):
    """Return the logits after the last token of `target`."""
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])
        ).logits[0, -1]


@pytest.mark.parametrize("changes", [{}, {"scale_embedding": True, "activation_function": "relu"}])
@pytest.mark.parametrize("seed", range(2))
def test_steps_equal_the_full_forward_pass(seed, changes):
    """Beams are reordered and change in number, and inputs leave the batch."""
    model = bart(seed, **changes)
    ours = Seq2Seq(model)
    inputs = random_inputs(4, seed)
    generator = torch.Generator().manual_seed(seed)
    active, written = [0, 1, 2, 3], torch.full((4, 1, 1), ours.start)
    encoded, cache = ours.encode(inputs), KVCache()
    for at in range(ours.max_target):
        rows, beams, _ = written.shape
        with ours.inference_context():
            logits = ours.step(encoded, cache, written[:, :, -1]).view(rows, beams, VOCABULARY)
        for row, number in enumerate(active):
            for beam in range(beams):
                expected = full_logits(model, inputs[number], written[row, beam].tolist())
                torch.testing.assert_close(logits[row, beam], expected, atol=1e-4, rtol=0)
        keep = [row for row in range(rows) if row != 1 or at not in (2, 5)]
        encoded, active = encoded.select(torch.tensor(keep)), [active[row] for row in keep]
        new = int(torch.randint(1, 4, (), generator=generator))
        parents = torch.randint(0, beams, (len(keep), new), generator=generator)
        cache.reorder((torch.tensor(keep)[:, None] * beams + parents).ravel())
        tokens = torch.randint(0, VOCABULARY, (len(keep), new, 1), generator=generator)
        written = torch.cat([written[torch.tensor(keep)[:, None], parents], tokens], dim=2)


def first_logits(model, inputs):
    with model.inference_context():
        tokens = torch.full((len(inputs), 1), model.start)
        return model.step(model.encode(inputs), KVCache(), tokens)


def test_padding_tokens_within_an_input_are_read():
    """The mask is derived from lengths, as in `generate` with an attention mask."""
    model = bart(3)
    inputs = [[0, PAD, 5, PAD], [0, 7, 8, 9, 10, EOS]]
    for source, logits in zip(inputs, first_logits(Seq2Seq(model), inputs), strict=True):
        expected = full_logits(model, source, [EOS])
        torch.testing.assert_close(logits, expected, atol=1e-4, rtol=0)


def test_bfloat16_is_close_to_float32():
    found = [
        first_logits(Seq2Seq(bart(1), dtype), random_inputs(3, 1)).log_softmax(-1)
        for dtype in (torch.float32, torch.bfloat16)
    ]
    assert found[1].dtype == torch.float32
    gap = (found[0] - found[1]).abs()
    assert 1e-4 < gap.max() < 0.5, "bfloat16 has three digits: close, but not equal"


@pytest.mark.parametrize(
    ("inputs", "match"),
    [
        ([], "no inputs"),
        ([[0], []], "input 1 has 0 tokens"),
        ([[0] * 17], "17 tokens; the model takes 1 to 16"),
        ([[VOCABULARY]], "outside the model's vocabulary"),
        ([[-1]], "outside the model's vocabulary"),
    ],
)
def test_invalid_inputs_are_rejected(inputs, match):
    with pytest.raises(ValueError, match=match):
        Seq2Seq(bart(0)).encode(inputs)


def test_unsupported_models_are_rejected():
    with pytest.raises(ValueError, match="normalize_before"):
        Seq2Seq(bart(0, normalize_before=True))
    with pytest.raises(ValueError, match="decoder_start_token_id"):
        Seq2Seq(bart(0, decoder_start_token_id=None))
    with pytest.raises(ValueError, match="float16"):
        Seq2Seq(bart(0), torch.float16)
    with pytest.raises(ValueError, match="load them in float32"):
        Seq2Seq(bart(0).half())
