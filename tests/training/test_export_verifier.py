"""The export of a verifier: the same readings, alone or after others, and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from proofs.verifier.evidence_input import EvidenceEncoder
from proofs.verifier.evidence_model import new_model, read_model, write_model
from proofs.verifier.evidence_verifier import (
    ONNX_FILE,
    EvidenceVerifier,
    OnnxBackend,
    TorchBackend,
)
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.export_verifier import main

CLAIMS = ["Rome is a city.", "Paris is the capital of France.", "Oslo"]
EVIDENCE = [
    [("Rome", "Rome is not a city in Italy.")],
    [("", "Bern lies on the Aare."), ("France", "Paris is the capital."), ("", "12 rivers")],
    [],
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("export")
    start = write_classifier_directory(folder / "start", labels=())
    model, tokenizer = new_model(start, 1)
    (folder / "verifier").mkdir()
    write_model(folder / "verifier", model, tokenizer, torch.float32, 64)
    arguments = [str(folder / "verifier"), str(folder / "out")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "differ from the trained ones by at most 0.0" in done.output
    return folder / "verifier", folder / "out"


def test_the_export_reads_what_the_model_reads(folders: tuple[Path, Path]) -> None:
    model, tokenizer = read_model(folders[0])
    encoder = EvidenceEncoder(tokenizer, 64)
    own = EvidenceVerifier(TorchBackend(model), encoder).read(CLAIMS, EVIDENCE)
    exported = EvidenceVerifier(OnnxBackend(folders[1] / ONNX_FILE, 1), encoder)
    readings = exported.read(CLAIMS, EVIDENCE)
    for one, other in zip(own, readings, strict=True):
        np.testing.assert_allclose(one.labels, other.labels, atol=0.05)
        np.testing.assert_allclose(one.sentences, other.sentences, atol=0.08)
        np.testing.assert_allclose(one.tokens, other.tokens, atol=0.08)
    alone = exported.read(CLAIMS[1:2], EVIDENCE[1:2])[0]
    np.testing.assert_array_equal(alone.labels, readings[1].labels)


def test_other_directories_are_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [str(folders[0].parent / "start"), str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "not a verifier of AdMIRaL" in done.output
    assert not (tmp_path / "out").exists()
