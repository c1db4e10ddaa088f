"""The program that calibrates verifiers, with a tiny classifier of the hub's layout."""

import pytest
from click.testing import CliRunner

from proofs.verifier import CALIBRATION, Calibration, Scale, read_calibration
from tests.proofs.verifier.tiny_classifier import TEXT, write_classifier_directory
from training.calibration import main
from training.data.examples import Example
from training.data.records import write_records

CITIES = ("Rome", "Paris", "Oslo", "Bern")


def calibrate(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path):
    return write_classifier_directory(tmp_path / "model")


@pytest.fixture
def examples(tmp_path):
    labels = ("entailment", "neutral", "contradiction", "not_entailment")
    path = tmp_path / "examples.jsonl"
    write_records(
        path,
        [
            Example(f"{city} is a city.", (("", f"{TEXT[at:]} {city}"),), label, source)
            for city in CITIES
            for at, label in enumerate(labels)
            for source in ("towns", "rivers")
        ],
    )
    return path


def test_the_temperature_is_written_and_read(folder, examples):
    done = calibrate("--verifier", folder, "--examples", examples)
    assert done.exit_code == 0, done.output
    fitted = read_calibration(folder)
    assert fitted.bare != Scale()
    assert fitted.sentence == fitted.document == fitted.documents == Scale()
    assert f"{folder}: calibrated" in done.output
    assert "| rivers | 16 | " in done.output
    assert "| mean of the sources | 32 | " in done.output
    assert calibrate("--verifier", folder, "--examples", examples).exit_code == 0
    again = read_calibration(folder).bare
    assert again.temperature == pytest.approx(fitted.bare.temperature, rel=1e-2)
    assert again.neutral == pytest.approx(fitted.bare.neutral, abs=1e-2)


def test_fewer_open_claims_make_neutral_less_probable(folder, examples):
    found = []
    for share in ("0.1", "0.6"):
        done = calibrate("--verifier", folder, "--examples", examples, "--open", share)
        assert done.exit_code == 0, done.output
        found.append(read_calibration(folder).bare.neutral)
    assert found[0] < found[1] - 1
    # The share of a kind of evidence goes before that of all, in any order.
    shares = ("--open", "bare=0.1", "--open", "0.6")
    assert calibrate("--verifier", folder, "--examples", examples, *shares).exit_code == 0
    assert read_calibration(folder).bare.neutral == pytest.approx(found[0], abs=1e-2)


@pytest.mark.parametrize("share", ["1", "much", "page=0.5", "bare="])
def test_a_bad_share_is_refused(folder, examples, share):
    done = calibrate("--verifier", folder, "--examples", examples, "--open", share)
    assert done.exit_code == 1
    assert f"--open {share}: is not a share between 0 and 1" in done.output
    assert read_calibration(folder) == Calibration()


def test_bad_input_is_named_and_nothing_is_written(folder, examples, tmp_path):
    empty, bare = tmp_path / "empty.jsonl", tmp_path / "bare"
    empty.write_text("")
    bare.mkdir()
    for given, says in [
        (("--verifier", bare, "--examples", examples), "--verifier: "),
        (("--verifier", bare, "--examples", examples), "holds no verifier"),
        (("--verifier", folder, "--examples", empty), "empty.jsonl: no examples"),
    ]:
        done = calibrate(*given)
        assert done.exit_code == 1, done.output
        assert says in done.output
    assert not (folder / CALIBRATION).exists()
