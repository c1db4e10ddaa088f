"""The export of a reader: the same readings without torch, and errors."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from admiral.models.verifiers import open_verifier
from proofs.reader.inputs import ReaderEncoder
from proofs.reader.model import new_reader
from proofs.reader.reading import ProofReader, open_reader
from proofs.verifier import Scale, VerifierError
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.test_export_verifier import CLAIMS, EVIDENCE
from training.export_reader import TorchReader, main, trained_reader
from training.reading.adapters import with_adapters, write_reader


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    base = write_classifier_directory(folder / "base", labels=(), width=64)
    reader, _ = new_reader(base, 1)
    with_adapters(reader, 2)
    with torch.no_grad():
        for name, value in reader.named_parameters():
            if "lora_B" in name:  # without effect at first
                value.normal_(std=0.1)
    trained = folder / "reader"
    trained.mkdir()
    write_reader(trained, reader, "0" * 64, 2, torch.float32)
    (trained / "calibration.json").write_text('{"document": {"temperature": 2.0}}')
    (trained / "README.md").write_text(
        "---\nlibrary_name: y\ntags: [x]\n---\n\n# reader\n\nText.\n"
    )
    done = CliRunner().invoke(main, [str(trained), str(folder / "out"), "--base", str(base)])
    assert done.exit_code == 0, done.output
    return base, trained, folder / "out"


def test_the_export_reads_what_the_reader_reads(folders):
    base, trained, out = folders
    reader, tokenizer = trained_reader(trained, base), new_reader(base, 1)[1]
    own = ProofReader(TorchReader(reader), ReaderEncoder.of(tokenizer, 64))
    exported = open_verifier(out)
    assert exported.calibration.document == Scale(temperature=2.0)
    readings = exported.read(CLAIMS, EVIDENCE)
    for one, other in zip(own.read(CLAIMS, EVIDENCE), readings, strict=True):
        np.testing.assert_allclose(one.labels, other.labels, atol=0.02)
        np.testing.assert_allclose(one.sentences, other.sentences, atol=0.02)
        assert one.spans == other.spans
    alone = exported.read(CLAIMS[1:2], EVIDENCE[1:2])[0]
    np.testing.assert_array_equal(alone.labels, readings[1].labels)


def test_the_files_run_without_torch(folders):
    out = folders[2]
    names = sorted(path.name for path in out.iterdir())
    model = ["reader.onnx", "tokenizer.json", "verifier.json", "words.bin"]
    assert names == ["README.md", "SHA256SUMS", *model]
    card = (out / "README.md").read_text()
    assert card.startswith("---\ntags: [x]\n---\n\n# out\n")
    check = (
        "import sys; from pathlib import Path; "
        "from proofs.reader.reading import open_reader; "
        f"reader = open_reader(Path({str(out)!r})); "
        "reading = reader.read(['Rome'], [[('', 'Rome is a city.')]])[0]; "
        "print(reading.labels.shape, {'torch', 'transformers'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("(3,) set()\n", "")


def test_a_damaged_export_is_named(folders, tmp_path):
    copied = shutil.copytree(folders[2], tmp_path / "copied")
    (copied / "reader.onnx").write_bytes(b"x")
    with pytest.raises(VerifierError, match=r"reader\.onnx: is not an ONNX model .* restore it"):
        open_reader(copied)
    (copied / "verifier.json").unlink()
    with pytest.raises(VerifierError, match=r"verifier\.json: no such file; write the directory"):
        open_reader(copied)


def test_a_mean_of_one_is_that_one(folders, tmp_path):
    base, trained, out = folders
    arguments = [str(trained), str(trained), str(tmp_path / "mean"), "--base", str(base)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    means = open_reader(tmp_path / "mean").read(CLAIMS, EVIDENCE)
    for one, other in zip(means, open_reader(out).read(CLAIMS, EVIDENCE), strict=True):
        np.testing.assert_allclose(one.labels, other.labels, atol=1e-5)
