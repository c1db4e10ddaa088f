"""Evaluation of whole runs: task detection, notes, tables and records."""

import json
import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import ir_measures
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from admiral import AdmiralError
from admiral.evaluation import Prediction, fever, read_predictions, read_run_settings, sentence_note
from admiral.evaluation.fever import write_submission
from admiral.evaluation.tasks import (
    EVALUATION_TASKS,
    evaluate,
    format_measures,
    infer_task,
    measure_records,
    read_task_claims,
    read_task_predictions,
)
from admiral.gold import Label
from admiral.io.text_cleaning import fever_title
from proofs import Verdict
from tests.admiral.evaluation.fever_runs import (
    FIGURES,
    disagreements,
    instances,
    our_figures,
    results_of,
    runs,
)
from tests.admiral.evaluation.small_runs import answer, gold, pairs, record, values, written

HOVER = {"uid": "1", "claim": "c", "supporting_facts": [["A", 0]], "label": "SUPPORTED"}
FEVER = {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [[[1, 2, "A", 0]]]}
FEVEROUS = {"id": 1, "claim": "c", "label": "SUPPORTS", "evidence": [{"content": ["A_sentence_0"]}]}
PAIRS = {"id": 1, "claim": "c", "label": "SUPPORTED", "evidence": [["A", 0]]}
KILT = {
    "id": 1,
    "input": "c",
    "output": [{"answer": "SUPPORTS", "provenance": [{"wikipedia_id": 7, "title": "A"}]}],
}
HIPPORAG = {"_id": 1, "question": "c", "supporting_facts": [["A", 0], ["B", 3]], "context": []}


