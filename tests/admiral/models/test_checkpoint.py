"""Checkpoints: their files, sums and heads."""

import json
import random
import shutil
import subprocess

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from admiral.cli.index import info_command
from admiral.errors import AdmiralError
from admiral.models.checkpoint import (
    SUFFICIENCY_HEAD,
    SUMS,
    RerankHead,
    is_checkpoint,
    load_checkpoint,
    load_head,
    load_seq2seq,
    load_sufficiency_head,
    locate_checkpoint,
    save_head,
    verify_checkpoint,
    write_sums,
)
from admiral.requirements import ENCODER, MODELS, VERIFIERS, bundled_directory
from tests.training.tiny import write_hub_directory, write_t5_directory
from tests.trie.helpers import KINDS


@pytest.fixture
def tiny(tmp_path):
    return write_hub_directory(tmp_path / "tiny")


def test_a_plain_hub_model_is_a_checkpoint(tiny):
    loaded = load_checkpoint(tiny)
    assert loaded.head is None
    assert loaded.path == tiny


def test_other_architectures_are_refused(tmp_path):
    config = GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=9)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    with pytest.raises(AdmiralError, match=r"config\.json: field 'model_type': 'gpt2' is not"):
        load_checkpoint(tmp_path / "gpt2")


@pytest.mark.parametrize(
    "content", ["", "[]", "[" * 20_000, '{"model_type": "bart", "d_model": 3}']
)
def test_damaged_configurations_are_refused(tiny, content):
    (tiny / "config.json").write_text(content)
    with pytest.raises(AdmiralError, match=str(tiny)):
        load_checkpoint(tiny)


def test_missing_weights_are_an_error(tiny):
    weights = load_file(tiny / "model.safetensors")
    name = "model.decoder.layers.0.fc1.weight"
    del weights[name]
    save_file(weights, tiny / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AdmiralError, match=rf"lacks 1 weights of a BART .* such as {name}"):
        load_checkpoint(tiny)


def test_a_model_without_its_tokenizer_is_refused(tiny):
    for name in ("tokenizer.json", "vocab.json", "merges.txt"):
        (tiny / name).unlink()
    with pytest.raises(AdmiralError, match="not a usable BART checkpoint"):
        load_checkpoint(tiny)


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_the_t5_family_are_checkpoints(kind, tmp_path):
    tiny = write_t5_directory(tmp_path / "t5", kind)
    assert is_checkpoint(tiny)
    loaded = load_checkpoint(tiny)
    assert loaded.tokens.start == loaded.model.start == loaded.tokens.pad == 0
    assert loaded.tokens.input_head == []
    assert (loaded.model.max_source, loaded.model.max_target) == (128, 128)
    ids = [*loaded.tokens.encode("Rome is a city."), loaded.tokens.eos]
    model = load_seq2seq(tiny).eval()
    with torch.no_grad():
        expected = model.get_encoder()(input_ids=torch.tensor([ids])).last_hidden_state
    hidden, _ = loaded.model.run_encoder([ids])
    torch.testing.assert_close(hidden, expected, atol=1e-3, rtol=1e-4)


def test_the_tokenizer_of_a_t5_normalises_as_its_file_says(tmp_path):
    """transformers' own class for T5 leaves normalisation out."""
    tokens = load_checkpoint(write_t5_directory(tmp_path / "t5")).tokens
    assert tokens.encode("\uff32\uff4f\uff4d\uff45") == tokens.encode("Rome")


