"""The record of an experiment: decisions of the judge, counted by hand, and knowledge bases."""

import json

from admiral.evaluation import sentence_note
from admiral.experiments.description import read_experiment
from admiral.experiments.experiment_record import (
    evaluate_systems,
    knowledge_base_record,
    stopping_quality,
)
from admiral.kb import KnowledgeBase, build, join
from admiral.records import Hop, RetrievalResult, Sentence
from tests.admiral.evaluation.small_runs import gold, record, written


def trace(id, *hops, stopped="sufficient"):
    made = tuple(
        Hop(sufficient, None, number=number, evidence=tuple(Sentence(t, 0) for t in titles))
        for number, (titles, sufficient) in enumerate(hops, 1)
    )
    return RetrievalResult(id, "", (), (), made, stopped)


def test_decisions_of_the_judge_are_counted():
    claims = [
        gold([("A", 0), ("B", 1)], id="1"),
        gold([("A", 0)], [("C", 0)], id="2"),  # one of the two is enough
        gold(id="3"),
        gold([("A", 0)], id="4"),
    ]
    traces = {
        "1": trace("1", ("AX", False), ("AB", True)),
        "2": trace("2", ("C", False), ("X", False), stopped="max_hops"),
        "3": trace("3", ("A", True)),  # no gold evidence
    }
    quality = stopping_quality(claims, traces)
    assert quality["hops"] == 2
    assert quality["stopped"] == {"max_hops": 1, "sufficient": 1}
    assert quality["decisions"] == [
        {
            "hop": 1, "sufficient": 0, "sufficient_complete": 0,
            "insufficient": 2, "insufficient_complete": 1,
        },
        {
            "hop": 2, "sufficient": 1, "sufficient_complete": 1,
            "insufficient": 1, "insufficient_complete": 0,
        },
    ]  # fmt: skip
    assert quality["precision"] == 2 / 3
    assert quality["recall"] == 1


def test_no_claim_counts():
    quality = stopping_quality([gold([("A", 0)], id="9")], {})
    assert quality == {
        "hops": None, "stopped": {}, "precision": None, "recall": None, "decisions": []
    }  # fmt: skip


def test_systems_are_compared_with_the_reference(tmp_path):
    text = """
    title: t
    task: hover
    claims: ${data}/claims.jsonl
    ks: [1, 2]
    reference: Whole
    groups: [all]
    systems: [{name: BM25, baseline: bm25}, {name: Whole}, {name: Part}]
    """
    (tmp_path / "e.yaml").write_text(text)
    (tmp_path / "claims.jsonl").touch()
    experiment = read_experiment(tmp_path / "e.yaml", data=tmp_path, kb_folder=tmp_path)
    claims = [gold([("A", 0), ("B", 1)], id=id, hops=2) for id in "1234"]
    for name, rankings in {
        "bm25": ("CA", "CA", "CA", "CA"),
        "whole": ("AB", "AB", "AB", "CA"),
        "part": ("AB", "CA", "CA", "CA"),
    }.items():
        (tmp_path / name).mkdir()
        written(
            tmp_path / name / "results.jsonl",
            (
                record(id, *((title, 0) for title in ranking), ranking=ranking)
                for id, ranking in zip("1234", rankings, strict=True)
            ),
        )
    bm25, whole, part = evaluate_systems(experiment, claims, tmp_path)
    assert "differences" not in whole
    found = {d["name"]: d for d in reversed(part["differences"]) if d["group"] == "all"}
    assert len(found) < len(part["differences"])  # a name may occur in several sections
    assert {d["group"] for d in part["differences"]} == {"all"}
    recall, complete = found["recall@2"], found["evidence complete"]
    assert (recall["first"], recall["second"], recall["difference"]) == (0.75, 0.25, -0.5)
    assert recall["low"] <= -0.5 <= recall["high"] <= 0
    assert (complete["first"], complete["second"]) == (0.75, 0.25)
    names = {d["name"] for d in bm25["differences"]}
    assert "recall@2" in names
    assert "evidence complete" not in names  # the baseline selects no sentences
    assert "stopping" not in bm25
    assert part["stopping"]["hops"] == 1


def test_the_record_of_a_joined_knowledge_base(tmp_path):
    for name in ("a", "b"):
        corpus = tmp_path / f"{name}.jsonl"
        corpus.write_text(json.dumps({"title": name, "sentences": ["It is."]}))
        build(corpus, tmp_path / name, bm25="none", progress=False)
    kb = tmp_path / "all"
    join([tmp_path / "a", tmp_path / "b"], kb)
    made = knowledge_base_record(str(kb), {})
    with KnowledgeBase.open(kb) as opened:
        assert made["digest"] == opened.digest
        assert [one["name"] for one in opened.settings["sources"]] == ["a.jsonl", "b.jsonl"]
    assert (made["name"], made["documents"], made["bm25"]) == ("all", 2, "none")
    assert "those of the corpus where it gives sentences" in sentence_note(kb / "x", str(kb))
