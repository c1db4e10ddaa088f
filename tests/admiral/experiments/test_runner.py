"""Experiments from end to end, over a knowledge base that they build."""

import hashlib
import json

import numpy as np
import pytest

from admiral.errors import AdmiralError
from admiral.experiments import job_process as machine
from admiral.experiments.description import read_experiment
from admiral.experiments.runner import run_experiment

TEXT = """
title: Small
task: demo
kb: small
claims: ${data}/claims.jsonl
ks: [1, 2]
knowledge_bases: {small: {corpus: "${data}/corpus.jsonl"}}
settings: {beam_size: 4, title_beams: 2, rerank_documents: 4, reranker: bm25}
systems:
  - {name: BM25, baseline: bm25}
  - {name: Named, baseline: bm25+mentions}
  - {name: Generated, baseline: titles}
  - {name: One hop, settings: {hops: 1}}
"""
CORPUS = [
    {"title": "Apple pie", "sentences": ["A pie of apples.", "It is baked in Normandy."]},
    {"title": "Normandy", "sentences": ["Normandy is a region in the north of France."]},
    {"title": "Pear", "sentences": ["A pear is a fruit."]},
]
CLAIMS = [
    {"id": "a", "claim": "Apple pie is baked.", "evidence": [["Apple pie", 0]]},
    {
        "id": "b",
        "claim": "Apple pie is from a region of France.",
        "evidence": [["Apple pie", 1], ["Normandy", 0]],
    },
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.yaml").write_text(TEXT)
    for name, records in (("corpus", CORPUS), ("claims", CLAIMS)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text(text)
    return tmp_path


def run(folder, *overrides, **options):
    experiment = read_experiment(
        folder / "e.yaml", data=folder, kb_folder=folder / "kbs", overrides=overrides
    )
    reported = []
    return run_experiment(
        experiment, folder / "out", quiet=True, report=reported.append, **options
    ) | {"reported": reported}  # fmt: skip


def figures(record):
    return [(s["measures"], s["notes"], s["kb"]["digest"]) for s in record["systems"]]


@pytest.mark.slow  # many processes, each of which imports torch
def test_an_experiment_is_run_recorded_and_resumed(folder):
    record = run(folder)
    kept = json.loads((folder / "out" / "experiment.json").read_text())
    assert kept == {key: value for key, value in record.items() if key != "reported"}
    checksum = hashlib.sha256((folder / "claims.jsonl").read_bytes()).hexdigest()
    assert kept["claims"] == {"file": "claims.jsonl", "sha256": checksum, "used": 2}
    assert kept["seeds"] == {"bootstrap": 0}
    first, named, _, hop = kept["systems"]
    assert first["kb"]["documents"] == 3
    assert first["kb"]["build"]["seconds"] > 0
    assert first["kb"]["bytes"]["bm25"] > 0
    assert hop["kb"]["bytes"]["tries"] > 0
    for system in kept["systems"]:
        assert system["seconds_per_claim"] > 0
        assert system["run"]["peak_memory"] > 2**20
        assert system["run"]["processor_seconds"] > 0
        assert system["run"]["versions"]["admiral"]
        assert system["run"]["hardware"]
    assert {m["section"] for m in first["measures"]} == {
        "documents of the ranking", "ranking (ir-measures)"
    }  # fmt: skip
    recall = first["measures"][1]
    assert recall["name"] == "recall@2"
    assert 0 <= recall["groups"][0]["low"] <= 1
    assert "stopping" not in named
    results = (folder / "out" / "generated" / "results.jsonl").read_text().splitlines()
    for line in map(json.loads, results[1:]):
        scores = [document["score"] for document in line["documents"]]
        assert scores == sorted(scores, reverse=True)
        assert max(scores) < 0  # log probabilities
        assert len(scores) == 2  # as many as title_beams
    assert hop["stopping"]["decisions"][0]["hop"] == 1

    with pytest.raises(AdmiralError, match="continue with --resume"):
        run(folder)
    assert record["reported"][0].startswith("building")
    (folder / "out" / "one-hop" / "results.jsonl").unlink()
    again = run(folder, resume=True)
    assert figures(again) == figures(record)
    assert "building" not in again["reported"][0]
    assert again["systems"][0]["run"] == first["run"]  # nothing was done
    with pytest.raises(AdmiralError, match=r"beam_size was 4, now 5"):
        run(folder, "beam_size=5", resume=True)
    assert run(folder, "beam_size=5", overwrite=True)["systems"][-1]["settings"]["beam_size"] == 5


@pytest.mark.slow  # many processes, each of which imports torch
def test_damaged_measurements_and_other_corpora_are_errors(folder):
    (folder / "e.yaml").write_text(TEXT.replace("  - {name: One hop, settings: {hops: 1}}\n", ""))
    run(folder)
    (folder / "out" / "bm25" / "run.json").write_text("{")
    with pytest.raises(AdmiralError, match=r"run.json: damaged .* Delete this file"):
        run(folder, resume=True)
    (folder / "other.jsonl").write_text((folder / "corpus.jsonl").read_text())
    (folder / "e.yaml").write_text(TEXT.replace("corpus.jsonl", "other.jsonl"))
    with pytest.raises(AdmiralError, match=r"kbs/small: was built from corpus.jsonl, not from"):
        run(folder, overwrite=True)


@pytest.mark.slow  # many processes, each of which imports torch
def test_a_system_that_lacks_something_is_left_out(folder):
    lacking = "  - {name: Trained, settings: {retriever_models: 'mini,runs/hop2'}}\n"
    (folder / "e.yaml").write_text(TEXT.replace("  - {name: Named", lacking + "  - {name: Named"))
    record = run(folder)
    assert [system["name"] for system in record["systems"]] == [
        "BM25", "Named", "Generated", "One hop"
    ]  # fmt: skip
    assert list(record["left_out"]) == ["Trained"]
    assert "'runs/hop2': no such checkpoint" in record["left_out"]["Trained"]
    assert record["reported"][0].startswith("Trained is left out: ")
    (folder / "e.yaml").write_text("reference: Trained\n" + (folder / "e.yaml").read_text())
    with pytest.raises(AdmiralError, match="'runs/hop2': no such checkpoint"):
        run(folder, overwrite=True)


@pytest.mark.slow  # many processes, each of which imports torch
def test_claims_without_their_documents_can_be_left_out(folder):
    gone = {"id": "c", "claim": "Gone.", "evidence": [["Apple pie", 0], ["Nowhere", 0]]}
    (folder / "claims.jsonl").write_text(json.dumps(gone) + "\n" + json.dumps(CLAIMS[0]) + "\n")
    text = TEXT[: TEXT.index("  - {name: Named")] + "covered: true\n"
    (folder / "e.yaml").write_text(text)
    assert run(folder)["claims"]["used"] == 1
    (folder / "claims.jsonl").write_text(json.dumps(gone) + "\n")
    with pytest.raises(AdmiralError, match="small: has the gold documents of no claim"):
        run(folder, overwrite=True)


def test_errors_of_processes_are_reported(folder):
    with pytest.raises(AdmiralError, match=r"nowhere: no such knowledge base"):
        run(folder, "kb=nowhere")
    with pytest.raises(AdmiralError, match=r"'nowhere': no such checkpoint"):
        run(folder, "model=nowhere")
    assert not (folder / "out").exists()  # nothing was started
    (folder / "corpus.jsonl").write_text("{}\n")
    with pytest.raises(
        AdmiralError, match=r"corpus.jsonl: its first records match no known format"
    ):
        run(folder, overwrite=True)


def test_peak_memory_grows_with_allocations():
    before = machine.peak_memory()
    block = np.ones(2**25)  # 256 MiB
    assert machine.peak_memory() >= min(before + block.nbytes // 2, block.nbytes)
