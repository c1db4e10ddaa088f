"""A data set of BEIR from its folder to its scores: ids in, ids out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import ir_measures
import pytest

Admiral = Callable[..., subprocess.CompletedProcess[bytes]]

CORPUS = (
    ("MED-10", "Mercury", "Mercury is the planet closest to the Sun."),
    ("MED_2%", "Mercury", "Mercury is a metal that is liquid at room temperature."),
    ("4983", "", "Venus is the hottest planet."),
    ("x", "Mars", "Mars is called the red planet because of rust."),
)
QUERIES = (("PLAIN-1", "Which planet is closest to the Sun?"), ("PLAIN-2", "a liquid metal"))
QRELS = (("PLAIN-1", "MED-10", 2), ("PLAIN-1", "4983", 1), ("PLAIN-2", "MED_2%", 1))


def _write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))


def test_a_data_set_from_its_folder_to_its_scores(admiral, tmp_path):
    data, kb = tmp_path / "planets", tmp_path / "kb"
    _write(
        data / "corpus.jsonl", (json.dumps({"_id": i, "title": t, "text": x}) for i, t, x in CORPUS)
    )
    _write(data / "queries.jsonl", (json.dumps({"_id": i, "text": x}) for i, x in QUERIES))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in QRELS)]
    _write(data / "qrels" / "test.tsv", rows)
    done = admiral("index", data, "--kb", kb, "--bm25", "bm25s")
    assert done.returncode == 0, done.stderr.decode()

    output, run = tmp_path / "results.jsonl", tmp_path / "run.trec"
    given = ("--kb", kb, "--input", data / "queries.jsonl", "--output", output, "--trec", run)
    done = admiral("retrieve", *given, "--hops", "0", "--set", "generator=false")
    assert done.returncode == 0, done.stderr.decode()
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [record["id"] for record in records] == ["PLAIN-1", "PLAIN-2"]
    assert [record["documents"][0]["id"] for record in records] == ["MED-10", "MED_2%"]
    lines = [line.split() for line in run.read_text().splitlines()]
    assert {line[2] for line in lines} <= {id for id, _, _ in CORPUS}

    names = ["AP", "R@10", "RR", "nDCG@10"]
    expected = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(name) for name in names],
        [ir_measures.Qrel(query, document, grade) for query, document, grade in QRELS],
        ir_measures.read_trec_run(str(run)),
    )
    for predictions in (output, run):
        gold = ("--gold", data / "qrels" / "test.tsv", "--predictions", predictions)
        done = admiral("evaluate", "qrels", *gold, "--k", "10", "--json")
        assert done.returncode == 0, done.stderr.decode()
        measures = json.loads(done.stdout)["measures"]
        values = {m["name"]: m["groups"][0]["value"] for m in measures}
        assert values == pytest.approx({str(m): v for m, v in expected.items()}, abs=1e-6)
