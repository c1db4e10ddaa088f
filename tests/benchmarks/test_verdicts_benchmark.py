"""The benchmark of verdicts, on the pairs that are its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.verdicts import SETS, items, main
from tests.proofs.verifier.tiny_classifier import write_classifier_directory


def test_pairs_are_complete() -> None:
    """Of each pair, one claim is entailed and the other one is not, by the same evidence."""
    own = list(items("own", Path(), None))  # type: ignore[arg-type]
    assert len(own) == 60
    groups = {item.group for item in own}
    for group in groups:
        first, second = (item for item in own if item.group == group)
        assert "entailment" in {first.label, second.label}
        assert first.label != second.label
        assert sorted(first.evidence) == sorted(second.evidence)


@pytest.mark.parametrize("options", [(), ("--no-exact",), ("--judge",)])
def test_a_row_of_each_verifier(user_cache: None, tmp_path: Path, options: tuple[str, ...]) -> None:
    verifier = write_classifier_directory(tmp_path / "tiny")
    given = ["own", "--data", str(tmp_path), "--verifier", str(verifier), "--limit", "6", *options]
    done = CliRunner().invoke(main, [*given, "--errors", "1"])
    assert done.exit_code == 0, done.output
    (row,) = [line for line in done.output.splitlines() if line.startswith("| own |")]
    assert row.split("|")[3].strip() == "6"
    assert "own" in SETS
