"""Decoding step by step, compared with full forward passes."""

from pathlib import Path

import pytest
import torch
from transformers import BartForConditionalGeneration, BertConfig, BertLMHeadModel

import admiral
from tests.trie.helpers import bart as tiny_bart
from trie import attention
from trie.seq2seq import Seq2Seq

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
    """Return the logits after each token of `target`; (length, vocabulary)."""
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])
        ).logits[0]


@pytest.mark.parametrize("changes", [{}, {"scale_embedding": True, "activation_function": "relu"}])
@pytest.mark.parametrize("seed", range(2))
def test_steps_equal_the_full_forward_pass(seed, changes):
    """Beams are reordered and change in number, and inputs leave the batch."""
    model = bart(seed, **changes)
    ours = Seq2Seq(model)
    inputs = random_inputs(4, seed)
    generator = torch.Generator().manual_seed(seed)
    active, beams = [0, 1, 2, 3], 1
    encoded, cache = ours.encode(inputs), ours.new_cache()
    written = [[[ours.start]] for _ in active]
    for at in range(ours.max_target):
        last = torch.tensor([[beam[-1:] for beam in one] for one in written])
        logits = ours.step(encoded, cache, last)[:, :, 0]
        assert logits.shape == (len(active), beams, VOCABULARY)
        assert logits.dtype == torch.float32
        for row, number in enumerate(active):
            for beam in range(beams):
                expected = full_logits(model, inputs[number], written[row][beam])[-1]
                torch.testing.assert_close(logits[row, beam], expected, atol=1e-4, rtol=0)
        keep = list(range(len(active)))
        if at in (2, 5):
            keep.remove(1)
            encoded = encoded.select(keep)
        new = int(torch.randint(1, 4, (), generator=generator))
        parents = torch.randint(0, beams, (len(keep), new), generator=generator)
        tokens = torch.randint(0, VOCABULARY, (len(keep), new), generator=generator)
        cache = ours.reorder(cache, torch.tensor(keep)[:, None] * beams + parents)
        written = [
            [
                [*written[row][p], t]
                for p, t in zip(parents[i].tolist(), tokens[i].tolist(), strict=True)
            ]
            for i, row in enumerate(keep)
        ]
        active, beams = [active[row] for row in keep], new
    with pytest.raises(ValueError, match="at most 16 tokens"):
        ours.step(encoded, cache, torch.zeros(len(active), beams, 1, dtype=torch.int64))


def test_padding_tokens_within_an_input_are_read():
    """The mask is derived from lengths, as in `generate` with an attention mask."""
    model = bart(3)
    ours = Seq2Seq(model)
    inputs = [[0, PAD, 5, PAD], [0, 7, 8, 9, 10, EOS]]
    logits = ours.step(ours.encode(inputs), ours.new_cache(), torch.tensor([[[EOS]], [[EOS]]]))
    for row, source in enumerate(inputs):
        expected = full_logits(model, source, [EOS])[0]
        torch.testing.assert_close(logits[row, 0, 0], expected, atol=1e-4, rtol=0)


def test_bfloat16_is_close_to_float32():
    inputs = random_inputs(3, 1)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        ours = Seq2Seq(bart(1), dtype)
        encoded, cache = ours.encode(inputs), ours.new_cache()
        ours.step(encoded, cache, torch.full((3, 1, 1), ours.start))
        cache = ours.reorder(cache, torch.tensor([[0, 0], [1, 1], [2, 2]]))
        found.append(ours.step(encoded, cache, torch.arange(6).view(3, 2, 1)).log_softmax(-1))
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
    bert = BertLMHeadModel(
        BertConfig(
            vocab_size=5, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, is_decoder=True
        )
    )
    with pytest.raises(ValueError, match="BertLMHeadModel is not"):
        Seq2Seq(bert)
    with pytest.raises(ValueError, match="normalize_before"):
        Seq2Seq(bart(0, normalize_before=True))
    with pytest.raises(ValueError, match="decoder_start_token_id"):
        Seq2Seq(bart(0, decoder_start_token_id=None))
    with pytest.raises(ValueError, match="float16"):
        Seq2Seq(bart(0), torch.float16)
    model = bart(0)
    ours = Seq2Seq(model)
    model.train()
    with pytest.raises(ValueError, match="training mode"):
        ours.encode([[0]])


def test_unsupported_int8_is_rejected(monkeypatch):
    model = bart(3)
    with pytest.raises(ValueError, match="CPUs only, not on cuda:0; use bf16"):
        attention.check_int8(torch.device("cuda", 0))
    monkeypatch.setattr(attention, "int8_is_supported", lambda: False)
    with pytest.raises(ValueError, match="VNNI; use fp32 or bf16"):
        Seq2Seq(model, dtype=torch.int8)
    assert model.get_encoder().layers[0].fc1.weight.numel() > 0


MINI = Path(admiral.__file__).parent / "data" / "mini"
LENGTHS = [37, 64, 230]
BEAMS, STEPS = 25, 6


def decoded(model, inputs, tokens, parts):
    """Return the log-probabilities after each token; tokens are read in parts."""
    encoded, cache = model.encode(inputs), model.new_cache()
    found = [model.step(encoded, cache, part) for part in tokens.split(list(parts), dim=2)]
    return torch.cat(found, dim=2).log_softmax(-1)


def mini(dtype):
    return Seq2Seq(BartForConditionalGeneration.from_pretrained(MINI, dtype=torch.float32), dtype)


@pytest.mark.parametrize(("dtype", "gap"), [(torch.float32, 1e-4), (torch.bfloat16, 0.5)])
def test_steps_do_not_depend_on_the_batch(dtype, gap, set_threads):
    """Nor on threads, the number of beams of other inputs, or tokens read together."""
    model = mini(dtype)
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randint(1000, 30000, (n,), generator=generator).tolist() for n in LENGTHS]
    tokens = torch.randint(1000, 30000, (len(inputs), BEAMS, STEPS), generator=generator)
    set_threads(1)
    together = decoded(model, inputs, tokens, [1] * STEPS)
    for number, beams, parts in ((2, 25, [1, 3, 2]), (1, 4, [2, 4])):
        set_threads(number)
        for at, ids in enumerate(inputs):
            alone = decoded(model, [ids], tokens[at, None, :beams], parts)[0]
            assert (alone - together[at, :beams]).abs().max() <= gap
