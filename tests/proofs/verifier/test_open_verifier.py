"""Verifiers of every kind are opened by their names, or refused in plain words."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from admiral.models.verifiers import CustomVerifier, open_verifier
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

class Short:
    def read(self, claims, evidences):
        return []

class Other:
    def read(self, claims, evidences):
        return [1] * len(claims)

class Lists:
    def read(self, claims, evidences):
        return [Reading([1.0, 0, 0], np.zeros((len(e), 3))) for e in evidences]

class Shape:
    def read(self, claims, evidences):
        return [Reading(np.array([1.0, 0, 0]), np.zeros((9, 3))) for e in evidences]

class Nan:
    def read(self, claims, evidences):
        return [Reading(np.full(3, np.nan), np.zeros((len(e), 3))) for e in evidences]

class Logits:
    def read(self, claims, evidences):
        return [Reading(np.array([3.0, 0, -1]), np.zeros((len(e), 3))) for e in evidences]

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
    assert isinstance(verifier, CustomVerifier)
    (reading,) = verifier.read(["Rome"], [[("", "Oslo")]])
    np.testing.assert_array_equal(reading.labels, [1, 0, 0])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_such_module_17:A", "the module no_such_module_17 cannot be imported"),
        ("broken_verifiers:A", r"cannot be imported .*no_such_package_17.*; mend it"),
        ("own_verifiers:Missing", "the module own_verifiers has no class Missing"),
        ("own_verifiers:number", "the module own_verifiers has no class number"),
        ("own_verifiers:Needy", r"Needy\(\) cannot be called .*path"),
        ("own_verifiers:Mute", "Mute has no method read; write one as"),
        ("own_verifiers", "no such directory; .* module:Class"),
        ("own_verifiers:", "no such directory"),
        ("", "no such directory|holds no verifier"),
    ],
)
def test_names_that_are_no_class_are_told(module, name, says):
    with pytest.raises(VerifierError, match=says):
        open_verifier(name or f"{module} x")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Short", "returned 0 readings of 1 claims; return one for each"),
        ("Other", r"returned int; return objects of proofs\.verifier\.Reading"),
        ("Lists", r"field 'labels' of a reading: expected an array of the shape \(3,\), found"),
        ("Shape", r"field 'sentences' .* shape \(1, 3\), found \(9, 3\)"),
        ("Nan", "field 'labels' of a reading: expected probabilities of entailment"),
        ("Logits", "field 'labels' of a reading: expected probabilities"),
    ],
)
def test_readings_of_a_class_are_checked(module, name, says):
    with pytest.raises(VerifierError, match=f"verifier '{module}:{name}': .*{says}"):
        open_verifier(f"{module}:{name}").read(["Rome"], [[("", "Oslo")]])


def test_the_import_loads_no_framework():
    check = (
        "import sys; import admiral.models.verifiers; "
        "print({'torch', 'transformers', 'openai', 'onnxruntime'} & {*sys.modules})"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", check], cwd=root, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
