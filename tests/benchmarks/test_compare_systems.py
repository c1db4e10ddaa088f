"""The papers' tables from the files of configs/experiments, on small data."""

import json
import re

import pytest
import yaml
from click.testing import CliRunner

from admiral.records import Hop, RetrievalResult, Sentence
from benchmarks import compare_systems
from benchmarks.compare_systems import (
    ROOT,
    citation_config,
    main,
    published_table,
    read_description,
    stopping_quality,
    system_config,
)
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR
from tests.admiral.evaluation.small_runs import gold

FILES = sorted((ROOT / "configs" / "experiments").glob("*.yaml"))
TEXT = """
title: Small
task: hover
kb: small
claims: ${data}/claims.jsonl
ks: [1, 2]
knowledge_bases: {small: {corpus: "${data}/corpus.jsonl"}}
settings: {hops: 1, reranker: bm25, title_beams: 2, beam_size: 4}
systems:
  - {name: BM25, baseline: bm25}
  - {name: Trained, settings: {model: nowhere}}
  - {name: One hop}
show: [recall@2, exact match, F1, documents, disk MB, hops, s/claim]
groups: [all, 3 hops]
covered: true
paper:
  {table: 7, columns: [recall], rows: {Other: [93.5], Ours: [null]}, ours: {Ours: BM25}, note: Old.}
"""
CORPUS = [
    {"title": "Apple pie", "sentences": ["A pie of apples.", "It is baked in Normandy."]},
    {"title": "Normandy", "sentences": ["Normandy is a region in the north of France."]},
    {"title": "Pear", "sentences": ["A pear is a fruit."]},
]
CLAIMS = [
    {
        "id": id,
        "claim": claim,
        "label": "SUPPORTED",
        "num_hops": 2,
        "evidence": [["Apple pie", 1], ["Normandy", 0]],
    }
    for id, claim in (("a", "Apple pie is from a region of France."), ("b", "A pie is apples."))
]


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.yaml").write_text(TEXT)
    written(tmp_path / "corpus.jsonl", CORPUS)
    written(tmp_path / "claims.jsonl", CLAIMS)
    return tmp_path


def run(folder, *options):
    arguments = [folder / "e.yaml", "--data", folder, "--out", folder / "run", *options]
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_table_of_systems(folder):
    done = run(folder)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "Small"
    assert lines[2].startswith("2 claims over 3 documents; ")
    bm25, none, hop = (line.strip("| ").split(" | ") for line in lines[6:9])
    assert none[:5] == ["BM25", "3 hops", "0", "–", "–"]
    assert bm25[:3] == ["BM25", "all", "2"]
    assert re.fullmatch(r"0\.500 \[0\.00, 1\.00\]", bm25[3])
    assert bm25[4] == bm25[3]  # of the ranking, not of the evidence
    assert (bm25[5], bm25[6], bm25[8]) == ("–", "3", "0.00")  # a baseline selects no sentences
    assert (hop[0], hop[8]) == ("One hop", "1.00")
    assert any("Trained is left out: " in line and "nowhere" in line for line in lines)
    assert lines[-6:-2] == [
        "| system | here | recall |", "|---|---|---|", "| Other | – | 93.5 |", "| Ours | BM25 | – |"
    ]  # fmt: skip
    results = folder / "run" / "one-hop" / "results.jsonl"
    before = results.read_bytes()
    again = run(folder)
    assert again.stdout.splitlines()[4:8] == lines[4:8]
    assert results.read_bytes() == before
    assert "hops was 1, now 2" in run(folder, "--set", "hops=2").output
    (folder / "e.yaml").write_text(TEXT.replace("show: [recall@2", "show: [recall@7"))
    assert "nothing measures 'recall@7', but recall@1, " in run(folder).output


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title: Small", "titel: Small", "there is no key 'titel'"),
        ("3 hops", "3 hop claims", "there is no group '3 hop claims'"),
        ("baseline: bm25", "baseline: words", "'words' is none of bm25"),
        ("hops: 1", "hopps: 1", "hopps"),
        ("claims.jsonl", "none.jsonl", "none.jsonl"),
    ],
)
def test_errors_are_told(folder, old, new, says):
    text = TEXT.replace("  - {name: One hop}\n", "")
    (folder / "e.yaml").write_text(text.replace(old, new, 1))
    done = run(folder, "--limit", "1")
    assert done.exit_code == 1
    assert says in done.output


