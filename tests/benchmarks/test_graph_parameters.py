"""The choice of parameters of the graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from admiral.graph import build_graph
from admiral.kb import build
from benchmarks import graph_parameters
from benchmarks.graph_parameters import cross_validate, hits


def test_hits_need_all_documents_of_one_set() -> None:
    order = list(range(200))
    assert hits(order, [{4}]) == [True] * 5
    assert hits(order, [{4, 5}, {60}]) == [False, True, True, True, True]
    assert hits(order, [{500}]) == [False] * 5


def test_each_fold_is_measured_with_the_choice_of_the_others() -> None:
    # The first combination is right for even claims, the second for odd ones.
    found = np.zeros((2, 4, 1), dtype=bool)
    found[0, ::2] = found[1, 1::2] = True
    choice = cross_validate(found, 2)
    assert choice.held_out.tolist() == [0.0]
    assert choice.chosen == [1, 0, 0]


def test_the_program(tmp_path: Path) -> None:
    records = [
        {"title": "Elmo", "sentences": ["He lives in Sesame Street."]},
        {"title": "Sesame Street", "sentences": ["A street."]},
    ]
    claims = [{"id": id, "claim": "Elmo is red.", "evidence": [["Elmo", 0]]} for id in ("1", "2")]
    for name, values in (("corpus.jsonl", records), ("claims.jsonl", claims)):
        (tmp_path / name).write_text("".join(json.dumps(value) + "\n" for value in values))
    build(tmp_path / "corpus.jsonl", tmp_path / "kb", bm25="bm25s", progress=False)
    build_graph(tmp_path / "kb", progress=False)
    words = [str(tmp_path / "claims.jsonl"), "--kb", str(tmp_path / "kb"), "--folds", "2"]
    done = CliRunner().invoke(graph_parameters.main, words, catch_exceptions=False)
    assert "2 claims" in done.output
    assert "1.000 1.000 1.000 1.000 1.000 1.000 held out" in done.output
