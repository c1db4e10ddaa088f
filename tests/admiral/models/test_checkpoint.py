"""Loading checkpoints, and the errors for directories that are none."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from admiral.errors import AdmiralError
from admiral.models.checkpoint import is_checkpoint, load_checkpoint, locate_checkpoint
from tests.training.tiny import write_hub_directory


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_hub_directory(tmp_path / "tiny")


def test_a_plain_hub_model_is_a_checkpoint(tiny: Path) -> None:
    loaded = load_checkpoint(tiny)
    assert loaded.head is None
    assert loaded.path == tiny


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    config = GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=9)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    with pytest.raises(AdmiralError, match=r"config\.json: field 'model_type': 'gpt2' is not"):
        load_checkpoint(tmp_path / "gpt2")


@pytest.mark.parametrize(
    "content", ["", "[]", "[" * 20_000, '{"model_type": "bart", "d_model": 3}']
)
def test_damaged_configurations_are_refused(tiny: Path, content: str) -> None:
    (tiny / "config.json").write_text(content)
    with pytest.raises(AdmiralError, match=str(tiny)):
        load_checkpoint(tiny)


def test_missing_weights_are_an_error(tiny: Path) -> None:
    weights = load_file(tiny / "model.safetensors")
    name = "model.decoder.layers.0.fc1.weight"
    del weights[name]
    save_file(weights, tiny / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AdmiralError, match=rf"lacks 1 weights of a BART .* such as {name}"):
        load_checkpoint(tiny)


def test_a_folder_with_other_files_is_not_a_replaceable_checkpoint(
    tiny: Path, tmp_path: Path
) -> None:
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


def test_extra_layers_and_nan_weights_are_refused(tiny: Path) -> None:
    config = json.loads((tiny / "config.json").read_text())
    (tiny / "config.json").write_text(json.dumps(config | {"decoder_layers": 0}))
    with pytest.raises(AdmiralError, match=r"fewer layers than model\.safetensors, .* model\.dec"):
        load_checkpoint(tiny)
    (tiny / "config.json").write_text(json.dumps(config))
    weights = load_file(tiny / "model.safetensors")
    weights["model.decoder.layers.0.fc1.weight"][0, 0] = math.nan
    save_file(weights, tiny / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AdmiralError, match=r"model\.safetensors has infinite or NaN weights"):
        load_checkpoint(tiny)


def test_a_model_without_its_tokenizer_is_refused(tiny: Path) -> None:
    for name in ("tokenizer.json", "vocab.json", "merges.txt"):
        (tiny / name).unlink()
    with pytest.raises(AdmiralError, match="not a usable BART checkpoint"):
        load_checkpoint(tiny)
