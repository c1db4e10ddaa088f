"""The table of verdicts, with and without a verifier."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from benchmarks.verdicts import main, reliability
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from training.data.examples import Example, write_examples

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


def test_each_source_has_a_row_without_and_with_a_verifier(tmp_path: Path) -> None:
    verifier = write_classifier_directory(tmp_path / "model")
    labelled = tmp_path / "examples.jsonl"
    text = "Rome is a city."
    own = [Example(text, (("", text),), label, "own") for label in ("entailment", "neutral")]
    write_examples(labelled, own)
    plot = tmp_path / "plot.svg"
    given = [
        "--claims",
        str(DEMO),
        "--examples",
        str(labelled),
        "--limit",
        "6",
        "--plot",
        str(plot),
    ]
    done = CliRunner().invoke(main, [*given, "--verifier", str(verifier)])
    assert done.exit_code == 0, done.output
    rows = [line.split("|")[1:] for line in done.output.splitlines()[2:]]
    assert [row[0].strip() for row in rows] == 2 * ["evidence withheld", "gold evidence", "own"]
    assert [row[1].strip() == "none" for row in rows] == [True] * 3 + [False] * 3
    assert [int(row[2]) for row in rows] == [6, 6, 2] * 2
    # The claim equals its evidence, so the proof alone supports it, which is right for one example.
    assert float(rows[2][3]) == 0.5
    root = ElementTree.parse(plot).getroot()
    assert {"own", "gold evidence", "calibrated"} <= set(root.itertext())


def test_bins_hold_verdicts_of_similar_confidence() -> None:
    confidence = [0.9] * 15 + [0.4] * 15
    points = reliability(confidence, [True] * 12 + [False] * 3 + [True] * 6 + [False] * 9)
    assert points == [(pytest.approx(0.4), 0.4), (pytest.approx(0.9), 0.8)]
    assert reliability([0.5, 0.7], [True, False]) == [(pytest.approx(0.6), 0.5)]
