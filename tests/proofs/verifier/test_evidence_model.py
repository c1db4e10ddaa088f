"""The verifier's files: what is written is read again, and damaged files are refused."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from proofs.verifier.evidence_model import HEADS, new_model, read_model, write_model
from proofs.verifier.evidence_verifier import EvidenceEncoder
from proofs.verifier.reading import LABELS
from proofs.verifier.sequence_classifier import pad_inputs
from tests.proofs.verifier.tiny_classifier import write_classifier_directory


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return write_classifier_directory(tmp_path_factory.mktemp("model") / "start", labels=())


@pytest.fixture
def written(start, tmp_path):
    model, tokenizer = new_model(start, 3)
    write_model(tmp_path, model, tokenizer, torch.float32, 48)
    return tmp_path


def outputs(model, folder):
    encoder = EvidenceEncoder.of(new_model(folder, 0)[1], 48)
    sentences = [[("Rome", "Rome is a city."), ("", "Oslo")], [("", "Bern")]]
    inputs = encoder.encode(["Rome is not.", "Bern"], sentences)
    ids, segments = [i.ids for i in inputs], [i.segments for i in inputs]
    batch = pad_inputs(ids, segments, encoder.special.pad)
    with torch.no_grad():
        result = model.eval()(*batch)
    return result


def is_of_head(name):
    return "head" in name or "pooler" in name or name.startswith("classifier.classifier")


def test_a_model_is_read_as_it_was_written(start, written):
    model, tokenizer = read_model(written)
    assert not model.training
    assert tokenizer.model_max_length == 48
    own, again = outputs(new_model(start, 3)[0], start), outputs(model, start)
    for first, second in zip(own, again, strict=True):
        torch.testing.assert_close(first, second)
    whole, sentences, tokens = again
    assert whole.shape == (2, 3)
    assert sentences.shape == tokens.shape == (2, sentences.shape[1], 3)


def test_the_seed_decides_new_heads(start):
    first, same, other = (new_model(start, seed)[0].state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    changed = {name for name in first if not torch.equal(first[name], other[name])}
    assert changed  # not the encoder, whose weights are given
    assert all(
        "head" in name or "classifier.classifier" in name or "pooler" in name for name in changed
    )


def test_half_precision_and_the_labels_are_in_the_files(start, tmp_path):
    model, tokenizer = new_model(start, 0)
    write_model(tmp_path, model, tokenizer, torch.float16, 48)
    stored = load_file(tmp_path / "model.safetensors") | load_file(tmp_path / HEADS)
    assert {value.dtype for value in stored.values()} == {torch.float16}
    assert model.sentence_head.weight.dtype == torch.float32
    config = json.loads((tmp_path / "config.json").read_text())
    assert [config["id2label"][str(at)] for at in range(3)] == list(LABELS)
    assert str(start) not in (tmp_path / "config.json").read_text()
    assert read_model(tmp_path)[0].sentence_head.weight.dtype == torch.float32


def test_a_directory_without_the_heads_is_no_verifier(written):
    (written / HEADS).unlink()
    with pytest.raises(ValueError, match=f"{HEADS}: no such file; this is not a verifier"):
        read_model(written)


@pytest.mark.parametrize("file", ["model.safetensors", HEADS])
def test_weights_that_are_not_finite_are_refused(written, file):
    state = load_file(written / file)
    name = next(iter(state))
    state[name].view(-1)[0] = torch.nan
    save_file(state, written / file, metadata={"format": "pt"})
    with pytest.raises(ValueError, match="are not finite"):
        read_model(written)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["neutral", "entailment", "contradiction"], "the labels are in another order"),
        (["yes", "no", "perhaps"], "config.json"),
    ],
)
def test_other_labels_are_refused(written, labels, message):
    path = written / "config.json"
    config = json.loads(path.read_text()) | {"id2label": dict(enumerate(labels))}
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        read_model(written)


def test_damaged_files_are_named(written):
    (written / HEADS).write_bytes(b"{")
    with pytest.raises(ValueError, match=str(written)):
        read_model(written)


def test_the_encoder_is_told_from_the_heads(start):
    model, _ = new_model(start, 0)
    encoder = {id(parameter) for parameter in model.encoder_parameters()}
    names = [name for name, parameter in model.named_parameters() if id(parameter) not in encoder]
    assert all(is_of_head(name) for name in names)
    assert len(names) == 8
