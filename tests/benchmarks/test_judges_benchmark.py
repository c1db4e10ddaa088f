"""The table of judges, with and without a verifier."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.judges import main
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


@pytest.mark.slow
def test_settings_reach_the_judges(user_cache: None, tmp_path: Path) -> None:
    """From a probability of almost 0 on, only what cannot be quoted is insufficient."""
    verifier = write_classifier_directory(tmp_path / "model")
    given = [str(DEMO), "--limit", "6", "--judge", "calibrated", "--set", f"verifier={verifier}"]
    recalls = []
    for stop_at in ("1", "0.000001"):
        done = CliRunner().invoke(main, [*given, "--set", f"stop_at={stop_at}"])
        assert done.exit_code == 0, done.output
        (row,) = [line for line in done.output.splitlines() if "| calibrated | all | 12 |" in line]
        recalls.append(float(row.split("|")[5]))
    assert recalls[0] == 1.0 > recalls[1]