def test_the_data_are_needed():
    file = ROOT / "configs" / "experiments" / "ablations.yaml"
    done = CliRunner().invoke(main, [str(file)])
    assert (done.exit_code, "needs --data DIR" in done.output) == (2, True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_are_valid(path, tmp_path):
    content = read_description(path, tmp_path, ["limit=3"])
    assert content["limit"] == 3
    names = [system["name"] for system in content["systems"]]
    assert len(set(names)) == len(names)
    for system in content["systems"]:
        if content["task"] == "citations":
            citation_config(content, system)
            assert system.get("search", {"index": "bm25"})["index"] in ("bm25", "minilm", "rrf")
        else:
            assert content["task"] in compare_systems.TASKS
            system_config(content, system, tmp_path)
    if "paper" in content:
        assert len(list(published_table(content["paper"]))) > 5


def searched(id, *hops):
    made = tuple(
        Hop(
            sufficient,
            None,
            number=number,
            evidence=tuple(Sentence(title, 0, "") for title in titles),
        )
        for number, (titles, sufficient) in enumerate(hops, 1)
    )
    return RetrievalResult(id, "", (), (), made, "sufficient")


def test_decisions_of_the_judge_are_counted():
    claims = [
        gold([("A", 0), ("B", 1)], id="1"),
        gold([("A", 0)], [("C", 0)], id="2"),  # one of the two is enough
        gold(id="3"),
        gold([("A", 0)], id="4"),
    ]
    results = [
        searched("1", ("AX", False), ("AB", True)),
        searched("2", ("C", False), ("X", False)),
        searched("3", ("A", True)),  # no gold evidence
    ]
    assert stopping_quality(claims, results) == {
        "hops": "2.00", "insufficient precision": "0.667", "insufficient recall": "1.000"
    }  # fmt: skip
    assert set(stopping_quality(claims, []).values()) == {"–"}


CITATIONS = """
title: Citations
task: citations
claims: ${data}/claims.jsonl
sources: ["${data}/claims.jsonl"]
passages: {words: 40, stride: 20}
settings: {verifier: coverage}
systems:
  - {name: parts}
  - {name: best passage, settings: {aggregate: max, suggest: false}}
  - {name: search, search: {index: bm25}}
"""
CITED = [
    ("supported", "The Eastern Bridge was opened in 1932.", BRIDGE),
    ("not_supported", "Zoe Quill painted horses in Zanzibar.", BRIDGE),
    ("supported", "The lighthouse was first lit in 1911.", HARBOUR),
]


def test_a_table_of_citations(tmp_path):
    records = []
    for number, (label, claim, source) in enumerate(CITED):
        evidence = [f"(meta data) TITLE: {source.title}", *source.text.split(". ")]
        meta = {
            "id": f"c{number}",
            "claim_title": "Belmar",
            "claim_section": "",
            "claim_context": "",
        }
        sentences = [] if label == "not_supported" else [[1]]
        record = {"label": label, "supporting_sentences": sentences, "claim": claim}
        records.append(record | {"evidence": evidence, "meta": meta})
    written(tmp_path / "claims.jsonl", records)
    (tmp_path / "e.yaml").write_text(CITATIONS)
    done = run(tmp_path)
    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "|" in line]
    table = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}
    assert list(table) == ["parts", "best passage", "search"]
    assert table["parts"]["AUROC, supported > not"].startswith("1.000 [")
    assert table["search"]["SR@5"].startswith("1.000 [")
    assert table["parts"]["SR@5"] == "–"
    assert yaml.safe_load(CITATIONS)["title"] == done.stdout.splitlines()[0]