@pytest.mark.parametrize(
    ("name", "one"),
    [("hover", HOVER), ("fever", FEVER), ("feverous", FEVEROUS), ("kilt", KILT), ("fever", PAIRS)],
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
        ("qa", KILT, "kilt"),
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
    records = measure_records(result.measures, result.groups, seed=0)
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


@given(st.lists(instances(nei_has_evidence=True), min_size=1, max_size=8))
def test_the_official_scorer_of_feverous_agrees(tmp_path_factory, run):
    scorer = pytest.importorskip(
        "feverous.evaluation.feverous_scorer", reason="`make scorers` installs FEVEROUS' scorer"
    )
    # Without evidence, it divides by zero; claims without any are not in FEVEROUS-S.
    run = [i | {"predicted_label": i["predicted_label"] or "REFUTES"} for i in run if i["evidence"]]
    assume(run)
    folder = tmp_path_factory.mktemp("run")
    sets = [
        [
            [[fever_title(page), "sentence", str(n)] for _, _, page, n in one]
            for one in i["evidence"]
        ]
        for i in run
    ]
    gold = [
        {
            "id": number,
            "claim": "c",
            "label": instance["label"],
            "evidence": [{"content": ["_".join(sentence) for sentence in one]} for one in own],
        }
        for number, (instance, own) in enumerate(zip(run, sets, strict=True))
    ]
    task = EVALUATION_TASKS["feverous"]
    claims = read_task_claims(task, written(folder / "gold.jsonl", gold))
    predictions = read_predictions(results_of(run, folder / "results.jsonl"))
    result = evaluate(task, claims, predictions, [5])
    ours = {m.name: m.value(result.groups[0].members) for m in result.measures}
    write_submission(folder / "s.jsonl", "feverous", [str(n) for n in range(len(run))], predictions)
    actual = [{"label": i["label"], "evidence": own} for i, own in zip(run, sets, strict=True)]
    try:
        theirs = scorer.feverous_score(lines(folder / "s.jsonl"), actual)
    except ZeroDivisionError:
        assert ours["evidence precision"] == ours["evidence recall"] == ours["evidence F1"] == 0
        return
    names = ["FEVEROUS score", *FIGURES[1:]]
    assert [ours[name] for name in names] == pytest.approx(theirs)


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


def test_hover_submission(tmp_path):
    path = tmp_path / "s.json"
    write_submission(path, "hover", ["u-1", "7", "8"], ANSWERS)
    assert json.loads(path.read_text()) == {
        "u-1": {"predicted_label": "SUPPORTED", "predicted_sp": [["A", 2]]},
        "7": {"predicted_label": "NOT_SUPPORTED", "predicted_sp": [list(s) for s in MANY]},
        "8": {"predicted_label": "NOT_SUPPORTED", "predicted_sp": []},
    }


def kilt_run(folder, *rankings, verdict="SUPPORTS"):
    """Return the file of results with the given pages, whose ids are the letters' numbers."""
    operator = verdict and "="
    records = [record(str(n), ranking=pages, operator=operator) for n, pages in enumerate(rankings)]
    for one in records:
        one["verdict"] = verdict and {"label": verdict}
        for document in one["documents"]:
            document["id"] = str(ord(document["title"]))
    return written(folder / "results.jsonl", records)


def test_kilt_submission(tmp_path):
    path = tmp_path / "s.jsonl"
    write_submission(path, "kilt", ["1", "0", "8"], read_predictions(kilt_run(tmp_path, "AB", "")))
    pages = [{"wikipedia_id": "65", "title": "A"}, {"wikipedia_id": "66", "title": "B"}]
    assert lines(path) == [
        {"id": "1", "output": [{"answer": "SUPPORTS", "provenance": []}]},
        {"id": "0", "output": [{"answer": "SUPPORTS", "provenance": pages}]},
        {"id": "8", "output": [{"answer": "NOT ENOUGH INFO", "provenance": []}]},
    ]
    # Questions have no verdict.
    write_submission(path, "kilt", ["0"], read_predictions(kilt_run(tmp_path, "A", verdict=None)))
    assert lines(path) == [{"id": "0", "output": [{"provenance": pages[:1]}]}]


def test_documents_without_ids_are_no_submission_to_kilt(tmp_path):
    run = kilt_run(tmp_path, "AB")
    run.write_text(run.read_text().replace(', "id": "66"', ""))
    with pytest.raises(AdmiralError, match=r"claim '0': .* document without id.*knowledge source"):
        write_submission(tmp_path / "s.jsonl", "kilt", ["0"], read_predictions(run))
    assert not (tmp_path / "s.jsonl").exists()


@pytest.fixture(scope="module")
def kilt_scorer():
    """KILT's script of retrieval, in the copy that Pyserini has."""
    package = pytest.importorskip("pyserini", reason="make setup installs Pyserini")
    path = Path(package.__path__[0]) / "eval" / "evaluate_kilt_retrieval.py"
    spec = spec_from_file_location("evaluate_kilt_retrieval", path)
    module = module_from_spec(spec)
    # It imports the class that downloads KILT's claims, which would start Java.
    with pytest.MonkeyPatch.context() as patch:
        downloads = SimpleNamespace(KiltQueryIterator=None)
        patch.setitem(sys.modules, "pyserini.query_iterator", downloads)
        spec.loader.exec_module(module)
    return module


PAGES = st.text("ABCDE", max_size=5)
KILT_CLAIMS = st.tuples(st.lists(PAGES.filter(bool), min_size=1, max_size=3), PAGES)


@given(st.lists(KILT_CLAIMS, min_size=1, max_size=4))
def test_the_script_of_kilt_agrees(kilt_scorer, tmp_path_factory, claims):
    folder = tmp_path_factory.mktemp("kilt")
    run = kilt_run(folder, *("".join(dict.fromkeys(ranking)) for _, ranking in claims))
    answers = [
        [
            {
                "answer": "SUPPORTS",
                "provenance": [{"wikipedia_id": ord(p), "title": p} for p in one],
            }
            for one in sets
        ]
        for sets, _ in claims
    ]
    gold = [{"id": n, "input": "c", "output": output} for n, output in enumerate(answers)]
    task = EVALUATION_TASKS["kilt"]
    read = read_task_claims(task, written(folder / "gold.jsonl", gold))
    predictions = read_predictions(run)
    result = evaluate(task, read, predictions, [5])
    ours = {m.name: m.value(result.groups[0].members) for m in result.measures}
    path = folder / "s.jsonl"
    write_submission(path, "kilt", [claim.id for claim in read], predictions)
    kilt_scorer.validate_input(gold, lines(path))
    theirs = kilt_scorer.compute(gold, lines(path), [5], ["wikipedia_id"])
    assert ours["R-precision"] == pytest.approx(theirs["Rprec"])
    exact = [
        kilt_scorer.rprecision(*pair, ["wikipedia_id"]) == 1
        for pair in zip(lines(path), gold, strict=True)
    ]
    assert ours["KILT accuracy"] == sum(exact) / len(exact)


@pytest.mark.parametrize(
    ("one", "lacking"),
    [(answer(verdict=None), "proof, and so no label"), (Prediction("1", ("A",)), "sentences")],
)
def test_predictions_without_verdict_or_sentences_are_rejected(tmp_path, one, lacking):
    path = tmp_path / "s.jsonl"
    with pytest.raises(AdmiralError, match=f"claim '1': its prediction has no {lacking}"):
        write_submission(path, "fever", ["1"], {"1": one})
    assert list(tmp_path.iterdir()) == []


QRELS = EVALUATION_TASKS["qrels"]
IDS = st.sampled_from(["d1", "d_2", "4983", "é%", "Z"])
QUERIES = st.sampled_from(["q1", "q2", "q3"])
# Equal scores, and scores that differ only in 64 bits.
SCORES = st.sampled_from([-3.5, 0.0, 1.0, 1.0 + 1e-9, 2.0])


def _evaluated(gold, run, ks=(1, 3)):
    return evaluate(QRELS, read_task_claims(QRELS, gold), read_task_predictions(QRELS, run), ks)


def _values(evaluation):
    return {m.name: m.value(evaluation.groups[0].members) for m in evaluation.measures}


def _trec_qrels(path, grades):
    lines = (f"{q} 0 {d} {grade}\n" for q, judged in grades.items() for d, grade in judged.items())
    path.write_text("".join(lines), encoding="utf-8")
    return path


@given(
    st.dictionaries(QUERIES, st.dictionaries(IDS, st.integers(-1, 3), min_size=1), min_size=1),
    st.dictionaries(QUERIES, st.dictionaries(IDS, SCORES, min_size=1), min_size=1),
)
def test_scores_equal_those_of_ir_measures_on_the_files(grades, scores):
    with TemporaryDirectory() as folder:
        gold = _trec_qrels(Path(folder, "test.qrels"), grades)
        run = Path(folder, "run.trec")
        lines = (
            f"{query} Q0 {id} 1 {score!r} x\n"
            for query, ranking in scores.items()
            for id, score in ranking.items()
        )
        run.write_text("".join(lines), encoding="utf-8")
        names = ["nDCG@10", "AP", "RR", "R@1", "R@3"]
        expected = ir_measures.calc_aggregate(
            [ir_measures.parse_measure(name) for name in names],
            list(ir_measures.read_trec_qrels(str(gold))),
            list(ir_measures.read_trec_run(str(run))),
        )
        if grades.keys().isdisjoint(scores):
            with pytest.raises(AdmiralError, match="no claim of the gold file is among"):
                _evaluated(gold, run)
            return
        values = _values(_evaluated(gold, run))
    assert values == pytest.approx({str(name): value for name, value in expected.items()})
