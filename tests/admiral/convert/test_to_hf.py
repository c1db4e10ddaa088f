"""Conversion to Hugging Face: equal logits and token ids, errors."""

import argparse
import datetime
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, BartForConditionalGeneration

from admiral.convert import fairseq_to_hf
from admiral.errors import AdmiralError
from admiral.models.checkpoint import verify_checkpoint

CASES = {
    "as bart.large": {},
    "mask in dict.txt": {"mask": "line"},
    "as GENRE": {"mask": "none"},
    "scaled": {"scaled": True},
    "tanh gelu": {"activation": "gelu_accurate"},
    "relu": {"activation": "relu", "layers": (1, 1)},
}


@pytest.mark.parametrize("case", CASES)
def test_logits_equal_fairseqs(fairseq, tmp_path, case):
    shape = fairseq.Shape(**CASES[case])
    done = fairseq_to_hf(fairseq.write(tmp_path / "in", shape), tmp_path / "out")
    model = BartForConditionalGeneration.from_pretrained(tmp_path / "out").eval()
    state = fairseq.state(shape)
    rows = state["encoder.embed_tokens.weight"].shape[0]
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(4, rows, (3, 11), generator=generator)
    source[1, 8:] = source[2, 5:] = 1
    previous = torch.randint(4, rows, (3, 7), generator=generator)
    previous[:, 0] = 2
    with torch.no_grad():
        ours = model(
            input_ids=source, attention_mask=source.ne(1), decoder_input_ids=previous
        ).logits
    expected = fairseq.logits(state, shape, source, previous)
    assert expected.std() > 0.1
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)
    assert done.vocab_size == rows == model.config.vocab_size
    assert done.n_parameters == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("mask", ["row", "line", "none"])
def test_tokenizer_gives_fairseqs_ids(fairseq, tmp_path_factory, mask):
    root = tmp_path_factory.mktemp("tokens")
    shape = fairseq.Shape(mask=mask)
    fairseq_to_hf(fairseq.write(root / "in", shape), root / "out")
    tokenizer = AutoTokenizer.from_pretrained(root / "out")
    lines = fairseq.lines(shape)

    # The name of a special token in a text is a token for Hugging Face and text for fairseq.
    @given(
        st.text(
            st.characters(exclude_categories=["Cs"]) | st.sampled_from("theanringb []'s \n\t"),
            max_size=40,
        ).filter(lambda text: "<" not in text)
    )
    def same(text):
        ids = tokenizer(text)["input_ids"]
        assert ids == fairseq.encode(text, lines)
        assert tokenizer.decode(ids, skip_special_tokens=True) == text

    same()


def test_config_and_generation(fairseq, tmp_path):
    shape = fairseq.Shape()
    fairseq_to_hf(fairseq.write(tmp_path / "in", shape), tmp_path / "out")
    model = BartForConditionalGeneration.from_pretrained(tmp_path / "out")
    config = model.config
    assert (config.encoder_layers, config.decoder_layers) == shape.layers
    assert (config.encoder_attention_heads, config.decoder_attention_heads) == shape.heads
    assert (config.encoder_ffn_dim, config.decoder_ffn_dim) == shape.inner
    assert config.max_position_embeddings == shape.positions
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.1, 0.2, 0.05)
    modes = {path.stat().st_mode for path in (tmp_path / "out").iterdir()}
    assert len(modes) == 1  # all files have the same permissions
    assert verify_checkpoint(tmp_path / "out") == []
    generation = model.generation_config
    assert (generation.decoder_start_token_id, generation.forced_eos_token_id) == (2, 2)
    generated = model.generate(torch.tensor([[0, 9, 8, 2]]), max_length=6, num_beams=2)
    assert generated.shape[1] <= 6
    assert generated[0, 0] == 2
    assert json.loads((tmp_path / "out/config.json").read_text())["architectures"] == [
        "BartForConditionalGeneration"
    ]


def test_half_precision_is_kept_bit_for_bit(fairseq, tmp_path):
    shape = fairseq.Shape(dtype=torch.float16)
    fairseq_to_hf(fairseq.write(tmp_path / "in", shape), tmp_path / "out")
    state = BartForConditionalGeneration.from_pretrained(tmp_path / "out").state_dict()
    for name, tensor in fairseq.state(shape).items():
        if name.endswith((".weight", ".bias")) and "output_projection" not in name:
            assert state[f"model.{name}"].dtype == torch.float16
            assert torch.equal(state[f"model.{name}"], tensor), name


