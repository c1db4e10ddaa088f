"""Verifiers of every kind are opened by their names, or refused in plain words."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from admiral.models.verifiers import open_verifier
from proofs.verifier import VerifierError
from proofs.verifier.classifier_verifier import ClassifierVerifier, new_model, write_model
from proofs.verifier.evidence_verifier import EvidenceVerifier
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

MODULE = """
import numpy as np
from proofs.verifier import Reading

class Good:
    def read(self, claims, evidences):
        neutral = np.array([0.0, 1, 0])
        return [Reading(np.eye(3)[0], np.tile(neutral, (len(e), 1))) for e in evidences]

class Needy:
    def __init__(self, path):
        pass

class Mute:
    pass

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_verifiers.py").write_text(MODULE)
    (tmp_path / "broken_verifiers.py").write_text("import no_such_package_17")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_verifiers", raising=False)
    return "own_verifiers"


def test_directories_are_told_apart(tmp_path):
    classifier = write_classifier_directory(tmp_path / "classifier")
    assert isinstance(open_verifier(classifier), ClassifierVerifier)
    model, tokenizer = new_model(write_classifier_directory(tmp_path / "start", labels=()), 1)
    (tmp_path / "own").mkdir()
    write_model(tmp_path / "own", model, tokenizer, torch.float32, 64)
    assert isinstance(open_verifier(str(tmp_path / "own")), EvidenceVerifier)
    # The export comes first.
    (tmp_path / "own" / "verifier.onnx").write_bytes(b"")
    with pytest.raises(VerifierError, match=r"verifier\.json: no such file"):
        open_verifier(tmp_path / "own")


def test_directories_without_a_verifier_are_named(tmp_path):
    with pytest.raises(VerifierError, match=r"holds no verifier; expected verifier\.onnx, or"):
        open_verifier(tmp_path)
    with pytest.raises(VerifierError, match="none': no such directory; give that of a verifier"):
        open_verifier(tmp_path / "none")
    folder = write_classifier_directory(tmp_path / "model")
    (folder / "calibration.json").write_text("{")
    with pytest.raises(VerifierError, match=r"calibration\.json: Invalid JSON"):
        open_verifier(folder)


def test_a_class_of_the_user_is_a_verifier(module):
    verifier = open_verifier(f"{module}:Good")
    (reading,) = verifier.read(["Rome"], [[("", "Oslo")]])
    np.testing.assert_array_equal(reading.labels, [1, 0, 0])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module_17:A", "cannot be imported and called .*no_such_module_17"),
        ("broken_verifiers:A", r"cannot be imported .*no_such_package_17.*; mend it"),
        ("own_verifiers:Missing", "cannot be imported .* has no attribute 'Missing'"),
        ("own_verifiers:number", "cannot be imported and called .*'int' object"),
        ("own_verifiers:Needy", r"cannot be imported and called .*path"),
        ("own_verifiers:Mute", "Mute': has no method read; write one as"),
        ("own_verifiers", "no such directory; .* module:Class"),
        ("own_verifiers:", "no such directory"),
        ("", "no such directory|holds no verifier"),
    ],
)
def test_names_that_are_no_class_are_told(module, name, says):
    with pytest.raises(VerifierError, match=says):
        open_verifier(name or f"{module} x")


def test_the_import_loads_no_framework():
    check = (
        "import sys; import admiral.models.verifiers; "
        "print({'torch', 'transformers', 'openai', 'onnxruntime'} & {*sys.modules})"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", check], cwd=root, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
