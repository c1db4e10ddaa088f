"""The benchmarks of verdicts and of judges."""

from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.judges import main as judges
from benchmarks.verdicts import SETS, items, main
from tests.proofs.verifier.tiny_classifier import write_classifier_directory


def test_pairs_are_complete():
    """Of each pair, one claim is entailed and the other one is not, by the same evidence."""
    own = list(items("own", Path(), None))
    assert len(own) == 60
    groups = {item.group for item in own}
    for group in groups:
        first, second = (item for item in own if item.group == group)
        assert "entailment" in {first.label, second.label}
        assert first.label != second.label
        assert sorted(first.evidence) == sorted(second.evidence)


@pytest.mark.parametrize("options", [(), ("--no-exact",), ("--judge",)])
def test_a_row_of_each_verifier(user_cache, tmp_path, options):
    verifier = write_classifier_directory(tmp_path / "tiny")
    given = ["own", "--data", str(tmp_path), "--verifier", str(verifier), "--limit", "6", *options]
    done = CliRunner().invoke(main, [*given, "--errors", "1"])
    assert done.exit_code == 0, done.output
    (row,) = [line for line in done.output.splitlines() if line.startswith("| own |")]
    assert row.split("|")[3].strip() == "6"
    assert "own" in SETS


DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


@pytest.mark.slow
def test_settings_reach_the_judges(user_cache, tmp_path):
    """From a probability of almost 0 on, only what cannot be quoted is insufficient."""
    verifier = write_classifier_directory(tmp_path / "model")
    given = [str(DEMO), "--limit", "6", "--judge", "verifier", "--set", f"verifier={verifier}"]
    recalls = []
    for stop_at in ("1", "0.000001"):
        done = CliRunner().invoke(judges, [*given, "--set", f"stop_at={stop_at}"])
        assert done.exit_code == 0, done.output
        (row,) = [line for line in done.output.splitlines() if "| verifier | all | 12 |" in line]
        recalls.append(float(row.split("|")[5]))
    assert recalls[0] == 1.0 > recalls[1]
