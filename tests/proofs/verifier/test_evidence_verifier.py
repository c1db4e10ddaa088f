"""The verifier at work: long evidence, what is unread, and independence of other claims."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoTokenizer

from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import (
    HEADS,
    TorchBackend,
    new_model,
    open_checkpoint,
    pad_inputs,
    read_model,
    write_model,
)
from proofs.verifier.evidence_verifier import (
    MAX_CLAIM_TOKENS,
    MAX_SENTENCE_TOKENS,
    EvidenceEncoder,
    EvidenceVerifier,
)
from proofs.verifier.windows import WindowReader
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

CLAIM = "Rome is a city."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    start = write_classifier_directory(tmp_path_factory.mktemp("verifier") / "start", labels=())
    model, tokenizer = new_model(start, 1)
    out = start.with_name("verifier")
    out.mkdir()
    write_model(out, model, tokenizer, torch.float32, 64)
    return out


@pytest.fixture(scope="module")
def loaded(folder):
    return read_model(folder)


@pytest.fixture(scope="module")
def verifier(loaded):
    model, tokenizer = loaded
    return EvidenceVerifier(TorchBackend(model), EvidenceEncoder.of(tokenizer, 64))


def ends_of(item):
    """Return the end of each sentence of an input."""
    return [*item.markers, item.claim - 1][1:]


class CountingBackend:
    """Decides a sentence by its length: the more tokens, the less neutral; records its inputs."""

    def __init__(self):
        self.inputs = []

    def __call__(self, item):
        self.inputs.append(item)
        length = len(item.ids)
        sentences = np.zeros((length, 3))
        for begin, end in zip(item.markers, ends_of(item), strict=True):
            sentences[begin] = [end - begin, 0, 0]
        whole = np.array([len(item.markers), 0.0, 0.0])
        return whole, sentences, np.zeros((length, 3))


def counting(tokenizer, length=64):
    backend = CountingBackend()
    return EvidenceVerifier(backend, EvidenceEncoder.of(tokenizer, length)), backend


def sentences(*lengths):
    return [("", " ".join(["Rome"] * length)) for length in lengths]


def test_short_evidence_is_read_at_once(loaded):
    verifier, backend = counting(loaded[1])
    (reading,) = verifier.read([CLAIM], [sentences(1, 2, 3)])
    assert len(backend.inputs) == 1
    assert reading.labels.argmax() == 0
    assert np.all(np.diff(reading.sentences[:, 0]) > 0)
    assert (reading.unread, reading.claim_cut) == ((), False)
    text = [CLAIM[begin:end] for begin, end in reading.offsets]
    assert "".join(text) == CLAIM.replace(" ", "")
    assert reading.tokens.shape == (len(text), 3)


def test_of_long_evidence_the_best_sentences_are_read_together(loaded):
    verifier, backend = counting(loaded[1])
    lengths = [1, 5, 1, 6, 1, 7, 1, 1, 8, 1, 9, 1, 1, 4]
    (reading,) = verifier.read([CLAIM], [sentences(*lengths)])
    assert [len(item.markers) for item in backend.inputs] == [6, 6, 2, 6]
    together = backend.inputs[-1]
    read = [e - b - 1 for b, e in zip(together.markers, ends_of(together), strict=True)]
    # In the order of the evidence.
    assert read == [5, 6, 7, 8, 9, 4]
    assert reading.sentences.shape == (len(lengths), 3)
    assert np.argsort(reading.sentences[:, 0])[-1] == lengths.index(9)
    assert len(backend.inputs[-1].markers) == WindowReader.max_sentences


def test_what_is_not_read_is_said(loaded):
    verifier, _ = counting(loaded[1], 24)
    (reading,) = verifier.read([CLAIM], [sentences(4, 20, 3)])
    assert reading.unread == (1,)
    assert np.all(reading.sentences[:, 0] > 0.9)
    (reading,) = verifier.read(["Rome " * 40], [sentences(1)])
    assert reading.claim_cut


def test_without_evidence_nothing_is_known(loaded):
    verifier, _ = counting(loaded[1])
    assert verifier.read([], []) == []
    for claim, evidence in ((CLAIM, []), (" ", sentences(2, 1))):
        (reading,) = verifier.read([claim], [evidence])
        np.testing.assert_array_equal(reading.labels, [0, 1, 0])
        np.testing.assert_array_equal(reading.sentences, np.tile([0, 1, 0], (len(evidence), 1)))


def test_a_checkpoint_is_opened_with_its_calibration(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "copied")
    (copied / "calibration.json").write_text('{"documents": {"temperature": 2.0}}')
    evidence = [("A", "Rome"), ("B", "Oslo")]
    labels = [
        open_checkpoint(path).read([CLAIM], [evidence])[0].labels for path in (folder, copied)
    ]
    np.testing.assert_allclose(labels[1] ** 2 / (labels[1] ** 2).sum(), labels[0], rtol=1e-6)


TEXTS = st.text(alphabet="Rome is a city.\ud800é12 ", max_size=40)
SENTENCES = st.lists(st.tuples(st.sampled_from(("", "Rome", "Oslo is")), TEXTS), max_size=4)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = write_classifier_directory(tmp_path_factory.mktemp("input") / "model")
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@dataclass
class Oracle:
    """Builds an input token by token."""

    tokenizer: Any
    length: int

    def words(self, text):
        clean = "".join("?" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
        ids = self.tokenizer(clean, add_special_tokens=False)["input_ids"]
        return ids

    def encode(self, claim, sentences):
        """Return the ids, the number of sentences that are read, and whether something is cut."""
        own = self.words(claim)
        kept = own[: min(MAX_CLAIM_TOKENS, self.length - 3)]
        ids, read, cut = [self.tokenizer.cls_token_id], 0, kept != own
        end = [self.tokenizer.sep_token_id, *kept, self.tokenizer.sep_token_id]
        for title, text in sentences:
            words = self.words(f"{title}: {text}" if title else text)
            room = self.length - len(ids) - len(end) - 1
            if room < 0 or (words and room < 1):
                return ids + end, read, True
            part = words[: min(room, MAX_SENTENCE_TOKENS)] if words else []
            cut = cut or part != words
            ids += [self.tokenizer.mask_token_id, *part]
            read += 1
        return ids + end, read, cut


@given(TEXTS, SENTENCES, st.integers(16, 90))
def test_inputs_are_those_of_the_oracle(tokenizer, claim, sentences, length):
    (one,) = EvidenceEncoder.of(tokenizer, length).encode([claim], [sentences])
    ids, read, cut = Oracle(tokenizer, length).encode(claim, sentences)
    assert (one.ids, len(one.markers), one.cut) == (ids, read, cut)
    check_positions(one, tokenizer, claim)


def check_positions(one, tokenizer, claim):
    mask, separator = tokenizer.mask_token_id, tokenizer.sep_token_id
    assert one.markers == [at for at, token in enumerate(one.ids) if token == mask]
    assert one.ids[one.claim - 1] == one.ids[-1] == separator
    assert one.segments == [0] * one.claim + [1] * (len(one.ids) - one.claim)
    assert len(one.offsets) == len(one.ids) - one.claim - 1
    for (begin, end), token in zip(one.offsets, one.ids[one.claim : -1], strict=True):
        word = tokenizer.convert_ids_to_tokens(token).removeprefix("##")
        if word != "[UNK]":  # accents are removed
            assert claim[begin:end].lower().replace("é", "e").replace("\ud800", "?") == word


def test_the_marker_is_an_unused_token_where_there_is_one(tmp_path):
    folder = write_classifier_directory(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.add_tokens(["[unused1]"], special_tokens=True)
    (one,) = EvidenceEncoder.of(tokenizer, 32).encode(["Rome"], [[("", "Oslo")]])
    assert one.ids[one.markers[0]] == tokenizer.convert_tokens_to_ids("[unused1]")


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
