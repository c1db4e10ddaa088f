"""Evaluation of whole runs: task detection, notes, tables and records."""

import pytest

from admiral import AdmiralError
from admiral.evaluation.bootstrap import confidence_intervals
from admiral.evaluation.predictions import (
    Prediction,
    read_predictions,
    read_run_settings,
    sentence_note,
)
from admiral.evaluation.tables import format_measures, measure_records
from admiral.evaluation.tasks import EVALUATION_TASKS, evaluate, infer_task, read_task_claims
from tests.admiral.evaluation.small_runs import answer, gold, record, written

HOVER = {"uid": "1", "claim": "c", "supporting_facts": [["A", 0]], "label": "SUPPORTED"}
FEVER = {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [[[1, 2, "A", 0]]]}
FEVEROUS = {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [{"content": ["A_sentence_0"]}]}
PAIRS = {"id": 1, "claim": "c", "label": "SUPPORTED", "evidence": [["A", 0]]}
HIPPORAG = {"_id": 1, "question": "c", "supporting_facts": [["A", 0], ["B", 3]], "context": []}


@pytest.mark.parametrize(
    ("name", "one"), [("hover", HOVER), ("fever", FEVER), ("feverous", FEVEROUS), ("fever", PAIRS)]
)
def test_task_is_inferred_from_the_gold_file(tmp_path, name, one):
    path = written(tmp_path / "gold.jsonl", [one])
    assert infer_task(path).name == name
    claims = read_task_claims(EVALUATION_TASKS[name], path)
    result = evaluate(EVALUATION_TASKS[name], claims, {"1": answer(("A", 0), ranking="A")})
    shown = {m.name: m.value(result.groups[0].members) for m in result.measures}
    assert shown["recall@5"] == shown["label accuracy"] == 1


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("hover", FEVER, "fever"),
        ("fever", HOVER, "hover"),
        ("feverous", FEVER, "fever"),
        ("fever", HIPPORAG, "qa"),
    ],
)
def test_gold_files_of_other_data_sets_are_rejected(tmp_path, name, one, other):
    path = written(tmp_path / "gold.jsonl", [one])
    with pytest.raises(AdmiralError, match=rf"has the format .*Evaluate it as {other}"):
        read_task_claims(EVALUATION_TASKS[name], path)


def test_questions_have_measures_of_documents_only(tmp_path):
    path = written(tmp_path / "questions.jsonl", [HIPPORAG])
    task = infer_task(path)
    assert task.name == "qa"
    claims = read_task_claims(task, path)
    result = evaluate(task, claims, {"1": answer(("A", 0), ranking="AXXXB")})
    assert {m.section for m in result.measures} == {
        "documents of the ranking", "documents of the evidence", "ranking (ir-measures)"
    }  # fmt: skip
    shown = {m.name: m.value(result.groups[0].members) for m in result.measures}
    assert (shown["R@2"], shown["R@5"], shown["recall@2"], shown["recall@5"]) == (0.5, 1, 0, 1)
    assert [group.name for group in result.groups] == ["all", "2 documents"]
    assert result.notes[0] == "the gold file names documents and no sentences"
    assert not any("label" in note for note in result.notes)


def test_gold_without_evidence_is_rejected_or_noted(tmp_path):
    path = written(tmp_path / "gold.jsonl", [{"claim": "c", "evidence": []}])
    with pytest.raises(AdmiralError, match="no claim has gold evidence or a label"):
        read_task_claims(EVALUATION_TASKS["fever"], path)
    claims = [gold([("A", 0)]), gold(id="2")]
    notes = evaluate(EVALUATION_TASKS["fever"], claims, {"1": answer(ranking="A")}, [1]).notes
    assert notes[0] == "1 claim ('2') without an answer, counted as wrong"
    assert notes[1] == "1 claim without gold evidence, of which documents do not count"
    with pytest.raises(AdmiralError, match="no claim is left to evaluate"):
        evaluate(EVALUATION_TASKS["feverous"], [gold()], {"1": answer()})


def test_notes_say_what_a_run_lacks():
    claims = [gold([("A", 0)]), gold([("B", None)], id="2")]
    ranked = evaluate(EVALUATION_TASKS["fever"], claims, {"1": Prediction("1", ("A",))}, [1, 9])
    assert "the run ranks documents and names no sentences" in ranked.notes
    assert "1 ranking of fewer than 9 documents; what is there is counted" in ranked.notes
    assert {m.section for m in ranked.measures} <= {
        "documents of the ranking",
        "ranking (ir-measures)",
    }
    silent = evaluate(EVALUATION_TASKS["fever"], claims, {"1": answer(verdict=None)}, [1])
    assert "no answer has a proof, so no labels are measured" in silent.notes
    half = {"1": answer(verdict=None), "2": answer(id="2")}
    assert "1 answer without a proof" in " ".join(
        evaluate(EVALUATION_TASKS["fever"], claims, half, [1]).notes
    )
    pages = evaluate(EVALUATION_TASKS["fever"], claims[1:], {"2": answer(id="2")}, [1])
    assert "the gold file names documents and no sentences" in pages.notes
    assert not any(m.section.startswith("sentences") for m in pages.measures)


def test_tables_and_records_have_the_same_values(tmp_path):
    claims = [gold([("A", 0)]), gold([("A", 0), ("B", 1)], id="2"), gold(id="3")]
    path = written(
        tmp_path / "r.jsonl", [record("1", ("A", 0), ranking="A"), record("2", ranking="XAB")]
    )
    result = evaluate(EVALUATION_TASKS["fever"], claims, read_predictions(path), [1, 3])
    limits = [confidence_intervals(result.measures, group) for group in result.groups]
    records = measure_records(result.measures, result.groups, limits)
    first = records[0]
    assert (first["section"], first["name"]) == ("documents of the ranking", "recall@1")
    assert first["groups"][0] | {"low": 0, "high": 0} == {
        "group": "all", "claims": 2, "value": 0.5, "low": 0, "high": 0
    }  # fmt: skip
    assert first["groups"][2]["value"] == 0
    assert first["groups"][2]["low"] == 0
    text = format_measures(measure_records(result.measures, result.groups), result.groups)
    assert "claims" in text
    assert "1 document" in text
    row = next(line for line in text.splitlines() if line.startswith("  recall@3"))
    assert row.split() == ["recall@3", "1.000", "1.000", "1.000"]
    assert "0.000-1.000" in format_measures(records, result.groups)


def test_sentence_note_names_the_origin_of_the_sentences(tmp_path, user_cache):
    results = tmp_path / "r.jsonl"
    assert sentence_note(results, None).startswith("sentences are numbered as in the run's")
    settings = tmp_path / "r.jsonl.settings.json"
    settings.write_text('{"settings": {"kb": "my-kb (12ab)"}}')
    assert "as in the knowledge base my-kb (12ab); --kb DIR" in sentence_note(results, None)
    assert sentence_note(results, "demo").startswith("sentences are those of the corpus")
    settings.write_text('{"settings": {"kb": "demo"}}')
    assert sentence_note(results, None).startswith("sentences are those of the corpus")
    for broken in ("[]", "{", '{"settings": 3}'):
        settings.write_text(broken)
        assert read_run_settings(results) == {}
