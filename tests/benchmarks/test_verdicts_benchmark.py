"""The table of verdicts, with and without a verifier."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from click.testing import CliRunner

from benchmarks.verdicts import main
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def test_each_source_has_a_row_without_and_with_a_verifier(tmp_path: Path) -> None:
    verifier = write_classifier_directory(tmp_path / "model")
    pairs = tmp_path / "pairs.jsonl"
    pair = {"claim": "Rome is a city.", "evidence": "Rome is a city.", "source": "own"}
    rest = {"weight": 1.0, "relevance": None}
    pairs.write_text(
        "".join(json.dumps({**pair, "label": n, **rest}) + "\n" for n in ("entailment", "neutral"))
    )
    given = ["--claims", str(DEMO), "--pairs", str(pairs), "--limit", "6"]
    done = CliRunner().invoke(main, [*given, "--verifier", str(verifier)])
    assert done.exit_code == 0, done.output
    rows = [line.split("|")[1:] for line in done.output.splitlines()[2:]]
    assert [row[0].strip() for row in rows] == 2 * ["evidence withheld", "gold evidence", "own"]
    assert [row[1].strip() == "none" for row in rows] == [True] * 3 + [False] * 3
    assert [int(row[2]) for row in rows] == [6, 6, 2] * 2
    # The claim equals its evidence, so the proof alone supports it, which is right for one pair.
    assert float(rows[2][3]) == 0.5
