"""Predictions of a pair classifier in the hub's layout, and files that are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from proofs.verifier.classifier_files import (
    RELEVANCE_HEAD,
    new_relevance_head,
    read_classifier,
)
from proofs.verifier.pair_verifier import Verifier
from tests.proofs.verifier.tiny_classifier import TEXT, write_classifier_directory

CLAIMS = [
    "Rome is a city.",
    "Paris is not the capital of France.",
    "Oslo",
    "Bern lies on the Aare.",
]
EVIDENCE = [TEXT, "Paris: Paris is the capital of France.", "Oslo", TEXT * 20]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_classifier_directory(tmp_path_factory.mktemp("hub") / "model")


def transformers_logits(folder: Path) -> Iterator[torch.Tensor]:
    """Yield the logits that transformers computes for each claim with its evidence."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for claim, evidence in zip(CLAIMS, EVIDENCE, strict=True):
        inputs = tokenizer(
            evidence,
            claim,
            truncation="longest_first",
            max_length=64,
            return_token_type_ids=True,
            return_tensors="pt",
        )
        with torch.inference_mode():
            yield model(**inputs).logits[0]


def test_a_classifier_of_the_hub_stands_in(folder: Path) -> None:
    """Its probabilities are those of transformers, in the order of the verifier's labels."""
    verifier = Verifier.open(folder, dtype=torch.float32)
    predicted = verifier.predict(CLAIMS, EVIDENCE)
    assert predicted.relevance is None
    for logits, row in zip(transformers_logits(folder), predicted.labels, strict=True):
        expected = logits.softmax(-1)
        torch.testing.assert_close(row, expected.flip(0))


def test_predictions_do_not_depend_on_order_or_batches(folder: Path) -> None:
    files = read_classifier(folder)
    head = new_relevance_head(files.config.hidden_size)
    verifier = Verifier(replace(files, relevance=head), dtype=torch.float32)
    small = Verifier(read_classifier(folder), dtype=torch.float32, batch_tokens=1)
    forward = verifier.predict(CLAIMS, EVIDENCE)
    again = verifier.predict(CLAIMS, EVIDENCE)
    backward = verifier.predict(CLAIMS[::-1], EVIDENCE[::-1])
    assert torch.equal(forward.labels, again.labels)
    torch.testing.assert_close(forward.labels, backward.labels.flip(0))
    torch.testing.assert_close(forward.labels, small.predict(CLAIMS, EVIDENCE).labels)
    torch.testing.assert_close(forward.labels.sum(1), torch.ones(4))
    assert forward.relevance is not None
    assert forward.relevance.tolist() == [0.5] * 4
    assert verifier.predict([""], [""]).labels.isfinite().all()
    assert verifier.predict([], []).labels.shape == (0, 3)
    rounded = Verifier.open(folder, dtype=torch.bfloat16).predict(CLAIMS, EVIDENCE)
    torch.testing.assert_close(rounded.labels, forward.labels, atol=0.05, rtol=0)


def test_claims_and_evidence_must_pair_up(folder: Path) -> None:
    with pytest.raises(ValueError, match="zip"):
        Verifier.open(folder).predict(["one"], [])


def test_a_relevance_head_is_read_or_refused(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    head = new_relevance_head(16)
    torch.nn.init.ones_(head.weight)
    save_file(head.state_dict(), copied / RELEVANCE_HEAD)
    loaded = read_classifier(copied)
    assert loaded.relevance is not None
    assert torch.equal(loaded.relevance.weight, head.weight)
    (copied / RELEVANCE_HEAD).write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"relevance_head\.safetensors is damaged"):
        Verifier.open(copied)


def test_weights_that_are_not_finite_are_refused(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    state = load_file(copied / "model.safetensors")
    state["classifier.bias"][1] = float("nan")
    save_file(state, copied / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"copied: .*classifier\.bias are not finite"):
        Verifier.open(copied)


def test_bad_directories_are_refused_with_the_file(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none/config\.json: no such file"):
        Verifier.open(tmp_path / "none")
    copied = write_classifier_directory(tmp_path / "copied", ("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ValueError, match=r"config\.json: field 'id2label': the labels 'LABEL_0'"):
        Verifier.open(copied)
    encoder = write_classifier_directory(tmp_path / "encoder", labels=())
    config = encoder / "config.json"
    names = {"0": "neutral", "1": "contradiction", "2": "entailment"}
    config.write_text(json.dumps(json.loads(config.read_text()) | {"id2label": names}))
    with pytest.raises(ValueError, match="it lacks classifier"):
        Verifier.open(encoder)
    config.write_text("{")
    with pytest.raises(ValueError, match=r"config\.json: is not a model configuration"):
        Verifier.open(encoder)
    (copied / "model.safetensors").unlink()
    (copied / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(ValueError, match=r"model\.safetensors: no such file"):
        Verifier.open(copied)


@pytest.mark.parametrize("labels", [("LABEL_0",), ("LABEL_0", "LABEL_1"), ("support", "other")])
def test_one_or_two_outputs_stand_in_where_support_is_enough(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    """A single output is the log-odds of support; nothing is said to contradict."""
    folder = write_classifier_directory(tmp_path / "model", labels)
    with pytest.raises(ValueError, match="id2label"):
        Verifier.open(folder)
    predicted = Verifier.open(folder, dtype=torch.float32, binary=True).predict(CLAIMS, EVIDENCE)
    for logits, row in zip(transformers_logits(folder), predicted.labels, strict=True):
        if len(labels) == 1:
            support = torch.sigmoid(logits[0])
        else:
            support = logits.softmax(-1)[0 if "support" in labels else 1]
        expected = torch.stack([support, 1 - support, torch.tensor(0.0)])
        torch.testing.assert_close(row, expected)
