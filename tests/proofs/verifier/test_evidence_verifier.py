"""The verifier at work: long evidence, what is unread, and independence of other claims."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from proofs.verifier.evidence_input import EvidenceEncoder, EvidenceInput
from proofs.verifier.evidence_model import EvidenceModel, new_model, read_model, write_model
from proofs.verifier.evidence_verifier import (
    MAX_SENTENCES,
    EvidenceVerifier,
    Scores,
)
from proofs.verifier.label_scales import Calibration, Scale
from proofs.verifier.reading import Reading
from proofs.verifier.torch_backend import TorchBackend, open_checkpoint
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

CLAIM = "Rome is a city."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    start = write_classifier_directory(tmp_path_factory.mktemp("verifier") / "start", labels=())
    model, tokenizer = new_model(start, 1)
    out = start.with_name("verifier")
    out.mkdir()
    write_model(out, model, tokenizer, torch.float32, 64)
    return out


@pytest.fixture(scope="module")
def loaded(folder: Path) -> tuple[EvidenceModel, Any]:
    return read_model(folder)


@pytest.fixture(scope="module")
def verifier(loaded: tuple[EvidenceModel, Any]) -> EvidenceVerifier:
    model, tokenizer = loaded
    return EvidenceVerifier(TorchBackend(model), EvidenceEncoder.of(tokenizer, 64))


def ends_of(item: EvidenceInput) -> list[int]:
    """Return the end of each sentence of an input."""
    return [*item.markers, item.claim - 1][1:]


class CountingBackend:
    """Decides a sentence by its length: the more tokens, the less neutral; records its inputs."""

    def __init__(self) -> None:
        self.inputs: list[EvidenceInput] = []

    def __call__(self, item: EvidenceInput) -> Scores:
        self.inputs.append(item)
        length = len(item.ids)
        sentences = np.zeros((length, 3))
        for begin, end in zip(item.markers, ends_of(item), strict=True):
            sentences[begin] = [end - begin, 0, 0]
        whole = np.array([len(item.markers), 0.0, 0.0])
        return whole, sentences, np.zeros((length, 3))


def counting(tokenizer: Any, length: int = 64) -> tuple[EvidenceVerifier, CountingBackend]:
    backend = CountingBackend()
    return EvidenceVerifier(backend, EvidenceEncoder.of(tokenizer, length)), backend


def sentences(*lengths: int) -> list[tuple[str, str]]:
    return [("", " ".join(["Rome"] * length)) for length in lengths]


def test_short_evidence_is_read_at_once(loaded: tuple[EvidenceModel, Any]) -> None:
    verifier, backend = counting(loaded[1])
    (reading,) = verifier.read([CLAIM], [sentences(1, 2, 3)])
    assert len(backend.inputs) == 1
    assert reading.labels.argmax() == 0
    assert np.all(np.diff(reading.sentences[:, 0]) > 0)
    assert (reading.unread, reading.claim_cut) == ((), False)
    text = [CLAIM[begin:end] for begin, end in reading.offsets]
    assert "".join(text) == CLAIM.replace(" ", "")
    assert reading.tokens.shape == (len(text), 3)


def test_of_long_evidence_the_best_sentences_are_read_together(
    loaded: tuple[EvidenceModel, Any],
) -> None:
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
    assert len(backend.inputs[-1].markers) == MAX_SENTENCES


def test_what_is_not_read_is_said(loaded: tuple[EvidenceModel, Any]) -> None:
    verifier, _ = counting(loaded[1], 24)
    (reading,) = verifier.read([CLAIM], [sentences(4, 20, 3)])
    assert reading.unread == (1,)
    assert np.all(reading.sentences[:, 0] > 0.9)
    (reading,) = verifier.read(["Rome " * 40], [sentences(1)])
    assert reading.claim_cut


def test_without_evidence_nothing_is_known(loaded: tuple[EvidenceModel, Any]) -> None:
    verifier, _ = counting(loaded[1])
    assert verifier.read([], []) == []
    for claim, evidence in ((CLAIM, []), (" ", sentences(2, 1))):
        (reading,) = verifier.read([claim], [evidence])
        np.testing.assert_array_equal(reading.labels, [0, 1, 0])
        np.testing.assert_array_equal(reading.sentences, np.tile([0, 1, 0], (len(evidence), 1)))


def same(one: Reading, other: Reading) -> bool:
    pairs: Sequence[tuple[np.ndarray, np.ndarray]] = [
        (one.labels, other.labels),
        (one.sentences, other.sentences),
        (one.tokens, other.tokens),
    ]
    return all(np.array_equal(first, second) for first, second in pairs)


def test_a_reading_depends_on_its_claim_alone(verifier: EvidenceVerifier) -> None:
    claims = [CLAIM, "Oslo", "Paris is the capital of France."]
    evidences = [sentences(2, 5), sentences(1), sentences(*[3] * 9)]
    together = verifier.read(claims, evidences)
    alone = [verifier.read([c], [e])[0] for c, e in zip(claims, evidences, strict=True)]
    assert all(map(same, together, alone))
    for reading in together:
        np.testing.assert_allclose(reading.labels.sum(), 1)
        np.testing.assert_allclose(reading.sentences.sum(1), 1)


def test_the_temperature_divides_the_logits(loaded: tuple[EvidenceModel, Any]) -> None:
    backend = TorchBackend(loaded[0])
    encoder = EvidenceEncoder.of(loaded[1], 64)
    cold = EvidenceVerifier(backend, encoder).read([CLAIM], [sentences(2)])[0].labels
    halved = EvidenceVerifier(
        backend, encoder, Calibration(sentence=Scale(2.0), document=Scale(9.0))
    )
    warm = halved.read([CLAIM], [sentences(2)])[0].labels
    np.testing.assert_allclose(warm**2 / (warm**2).sum(), cold, rtol=1e-6)


def test_long_sentences_are_read_in_smaller_windows(loaded: tuple[EvidenceModel, Any]) -> None:
    verifier, backend = counting(loaded[1], 32)
    lengths = [8, 9, 10, 2, 7]
    (reading,) = verifier.read([CLAIM], [sentences(*lengths)])
    *windows, together = backend.inputs
    assert [len(item.markers) for item in windows] == [3, 3]  # the third one of the first is cut
    # With a third one, they would not fit.
    assert [e - b - 1 for b, e in zip(together.markers, ends_of(together), strict=True)] == [9, 10]
    assert reading.unread == ()
    np.testing.assert_array_equal(reading.sentences[:, 0].argsort(), np.argsort(lengths))


@pytest.mark.parametrize("claim", [CLAIM * 700, "ローマは都市です。", "Рим — это город.", "\ud800"])
def test_long_claims_other_scripts_and_many_sentences(
    verifier: EvidenceVerifier, claim: str
) -> None:
    evidence = [(f"title {n % 3}", "روما مدينة " * (n % 9)) for n in range(200)]
    (reading,) = verifier.read([claim], [evidence])
    assert reading.sentences.shape == (200, 3)
    assert reading.claim_cut == (len(claim) > 1000)
    np.testing.assert_allclose(reading.sentences.sum(1), 1)
    np.testing.assert_allclose(reading.labels.sum(), 1)


def test_a_checkpoint_is_opened_with_its_calibration(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "copied")
    (copied / "calibration.json").write_text('{"documents": {"temperature": 2.0}}')
    evidence = [("A", "Rome"), ("B", "Oslo")]
    labels = [
        open_checkpoint(path).read([CLAIM], [evidence])[0].labels for path in (folder, copied)
    ]
    np.testing.assert_allclose(labels[1] ** 2 / (labels[1] ** 2).sum(), labels[0], rtol=1e-6)
