"""Initial checkpoints: layout of the hub, added tokens, and refused models."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

from admiral.errors import AdmiralError
from admiral.models.checkpoint import quiet_transformers, save_checkpoint
from tests.training.tiny import write_hub_directory
from training.loop.initial_checkpoint import open_initial_checkpoint
from training.loop.run_config import TrainConfig
from trie import SafeTokenizer
from trie.model.safe_tokenizer import IDENTIFIERS, MARKERS, TASKS


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hub_directory(tmp_path_factory.mktemp("hub") / "bart-tiny")


@pytest.fixture
def config(hub: Path) -> TrainConfig:
    return TrainConfig(start=str(hub), max_source=96, max_target=96)


def changed(hub: Path, folder: Path, **fields: object) -> TrainConfig:
    """Return settings that start from a copy with other fields in its config.json."""
    shutil.copytree(hub, folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return TrainConfig(start=str(folder), max_source=96, max_target=96)


def test_missing_tokens_are_added_and_existing_embeddings_kept(
    hub: Path, config: TrainConfig
) -> None:
    start = open_initial_checkpoint(config, TASKS)
    old = load_file(hub / "model.safetensors")["model.shared.weight"]
    new = start.model.get_input_embeddings().weight
    assert torch.equal(new[: len(old)], old)
    assert len(new) == len(old) + len(MARKERS) == start.model.config.vocab_size
    marks = [start.tokens.task("prove"), *(start.tokens.identifier(i) for i in range(IDENTIFIERS))]
    assert len(set(marks)) == 1 + IDENTIFIERS and None not in marks
    assert start.tokens.task("retrieve") == len(old)
    assert start.head is not None
    again = open_initial_checkpoint(config, TASKS)
    assert torch.equal(again.model.get_input_embeddings().weight, new)
    other = open_initial_checkpoint(replace(config, seed=1), TASKS)
    assert not torch.equal(other.model.get_input_embeddings().weight, new)


def test_a_single_task_needs_no_added_tokens(config: TrainConfig) -> None:
    start = open_initial_checkpoint(replace(config, markers=False), ("retrieve",))
    assert start.tokens.task("retrieve") is None
    assert start.tokens.identifier(3) == start.tokens.single_token("3")
    assert start.head is None
    with pytest.raises(AdmiralError, match="Set markers to true"):
        open_initial_checkpoint(replace(config, markers=False), TASKS)


def test_a_saved_checkpoint_is_opened_unchanged(config: TrainConfig, tmp_path: Path) -> None:
    start = open_initial_checkpoint(config, TASKS)
    save_checkpoint(tmp_path / "out", start.model, start.head, start.tokenizer, torch.float32)
    again = open_initial_checkpoint(replace(config, start=str(tmp_path / "out")), TASKS)
    assert again.tokens.fingerprint == start.tokens.fingerprint
    assert again.tokens.encode("Rome [ 3") == start.tokens.encode("Rome [ 3")
    for name, value in start.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], value), name
    assert start.head is not None and again.head is not None
    assert torch.equal(again.head.score.weight, start.head.score.weight)
    assert next(start.model.parameters()).dtype == torch.float32  # the live one is untouched


def test_the_bundled_model_keeps_its_tokenizer(tmp_path: Path) -> None:
    """Title tries are cached by the fingerprint of the tokenizer."""
    start = open_initial_checkpoint(TrainConfig(start="mini"), ("retrieve",))
    save_checkpoint(tmp_path, start.model, start.head, start.tokenizer)
    assert SafeTokenizer.load(tmp_path, start.tokens.start).fingerprint == start.tokens.fingerprint
    assert start.name == "mini"


def test_a_name_on_the_hub_is_found_in_its_cache(
    hub: Path, config: TrainConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "models--someone--bart-tiny"
    shutil.copytree(hub, repository / "snapshots" / ("0" * 40))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    start = open_initial_checkpoint(replace(config, start="someone/bart-tiny"), TASKS)
    assert start.name == "someone/bart-tiny"
    for name in ("someone/absent", "not a name", "runs/a/b"):
        with pytest.raises(AdmiralError, match="is not a directory and cannot be downloaded"):
            open_initial_checkpoint(replace(config, start=name), TASKS)


def test_another_architecture_is_refused(config: TrainConfig, tmp_path: Path) -> None:
    shape = T5Config(vocab_size=32, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    with quiet_transformers():
        T5ForConditionalGeneration(shape).save_pretrained(tmp_path)
    with pytest.raises(AdmiralError, match="'t5' is not 'bart'"):
        open_initial_checkpoint(replace(config, start=str(tmp_path)), TASKS)


def test_a_pre_norm_bart_is_refused(hub: Path, tmp_path: Path) -> None:
    config = changed(hub, tmp_path / "variant", normalize_before=True)
    with pytest.raises(AdmiralError, match="only the post-norm BART"):
        open_initial_checkpoint(config, TASKS)


def test_missing_weights_are_refused(hub: Path, tmp_path: Path) -> None:
    config = changed(hub, tmp_path / "part")
    file = tmp_path / "part" / "model.safetensors"
    weights = load_file(file)
    del weights["model.decoder.layers.0.fc1.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(AdmiralError, match=r"lacks 1 weights .*decoder\.layers\.0\.fc1\.weight"):
        open_initial_checkpoint(config, TASKS)
    file.write_bytes(b"no tensors")
    with pytest.raises(AdmiralError, match="not a usable BART checkpoint"):
        open_initial_checkpoint(config, TASKS)
    file.unlink()
    with pytest.raises(AdmiralError, match=r"no model\.safetensors"):
        open_initial_checkpoint(config, TASKS)


def test_a_tokenizer_of_another_checkpoint_is_refused(hub: Path, tmp_path: Path) -> None:
    config = changed(hub, tmp_path / "ids", pad_token_id=3)
    with pytest.raises(AdmiralError, match="pad_token_id is 1 in its tokenizer, but 3"):
        open_initial_checkpoint(config, TASKS)
    shutil.copytree(hub, tmp_path / "large")
    with quiet_transformers():
        model = BartForConditionalGeneration.from_pretrained(hub)
        model.resize_token_embeddings(100, mean_resizing=False)
        model.save_pretrained(tmp_path / "large")
    with pytest.raises(AdmiralError, match="its model only 100 embeddings"):
        open_initial_checkpoint(replace(config, start=str(tmp_path / "large")), TASKS)


def test_inputs_longer_than_the_position_embeddings_are_refused(config: TrainConfig) -> None:
    with pytest.raises(AdmiralError, match="has 128 positions"):
        open_initial_checkpoint(replace(config, max_source=129), TASKS)
