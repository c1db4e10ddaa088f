"""Initial checkpoints: layout of the hub, added tokens, and refused models."""

import json
import shutil

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from admiral.errors import AdmiralError
from admiral.models.checkpoint import has_output_embedding, load_seq2seq, save_checkpoint
from admiral.requirements import minilm_directory
from tests.training.tiny import write_hub_directory, write_t5_directory
from tests.trie.helpers import KINDS
from training.data.samples import RetrieveSample
from training.multitask.multitask_model import open_initial_checkpoint
from training.multitask.multitask_settings import TrainConfig
from training.multitask.sample_batches import encode
from training.warm_start import warm_start
from trie.safe_tokenizer import IDENTIFIERS, MARKERS, TASKS
from trie.seq2seq import quiet_transformers


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    return write_hub_directory(tmp_path_factory.mktemp("hub") / "bart-tiny")


@pytest.fixture
def config(hub):
    return TrainConfig(start=str(hub), max_source=96, max_target=96)


def changed(hub, folder, **fields):
    """Return settings that start from a copy with other fields in its config.json."""
    shutil.copytree(hub, folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    return TrainConfig(start=str(folder), max_source=96, max_target=96)


def test_missing_tokens_are_added_and_existing_embeddings_kept(hub, config):
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
    other = open_initial_checkpoint(config.changed(seed=1), TASKS)
    assert not torch.equal(other.model.get_input_embeddings().weight, new)


def test_a_saved_checkpoint_is_opened_unchanged(config, tmp_path):
    start = open_initial_checkpoint(config, TASKS)
    save_checkpoint(tmp_path / "out", start.model, start.head, start.tokenizer, torch.float32)
    again = open_initial_checkpoint(config.changed(start=str(tmp_path / "out")), TASKS)
    assert again.tokens.fingerprint == start.tokens.fingerprint
    assert again.tokens.encode("Rome [ 3") == start.tokens.encode("Rome [ 3")
    for name, value in start.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], value), name
    assert start.head is not None and again.head is not None
    assert torch.equal(again.head.score.weight, start.head.score.weight)
    assert next(start.model.parameters()).dtype == torch.float32  # the live one is untouched


def test_a_name_on_the_hub_is_found_in_its_cache(hub, config, tmp_path, monkeypatch):
    repository = tmp_path / "models--someone--bart-tiny"
    shutil.copytree(hub, repository / "snapshots" / ("0" * 40))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    start = open_initial_checkpoint(config.changed(start="someone/bart-tiny"), TASKS)
    assert start.name == "someone/bart-tiny"
    for name in ("someone/absent", "not a name", "runs/a/b"):
        with pytest.raises(AdmiralError, match="is not a directory and cannot be downloaded"):
            open_initial_checkpoint(config.changed(start=name), TASKS)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_proofs_are_added_to_a_t5(kind, tmp_path):
    """Its vocabulary has no braces. New rows leave separate output embeddings alone."""
    folder = write_t5_directory(tmp_path / "t5", kind)
    config = TrainConfig(start=str(folder), max_source=96, max_target=96)
    before = load_seq2seq(folder)
    start = open_initial_checkpoint(config, TASKS)
    tokens, size = start.tokens, start.tokens.size
    marks = [tokens.single_token(mark) for mark in "{}<"]
    assert marks == [size - 3, size - 2, size - 1]
    assert tokens.task("prove") is not None
    assert tokens.encode("{") != [marks[0]]
    for old, new in (
        (before.get_input_embeddings(), start.model.get_input_embeddings()),
        (before.get_output_embeddings(), start.model.get_output_embeddings()),
    ):
        assert torch.equal(new.weight[: len(old.weight)], old.weight)
        assert len(new.weight) == size == start.model.config.vocab_size
    assert has_output_embedding(start.model) == has_output_embedding(before) == (kind == "t5 v1.1")
    save_checkpoint(tmp_path / "out", start.model, start.head, start.tokenizer, torch.float32)
    again = open_initial_checkpoint(config.changed(start=str(tmp_path / "out")), TASKS)
    assert again.tokens.fingerprint == tokens.fingerprint
    ids = torch.tensor([[5, 6, 7]])
    logits = [
        some.model.eval()(input_ids=ids, decoder_input_ids=ids).logits for some in (start, again)
    ]
    assert torch.equal(*logits)


def test_a_t5_has_one_dropout(tmp_path):
    config = TrainConfig(start=str(write_t5_directory(tmp_path / "t5")), max_source=96, dropout=0.2)
    with pytest.raises(AdmiralError, match=r"set attention_dropout to the value of dropout, 0\.2"):
        open_initial_checkpoint(config, TASKS)
    config = config.changed(attention_dropout=0.2, max_target=96)
    assert open_initial_checkpoint(config, TASKS).model.config.dropout_rate == 0.2


def test_proofs_of_a_t5_need_its_missing_tokens(tmp_path):
    folder = write_t5_directory(tmp_path / "t5")
    config = TrainConfig(start=str(folder), max_source=96, max_target=96, markers=False)
    with pytest.raises(AdmiralError, match=r"no token for { } <, which proofs contain"):
        open_initial_checkpoint(config, ("prove",))
    start = open_initial_checkpoint(config, ("retrieve",))
    assert encode(start.tokens, RetrieveSample("Rome is a city.", (), 0, ("Rome",)), config)


def test_missing_weights_are_refused(hub, tmp_path):
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


def test_inputs_longer_than_the_position_embeddings_are_refused(config):
    with pytest.raises(AdmiralError, match="has 128 positions"):
        open_initial_checkpoint(config.changed(max_source=129), TASKS)


TEXTS = [
    "Seth Meyers led through the evening as its host.",
    "Short.",
    "A rather longer sentence, with commas, a number like 1973, and an accent: Pelé.",
]


def test_the_encoder_agrees_with_minilm():
    source = minilm_directory()
    with quiet_transformers():
        bert = AutoModel.from_pretrained(source, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    encoder = warm_start(source).eval().get_encoder()
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        theirs = bert(**batch).last_hidden_state
        ours = encoder(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).last_hidden_state
    mask = batch["attention_mask"].bool()
    assert (theirs - ours)[mask].abs().max() < 5e-3
