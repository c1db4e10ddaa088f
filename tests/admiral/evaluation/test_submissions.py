"""Submission files of the shared tasks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import AdmiralError
from admiral.evaluation.predictions import Prediction
from admiral.evaluation.submissions import write_submission
from admiral.io.text_cleaning import fever_identifier, fever_title
from proofs import Verdict
from tests.admiral.evaluation.small_runs import answer

MANY = [("Zoë: Live (film)", n) for n in range(6)]
ANSWERS = {"7": answer(*MANY, verdict=Verdict.REFUTES), "u-1": answer(("A", 2))}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_fever_submission(tmp_path):
    path = tmp_path / "s.jsonl"
    write_submission(path, "fever", ["7", "8", "u-1"], ANSWERS)
    page = "Zoe\u0308-COLON-_Live_-LRB-film-RRB-"
    assert lines(path) == [
        {
            "id": 7,
            "predicted_label": "REFUTES",
            "predicted_evidence": [[page, n] for n in range(5)],
        },
        {"id": 8, "predicted_label": "NOT ENOUGH INFO", "predicted_evidence": []},
        {"id": "u-1", "predicted_label": "SUPPORTS", "predicted_evidence": [["A", 2]]},
    ]


def test_official_scorer_accepts_a_submission(tmp_path):
    scorer = pytest.importorskip(
        "fever.scorer", reason="`make scorers` installs the official FEVER scorer"
    )
    path = tmp_path / "s.jsonl"
    write_submission(path, "fever", ["u-1", "8"], ANSWERS)
    actual = [
        {"label": "SUPPORTS", "evidence": [[[1, 2, "A", 2]]]},
        {"label": "NOT ENOUGH INFO", "evidence": [[[1, None, None, None]]]},
    ]
    assert scorer.fever_score(lines(path), actual) == (1.0, 1.0, 1.0, 1.0, 1.0)


def test_feverous_submission(tmp_path):
    path = tmp_path / "s.jsonl"
    write_submission(path, "feverous", ["u-1", "8"], ANSWERS)
    assert lines(path) == [
        {"predicted_label": "SUPPORTS", "predicted_evidence": [["A", "sentence", "2"]]},
        {"predicted_label": "NOT ENOUGH INFO", "predicted_evidence": []},
    ]


def test_hover_submission(tmp_path):
    path = tmp_path / "s.json"
    write_submission(path, "hover", ["u-1", "7", "8"], ANSWERS)
    assert json.loads(path.read_text()) == {
        "u-1": {"predicted_label": "SUPPORTED", "predicted_sp": [["A", 2]]},
        "7": {"predicted_label": "NOT_SUPPORTED", "predicted_sp": [list(s) for s in MANY]},
        "8": {"predicted_label": "NOT_SUPPORTED", "predicted_sp": []},
    }


@pytest.mark.parametrize(
    ("one", "lacking"),
    [(answer(verdict=None), "proof, and so no label"), (Prediction("1", ("A",)), "sentences")],
)
def test_predictions_without_verdict_or_sentences_are_rejected(tmp_path, one, lacking):
    path = tmp_path / "s.jsonl"
    with pytest.raises(AdmiralError, match=f"claim '1': its prediction has no {lacking}"):
        write_submission(path, "fever", ["1"], {"1": one})
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="_")))
def test_fever_identifiers_round_trip(title):
    title = fever_title(title)
    assert fever_title(fever_identifier(title)) == title
