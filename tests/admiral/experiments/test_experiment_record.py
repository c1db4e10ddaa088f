"""The record of an experiment: decisions of the judge, counted by hand, and knowledge bases."""

from __future__ import annotations

import json
from pathlib import Path

from admiral.evaluation.predictions import Prediction
from admiral.evaluation.sentence_sources import sentence_note
from admiral.evaluation.traces import HopTrace, Trace
from admiral.experiments.experiment_record import knowledge_base_record, stopping_quality
from admiral.kb import KnowledgeBase, build, join
from tests.admiral.evaluation.small_runs import gold


def trace(id: str, *hops: tuple[str, bool], stopped: str = "sufficient") -> Trace:
    made = tuple(
        HopTrace(number, (), (), tuple((t, 0) for t in titles), None, sufficient)
        for number, (titles, sufficient) in enumerate(hops, 1)
    )
    return Trace(Prediction(id, ()), made, {}, stopped)


def test_decisions_of_the_judge_are_counted() -> None:
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


def test_no_claim_counts() -> None:
    quality = stopping_quality([gold([("A", 0)], id="9")], {})
    assert quality == {
        "hops": None, "stopped": {}, "precision": None, "recall": None, "decisions": []
    }  # fmt: skip


def test_the_record_of_a_joined_knowledge_base(tmp_path: Path) -> None:
    for name in ("a", "b"):
        corpus = tmp_path / f"{name}.jsonl"
        corpus.write_text(json.dumps({"title": name, "sentences": ["It is."]}))
        build(corpus, tmp_path / name, bm25="none", progress=False)
    kb = tmp_path / "all"
    join([tmp_path / "a", tmp_path / "b"], kb)
    record = knowledge_base_record(str(kb), {})
    with KnowledgeBase.open(kb) as opened:
        assert record["digest"] == opened.digest
        assert [one["name"] for one in opened.settings["sources"]] == ["a.jsonl", "b.jsonl"]
    assert (record["name"], record["documents"], record["bm25"]) == ("all", 2, "none")
    assert "those of the corpus where it gives sentences" in sentence_note(kb / "x", str(kb))