def test_missing_weights_of_a_t5_are_errors(tmp_path):
    tiny = write_t5_directory(tmp_path / "t5")
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps(config | {"n_positions": "many"}))
    with pytest.raises(AdmiralError, match="n_positions is 'many'"):
        load_checkpoint(tiny)
    (tiny / "config.json").write_text(json.dumps(config))
    weights = load_file(tiny / "model.safetensors")
    del weights["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    save_file(weights, tiny / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AdmiralError, match=r"lacks 1 weights of a T5 seq2seq model, such as encod"):
        load_checkpoint(tiny)


@pytest.fixture
def checkpoint(tmp_path):
    """Create the files of a checkpoint; their content does not matter here."""
    rng = random.Random(0)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(rng.randbytes(2000))
    (tmp_path / "README.md").write_text("A card.")
    write_sums(tmp_path)
    return tmp_path


def test_the_bundled_checkpoint_has_no_problems():
    assert verify_checkpoint("mini") == []
    result = CliRunner().invoke(info_command, ["--check", "--set", "model=mini"])
    assert result.exit_code == 0
    assert "mini: sound\n" in result.stderr


@pytest.mark.parametrize("name", [*MODELS, ENCODER, *VERIFIERS])
def test_the_checksums_of_bundled_weights_are_theirs(name):
    subprocess.run(
        ["sha256sum", "--check", "--quiet", SUMS], cwd=bundled_directory(name), check=True
    )


def test_changed_added_and_removed_files_are_reported(checkpoint):
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00")
    (checkpoint / "rerank_head.safetensors").write_bytes(b"new")
    (checkpoint / "tokenizer.json").unlink()
    problems = verify_checkpoint(checkpoint)
    assert [problem.removeprefix(f"{checkpoint}/").split(": ")[0] for problem in problems] == [
        *("tokenizer.json", "model.safetensors", "rerank_head.safetensors"),
    ]
    result = CliRunner().invoke(info_command, ["--check", "--set", f"model={checkpoint}"])
    assert isinstance(result.exception, AdmiralError)
    assert "Restore it" in str(result.exception)


def test_a_missing_checksum_file_is_an_error(checkpoint):
    (checkpoint / SUMS).unlink()
    with pytest.raises(AdmiralError, match=r"SHA256SUMS: missing.*sha256sum"):
        verify_checkpoint(checkpoint)
    with pytest.raises(AdmiralError, match="no such checkpoint"):
        verify_checkpoint(checkpoint / "none")


def test_heads_round_trip(tmp_path):
    assert load_head(tmp_path, 4) is None
    head = RerankHead(4)
    save_head(tmp_path, head, torch.float16)
    found = load_head(tmp_path, 4)
    assert found is not None
    assert found.score.weight.dtype == torch.float32
    assert torch.equal(found.score.weight, head.score.weight.half().float())
    assert head.score.weight.dtype == torch.float32
    hidden = torch.randn(2, 3, 4)
    assert found(hidden).shape == (2, 3)


def test_heads_of_other_models_are_refused(tmp_path):
    tiny = write_hub_directory(tmp_path / "tiny")
    with pytest.raises(AdmiralError, match=r"safetensors: not a sufficiency classifier"):
        load_sufficiency_head(tiny, 32)
    bundled = locate_checkpoint("mini")
    for name in ("rerank_head.safetensors", SUFFICIENCY_HEAD):
        shutil.copy(bundled / name, tiny / name)
    with pytest.raises(
        AdmiralError, match=r"not a sufficiency classifier of this model \(its shape is \(768"
    ):
        load_sufficiency_head(tiny, 32)
    for content in (None, b"no tensors"):
        if content is not None:
            (tiny / "rerank_head.safetensors").write_bytes(content)
        with pytest.raises(AdmiralError, match=r"rerank_head\.safetensors: not a rerank head"):
            load_checkpoint(tiny)


def test_a_folder_with_other_files_is_not_a_replaceable_checkpoint(tiny, tmp_path):
    assert is_checkpoint(tiny)
    assert is_checkpoint(locate_checkpoint("mini"))
    assert not is_checkpoint(tiny / "config.json")
    assert not is_checkpoint(tmp_path / "absent")
    for name in ("notes.txt", "src"):
        shutil.copytree(tiny, tmp_path / name)
        (tmp_path / name / name).mkdir()
        assert not is_checkpoint(tmp_path / name)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "config.json").write_text(json.dumps({"model_type": "bart"}))
    assert not is_checkpoint(tmp_path / "app")