def change(directory, edit):
    """Rewrite model.pt after `edit` has changed its fields in place."""
    with torch.serialization.safe_globals([argparse.Namespace]):
        state = torch.load(directory / "model.pt", weights_only=True)
    edit(state)
    zipped = "old format" not in state
    torch.save(state, directory / "model.pt", _use_new_zipfile_serialization=zipped)


def to_new_names(state):
    model = state["model"]
    for part in ("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias"):
        model[f"encoder.layers.0.{part}"] = torch.randn(4)
    state["cfg"] = {"_name": None, "model": state.pop("args"), "task": {"_name": "denoising"}}


def to_plain_cfg(state):
    state["cfg"] = {"model": {"_name": "bart_large", **vars(state["args"])}}
    state["args"] = None


def to_old_format(state):
    state["old format"] = True  # `change` writes it as torch did before 1.6


@pytest.mark.parametrize("edit", [to_old_format, to_new_names, to_plain_cfg])
def test_other_fairseq_versions_give_the_same_output(fairseq, tmp_path, edit):
    source = fairseq.write(tmp_path / "in", fairseq.Shape())
    fairseq_to_hf(source, tmp_path / "one")
    change(source, edit)
    fairseq_to_hf(source, tmp_path / "two")
    for name in ("config.json", "model.safetensors", "tokenizer.json", "generation_config.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_heads_are_inferred_without_arguments(fairseq, tmp_path, caplog):
    shape = fairseq.Shape(width=128, heads=(2, 2))
    source = fairseq.write(tmp_path / "in", shape)
    change(source, lambda state: state.pop("args"))
    fairseq_to_hf(source, tmp_path / "out")
    config = BartForConditionalGeneration.from_pretrained(tmp_path / "out").config
    assert (config.encoder_attention_heads, config.scale_embedding) == (2, False)
    assert "2 assumed" in caplog.text


def test_classification_heads_are_left_out_and_named(fairseq, tmp_path, caplog):
    source = fairseq.write(tmp_path / "in", fairseq.Shape())
    name = "classification_heads.mnli.dense.weight"
    change(source, lambda state: state["model"].update({name: torch.ones(2, 2)}))
    fairseq_to_hf(source, tmp_path / "out")
    assert f"{name} is not part of BART" in caplog.text


def remove(name):
    return lambda directory: (directory / name).unlink()


def in_model(**tensors):
    named = {name.replace("__", "."): value for name, value in tensors.items()}

    def edit(state):
        for name, value in named.items():
            if value is None:
                del state["model"][name]
            else:
                state["model"][name] = value

    return lambda directory: change(directory, edit)


def in_args(**values):
    return lambda directory: change(directory, lambda state: vars(state["args"]).update(values))


def in_file(name, edit):
    def rewrite(directory):
        path = directory / name
        path.write_bytes(edit(path.read_bytes()))

    return rewrite


def with_field(name, value):
    return lambda directory: change(directory, lambda state: state.update({name: value}))


BAD = {
    "no checkpoint": (remove("model.pt"), "holds no model.pt or checkpoint_best.pt"),
    "no dictionary": (remove("dict.txt"), "holds neither dict.txt nor dict.source.txt"),
    "no byte pairs": (remove("vocab.bpe"), "--tokenizer"),
    "truncated": (in_file("model.pt", lambda b: b[: len(b) // 2]), "damaged"),
    "other class": (with_field("extra", datetime.date(2020, 1, 1)), "datetime.date"),
    "no model": (with_field("model", None), "field 'model'"),
    "not BART": (in_model(encoder__layernorm_embedding__weight=None), "it is not a BART"),
    "missing tensor": (in_model(decoder__layers__1__fc2__bias=None), "decoder.layers.1.fc2.bias"),
    "other shape": (
        in_model(decoder__layers__1__fc2__bias=torch.ones(3)),
        r"has the shape \(3,\), not \(16,\)",
    ),
    "unknown tensor": (in_model(decoder__adapter__weight=torch.ones(2)), "is not part of BART"),
    "heads": (in_args(encoder_attention_heads=5), "encoder_attention_heads 5"),
    "pre-norm": (in_args(encoder_normalize_before=True), "normalises before"),
    "activation": (in_args(activation_fn="swish"), "activation_fn 'swish'"),
    "untied": (in_model(decoder__embed_tokens__weight=torch.ones(276, 16)), "shares one embedding"),
    "positions differ": (
        in_model(decoder__embed_positions__weight=torch.ones(30, 16)),
        "positions differ",
    ),
    "short dictionary": (
        in_file("dict.txt", lambda b: b"\n".join(b.split(b"\n")[:-5]) + b"\n"),
        r"gives 271 symbols .* has 276 rows",
    ),
    "cut dictionary": (in_file("dict.txt", lambda b: b[:-3]), "dict.txt: ends within"),
    "no count": (in_file("dict.txt", lambda b: b"word\n" + b), "dict.txt:1: is not a new symbol"),
    "twice": (
        in_file("dict.txt", lambda b: b + b.split(b"\n")[0] + b"\n"),
        "dict.txt:.*: is not a new symbol",
    ),
    "other id": (
        in_file("dict.txt", lambda b: b.replace(b"madeupword0001 ", b"99999 ")),
        "symbol 99999 is not an id",
    ),
    "id missing": (
        in_file("dict.txt", lambda b: b.replace(b"\n256 ", b"\nword ")),
        "lacks 1 tokens of the byte-pair encoding, such as 'th'",
    ),
    "encoder of another": (
        in_file("encoder.json", lambda b: b.replace(b'"th"', b'"zz"')),
        "lacks 1 tokens of the byte-pair encoding, such as 'th'",
    ),
    "merges bad": (in_file("vocab.bpe", lambda b: b + b"abc\n"), "vocab.bpe cannot be read"),
    "whole numbers": (
        in_model(decoder__layers__1__fc2__bias=torch.ones(16, dtype=torch.int64)),
        "no floating-point",
    ),
    "latin dictionary": (
        in_file("dict.txt", lambda b: b"\xff 1\n" + b),
        "dict.txt: cannot be read",
    ),
    "encoder cut": (
        in_file("encoder.json", lambda b: b[:-9]),
        "encoder.json or vocab.bpe cannot be read",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_input_raises_and_leaves_nothing(fairseq, tmp_path, case):
    damage, message = BAD[case]
    source = fairseq.write(tmp_path / "in", fairseq.Shape())
    damage(source)
    with pytest.raises(AdmiralError, match=message) as caught:
        fairseq_to_hf(source, tmp_path / "out")
    assert str(tmp_path) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_dictionaries_of_a_pair_must_agree(fairseq, tmp_path):
    source = fairseq.write(tmp_path / "in", fairseq.Shape(mask="none"))
    with (source / "dict.target.txt").open("a") as out:
        out.write("word 1\n")
    with pytest.raises(AdmiralError, match="one vocabulary for both sides"):
        fairseq_to_hf(source, tmp_path / "out")


def test_other_file_name_and_other_tokenizer(fairseq, tmp_path):
    source = fairseq.write(tmp_path / "in", fairseq.Shape())
    fairseq_to_hf(source, tmp_path / "one")
    (source / "model.pt").rename(source / "checkpoint_best.pt")
    (tmp_path / "bpe").mkdir()
    for name in ("encoder.json", "vocab.bpe"):
        (source / name).rename(tmp_path / "bpe" / name)
    fairseq_to_hf(source, tmp_path / "two", tokenizer=tmp_path / "bpe")
    (source / "checkpoint_best.pt").rename(source / "checkpoint7.pt")
    with pytest.raises(AdmiralError, match="--checkpoint-file"):
        fairseq_to_hf(source, tmp_path / "three", tokenizer=tmp_path / "bpe")
    # A Hugging Face tokenizer lends its merges; the ids stay the dictionary's.
    fairseq_to_hf(
        source, tmp_path / "three", tokenizer=tmp_path / "one", checkpoint_file="checkpoint7.pt"
    )
    for name in ("model.safetensors", "tokenizer.json"):
        first = (tmp_path / "one" / name).read_bytes()
        assert first == (tmp_path / "two" / name).read_bytes()
        assert first == (tmp_path / "three" / name).read_bytes()


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_invalid_tokenizer(fairseq, tmp_path, name):
    (tmp_path / "empty").mkdir()
    source = fairseq.write(tmp_path / "in", fairseq.Shape())
    with pytest.raises(AdmiralError, match=str(tmp_path / name)):
        fairseq_to_hf(source, tmp_path / "out", tokenizer=tmp_path / name)
