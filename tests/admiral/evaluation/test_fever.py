"""FEVER and FEVEROUS measures: hand-computed values and agreement with the official scorer."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import AdmiralError
from admiral.evaluation import fever
from admiral.evaluation.predictions import Prediction
from admiral.evaluation.submissions import write_submission
from admiral.gold import Label
from admiral.io.text_cleaning import fever_identifier, fever_title
from proofs import Verdict
from tests.admiral.evaluation.fever_runs import disagreements, our_figures, runs
from tests.admiral.evaluation.small_runs import answer, gold, pairs, values

A, B, C = ("A", 0), ("B", 1), ("C", 2)
NOTHING = gold(label=Label.NOT_ENOUGH_INFO)
nan = float("nan")


def test_document_measures():
    every = pairs(
        (gold([A, B], [C]), answer(A, C, ranking="ABX")),
        (gold([A, B]), answer(A, B, ranking="XBA")),
        (gold([A]), None),
        (NOTHING, answer(ranking="A")),
    )
    found = values(fever.measures(every, [1, 3]))
    assert found["recall@1"] == pytest.approx([0, 0, 0, nan], nan_ok=True)
    assert found["recall@3"] == pytest.approx([1, 1, 0, nan], nan_ok=True)
    # Two measures have this name: one of the ranking, one of the evidence.
    ranked, of_evidence = (m for m in fever.measures(every, [1]) if m.name == "exact match")
    assert ranked.columns[:3, 0].tolist() == [1, 0, 0]
    assert of_evidence.columns[:3, 0].tolist() == [0, 1, 0]
    assert found["precision"] == pytest.approx([0.5, 1, 0, nan], nan_ok=True)
    assert found["recall"] == pytest.approx([1, 1, 0, nan], nan_ok=True)
    assert found["F1"] == pytest.approx([2 / 3, 1, 0, nan], nan_ok=True)
    names = {group.name: group.members.tolist() for group in fever.groups(every.pairs)}
    assert names == {
        "all": [True] * 4,
        "1 document": [True, False, True, False],
        "2 documents": [False, True, False, False],
    }


def test_sentence_measures():
    every = pairs(
        (gold([A, B], [C]), answer(A, ("X", 0), B)),
        (
            gold([A]),
            answer(*[("X", n) for n in range(5)], A),
        ),  # only the first five sentences count
        (gold([A]), answer()),  # no sentences: precision 1 by the scorer's rule
        (gold([A]), None),  # no prediction: precision 0
        (gold(), answer(B)),  # no gold evidence: recall 1
        (NOTHING, answer(A)),
    )
    found = values(fever.sentence_measures(every.pairs))
    assert found["evidence precision"] == pytest.approx([2 / 3, 0, 1, 0, 0, nan], nan_ok=True)
    assert found["evidence recall"] == pytest.approx([1, 0, 0, 0, 1, nan], nan_ok=True)
    f1 = fever.sentence_measures(every.pairs)[2]
    p, r = (2 / 3 + 1) / 5, 2 / 5
    assert f1.value(fever.groups(every.pairs)[0].members) == pytest.approx(2 * p * r / (p + r))


def test_label_measures():
    every = pairs(
        (gold([A, B]), answer(A, B)),
        (gold([A, B]), answer(A)),
        (gold([A], label=Label.REFUTES), answer(A)),
        (gold([A], label=Label.REFUTES), answer(A, verdict=Verdict.REFUTES)),
        (NOTHING, answer(verdict=Verdict.NOT_ENOUGH_INFO)),
        (NOTHING, answer(verdict=None)),
        (gold([A]), None),
        (gold([A], label=None), answer(A)),
    )
    found = values(fever.label_measures(every.pairs))
    assert found["label accuracy"] == pytest.approx([1, 1, 0, 1, 1, 0, 0, nan], nan_ok=True)
    assert found["FEVER score"] == pytest.approx([1, 0, 0, 1, 1, 0, 0, nan], nan_ok=True)


def test_gold_documents_without_sentences_give_no_fever_score():
    run = answer(("A", 0), ranking="A")
    found = values(fever.measures(pairs((gold([("A", None)]), run)), [1]))
    assert found["label accuracy"] == [1]
    assert "FEVER score" not in found
    found = values(fever.measures(pairs((gold([("A", 0)]), run)), [1]))
    assert found["FEVER score"] == [1]


def test_feverous_scores_evidence_of_every_claim():
    lacking = gold([A], label=Label.NOT_ENOUGH_INFO)
    every = pairs(
        (lacking, answer(A, verdict=Verdict.NOT_ENOUGH_INFO)),
        (lacking, answer(B, verdict=Verdict.NOT_ENOUGH_INFO)),
        (gold([A, B], [C]), answer(("X", 0), C)),
    )
    found = values(fever.feverous_measures(every, [5]))
    assert found["evidence precision"] == [1, 0, 0.5]
    assert found["evidence recall"] == [1, 0, 1]
    assert found["label accuracy"] == [1, 1, 1]
    assert found["FEVEROUS score"] == [1, 0, 1]


def test_feverous_s_selects_claims_that_sentences_can_verify():
    claims = [
        gold([A]),
        replace(gold(id="2"), n_ignored_elements=3),
        replace(gold([B], id="3"), n_ignored_elements=1),
    ]
    chosen, notes = fever.select_claims(claims)
    assert [claim.id for claim in chosen] == ["1", "3"]
    assert notes == [
        "1 of 3 claims need more than sentences and are left out (FEVEROUS-S); 4 cells and other "
        "elements were passed over"
    ]
    assert fever.select_claims(claims[:1]) == (claims[:1], [])


@given(runs)
def test_the_official_scorer_agrees(tmp_path_factory, run):
    pytest.importorskip("fever.scorer", reason="`make scorers` installs the official FEVER scorer")
    ours = our_figures(run, tmp_path_factory.mktemp("run"))
    assert disagreements(run, ours) == []


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
