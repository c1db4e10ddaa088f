"""The task qrels: the same scores as ir-measures on the same files, ids in, ids out."""

from pathlib import Path
from tempfile import TemporaryDirectory

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.evaluation.tasks import (
    EVALUATION_TASKS,
    evaluate,
    infer_task,
    read_task_claims,
    read_task_predictions,
)
from admiral.io.trec import write_trec
from tests.admiral.evaluation.small_runs import written

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


def _record(id, *documents):
    return {"id": id, "claim": "c", "documents": list(documents), "evidence": [], "hops": []}


def test_records_and_their_trec_run_have_the_same_scores(tmp_path):
    records = [
        _record("q 1", {"title": "A", "id": "d1"}, {"title": "B", "id": "d2"}),
        _record("q2", {"title": "Own title"}, {"title": "C", "id": "with space"}),
    ]
    results = written(tmp_path / "results.jsonl", records)
    write_trec(records, tmp_path / "run.trec")
    gold = tmp_path / "test.tsv"
    gold.write_text(
        "query-id\tcorpus-id\tscore\nq 1\td2\t2\nq2\twith space\t1\nq2\tOwn title\t1\nq3\tx\t0\n"
    )
    assert infer_task(gold) is QRELS
    first, second = (_evaluated(gold, path) for path in (results, tmp_path / "run.trec"))
    assert _values(first) == _values(second)
    assert _values(first)["R@3"] == pytest.approx(2 / 3)
    assert _values(first)["RR"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert first.notes == second.notes
    assert first.notes[:2] == [
        "1 claim ('q3') without an answer, counted as wrong",
        "1 query without a relevant document, counted as 0",
    ]
    assert [group.name for group in first.groups] == ["all"]


def test_qrels_belong_to_their_task_only(tmp_path):
    gold = _trec_qrels(tmp_path / "qrels", {"q": {"d": 1}})
    with pytest.raises(AdmiralError, match="Evaluate it as qrels"):
        read_task_claims(EVALUATION_TASKS["hover"], gold)
    claims = written(tmp_path / "g.jsonl", [{"id": 1, "claim": "c", "evidence": [["A", 0]]}])
    with pytest.raises(AdmiralError, match="Evaluate it as fever"):
        read_task_claims(QRELS, claims)
