"""The export of a verifier: the same readings, alone or after others, and errors."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from proofs.verifier import VerifierError
from proofs.verifier.classifier_verifier import new_model, open_checkpoint, read_model, write_model
from proofs.verifier.evidence_verifier import open_export
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.export_verifier import main

CLAIMS = ["Rome is a city.", "Paris is the capital of France.", "Oslo"]
EVIDENCE = [
    [("Rome", "Rome is not a city in Italy.")],
    [("", "Bern lies on the Aare."), ("France", "Paris is the capital."), ("", "12 rivers")],
    [],
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    start = write_classifier_directory(folder / "start", labels=())
    model, tokenizer = new_model(start, 1)
    (folder / "verifier").mkdir()
    write_model(folder / "verifier", model, tokenizer, torch.float32, 64)
    (folder / "verifier" / "calibration.json").write_text('{"document": {"temperature": 2.0}}')
    (folder / "verifier" / "README.md").write_text(
        "---\nlibrary_name: y\ntags: [x]\n---\n\n# verifier\n\nText.\n"
    )
    arguments = [str(folder / "verifier"), str(folder / "out")]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return folder / "verifier", folder / "out"


def test_the_export_reads_what_the_model_reads(folders):
    own = open_checkpoint(folders[0]).read(CLAIMS, EVIDENCE)
    exported = open_export(folders[1])
    readings = exported.read(CLAIMS, EVIDENCE)
    for one, other in zip(own, readings, strict=True):
        np.testing.assert_allclose(one.labels, other.labels, atol=0.05)
        np.testing.assert_allclose(one.sentences, other.sentences, atol=0.08)
        np.testing.assert_allclose(one.tokens, other.tokens, atol=0.08)
    alone = exported.read(CLAIMS[1:2], EVIDENCE[1:2])[0]
    np.testing.assert_array_equal(alone.labels, readings[1].labels)


def test_the_files_are_those_that_run_without_torch(folders):
    names = sorted(path.name for path in folders[1].iterdir())
    assert names == ["README.md", "SHA256SUMS", "tokenizer.json", "verifier.json", "verifier.onnx"]
    assert json.loads((folders[1] / "verifier.json").read_text()) == {
        "max_length": 64,
        "special_tokens": {"start": 2, "separator": 3, "pad": 0, "marker": 4},
        "calibration": {
            "bare": {"temperature": 1.0, "neutral": 0.0},
            "sentence": {"temperature": 1.0, "neutral": 0.0},
            "document": {"temperature": 2.0, "neutral": 0.0},
            "documents": {"temperature": 1.0, "neutral": 0.0},
        },
    }
    card = (folders[1] / "README.md").read_text()
    assert card.startswith("---\ntags: [x]\n---\n\n# out\n")
    assert "\n## verifier\n" in card


def test_reading_imports_neither_torch_nor_transformers(folders):
    check = (
        "import sys; from pathlib import Path; "
        "from proofs.verifier.evidence_verifier import open_export; "
        f"verifier = open_export(Path({str(folders[1])!r})); "
        "reading = verifier.read(['Rome'], [[('', 'Rome is a city.')]])[0]; "
        "print(reading.labels.shape, {'torch', 'transformers'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("(3,) set()\n", "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"max_length": "64"}, r"verifier\.json: field 'max_length': Input should be a valid int"),
        ({"special_tokens": {"start": 2}}, r"field 'special_tokens\.separator': Field required"),
        (
            {"special_tokens": {"start": 2, "separator": 3, "pad": 0, "marker": 10**6}},
            "field 'special_tokens': the tokenizer has fewer tokens",
        ),
        ({"calibration": 1}, "field 'calibration': Input should be an object"),
        ({"else": 1}, "field 'else': Unexpected"),
    ],
)
def test_bad_settings_are_named(folders, tmp_path, change, says):
    copied = shutil.copytree(folders[1], tmp_path / "copied")
    record = json.loads((copied / "verifier.json").read_text()) | change
    (copied / "verifier.json").write_text(json.dumps(record))
    with pytest.raises(VerifierError, match=f"{says}.*write the directory anew"):
        open_export(copied)


def test_other_directories_are_refused(folders, tmp_path):
    done = CliRunner().invoke(main, [str(folders[0].parent / "start"), str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "not a verifier of AdMIRaL" in done.output
    assert not (tmp_path / "out").exists()


def test_the_mean_of_several_is_exported(folders, tmp_path):
    first, second = folders[0], tmp_path / "second"
    model, tokenizer = read_model(first)
    with torch.no_grad():
        for values in model.parameters():
            values.copy_(-values)
    second.mkdir()
    write_model(second, model, tokenizer, torch.float32, 64)
    # One third of the first: its weights twice, and their negatives once.
    mean = shutil.copytree(folders[1], tmp_path / "mean")  # an earlier export is replaced
    done = CliRunner().invoke(main, [str(first), str(second), str(mean), "--weights", "2,1"])
    assert done.exit_code == 0, done.output
    with torch.no_grad():
        for values in model.parameters():
            values.copy_(-values / 3)
    third = tmp_path / "third"
    third.mkdir()
    write_model(third, model, tokenizer, torch.float32, 64)
    (third / "calibration.json").write_text((first / "calibration.json").read_text())
    expected = open_checkpoint(third).read(CLAIMS, EVIDENCE)
    for a, b in zip(open_export(mean).read(CLAIMS, EVIDENCE), expected, strict=True):
        np.testing.assert_allclose(a.labels, b.labels, atol=0.05)


@pytest.mark.parametrize("weights", ["1", "1,0", "1,x", "1,1,1", "1,inf"])
def test_bad_weights_are_refused(folders, tmp_path, weights):
    names = [str(folders[0])] * 2
    done = CliRunner().invoke(main, [*names, str(tmp_path / "out"), "--weights", weights])
    assert done.exit_code == 1
    assert f"--weights {weights}: give a positive number for each of the 2 verifiers" in done.output
    assert not (tmp_path / "out").exists()


def test_nothing_but_an_export_is_replaced(folders):
    done = CliRunner().invoke(main, [str(folders[0]), str(folders[0])])
    assert done.exit_code == 1
    assert (folders[0] / "config.json").is_file()
