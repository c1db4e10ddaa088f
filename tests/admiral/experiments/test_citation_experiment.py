"""Experiments on citations: their files, errors in them, and runs from end to end."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.citations.citation_settings import CitationConfig
from admiral.cli.evaluate import experiment_command
from admiral.errors import AdmiralError
from admiral.experiments.description import is_citation_experiment, read_citation_experiment
from admiral.experiments.experiment_record import citation_tables
from admiral.experiments.runner import run_citation_experiment
from tests.admiral.citations.cited_pages import BRIDGE, HARBOUR

CONFIGS = Path(__file__).parents[3] / "configs"
SIDE = sorted((CONFIGS / "experiments").glob("side-*.yaml"))
TEXT = """
title: Small
task: citations
claims: ${data}/claims.jsonl
sources: ["${data}/claims.jsonl"]
library: {words: 40, stride: 20}
settings: {verifier: coverage}
reference: parts
systems:
  - {name: parts}
  - {name: best passage, settings: {aggregate: max, suggest: false}}
  - {name: claim, search: {index: bm25}}
  - {name: title, search: {index: bm25}}
"""
CLAIMS = [
    ("supported", "The Eastern Bridge was opened in 1932.", BRIDGE),
    ("not_supported", "Zoe Quill painted horses in Zanzibar.", BRIDGE),
    ("supported", "The lighthouse was first lit in 1911.", HARBOUR),
    ("partially_supported", "The harbour museum shows nets and dinosaurs.", HARBOUR),
]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    lines = []
    for number, (label, claim, source) in enumerate(CLAIMS):
        evidence = [f"(meta data) TITLE: {source.title}", *source.text.split(". ")]
        meta = {
            "id": f"c{number}",
            "claim_title": "Belmar",
            "claim_section": "",
            "claim_context": "",
        }
        gold = [[1]] if label != "not_supported" else []
        record = {"label": label, "supporting_sentences": gold, "claim": claim}
        lines.append(json.dumps(record | {"evidence": evidence, "meta": meta}) + "\n")
    (folder / "claims.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "e.yaml").write_text(TEXT, encoding="utf-8")
    return folder


def run(data, *overrides, **options):
    experiment = read_citation_experiment(data / "e.yaml", data=data, overrides=overrides)
    out = data.parent / "run"
    return run_citation_experiment(experiment, out, quiet=True, report=lambda _: None, **options)


def test_an_experiment_is_run_recorded_and_resumed(data):
    record = run(data)
    parts, best, claim, title = record["systems"]
    assert parts["measures"]["AUROC, supported > not"][0] == 1.0
    assert best["settings"]["aggregate"] == "max"
    assert "AUROC, supported > rest" in best["differences"]
    assert not parts["differences"]
    # The second claim shares nothing but the name of its page with others. The fourth page has the
    # text of the third.
    assert claim["measures"]["P@1"][0] == 0.5
    assert claim["measures"]["SR@5"][0] == claim["measures"]["SR@20"][0] == 1.0
    assert title["differences"] == {}  # the reference verifies; a search is no verifier
    assert record["library"]["settings"]["words"] == 40
    with pytest.raises(AdmiralError, match="exists already"):
        run(data)
    # A killed run: one system has a part of its verdicts, another none.
    written = data.parent / "run" / "parts" / "verdicts.jsonl"
    whole = written.read_bytes()
    first = whole.splitlines(keepends=True)[0]
    written.with_name("verdicts.jsonl.partial").write_bytes(first)
    written.unlink()
    again = run(data, resume=True)
    assert again["systems"][0]["measures"] == parts["measures"]
    assert len(written.read_bytes().splitlines()) == len(whole.splitlines())
    lines = list(citation_tables(again))
    assert lines[2].startswith("| parts | ")
    assert any("Differences to `parts`" in x for x in lines)
    with pytest.raises(AdmiralError, match="measured for no system"):
        list(citation_tables(again | {"show": ["AUC"]}))


def test_searches_are_compared_with_a_search(data):
    text = TEXT.replace("reference: parts", "reference: claim")
    (data / "e.yaml").write_text(text, encoding="utf-8")
    record = run(data, "limit=3")
    assert record["claims"]["used"] == 3
    assert set(record["systems"][3]["differences"]) == {"P@1", "SR@5", "SR@20", "MRR"}


def test_the_command_prints_the_tables(data):
    arguments = [str(data / "e.yaml"), "--data", str(data), "--out", str(data.parent / "out")]
    done = CliRunner().invoke(experiment_command, [*arguments, "--quiet", "--limit", "2"])
    assert done.exit_code == 0, done.output
    assert "| best passage" in done.output
    assert "experiment.json" in done.output


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("title: Small", "titel: Small", "titel"),
        ("claims.jsonl\nsources", "none.jsonl\nsources", "claims"),
        ('sources: ["${data}/claims.jsonl"]', "sources: []", "sources"),
        ("words: 40", "word: 40", "library"),
        ("stride: 20", "stride: 0", "stride"),
        ("stride: 20", "dense: 1", "dense"),
        ("stride: 20", "k1: fast", "k1"),
        ("verifier: coverage", "verifier: words", "verifier"),
        ("index: bm25", "query: whole", "query"),
        ("index: bm25", "index: google", "index"),
        ("name: best passage", "name: parts!", "name"),
        ("reference: parts", "reference: none", "reference"),
        ("aggregate: max", "agregate: max", "agregate"),
    ],
)
def test_errors_name_the_key(data, old, new, named):
    assert old in TEXT
    (data / "e.yaml").write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(AdmiralError, match=named):
        read_citation_experiment(data / "e.yaml", data=data)


def test_vectors_are_needed_for_a_dense_search(data):
    text = TEXT.replace("index: bm25", "index: rrf")
    (data / "e.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(AdmiralError, match=r"library\.dense"):
        run(data)


@pytest.mark.parametrize("path", SIDE, ids=lambda path: path.stem)
def test_the_shipped_files_are_valid(path, tmp_path):
    (tmp_path / "wice").mkdir()
    for name in ("claims.dev.jsonl", "unsupported-tokens.train.jsonl.gz"):
        (tmp_path / "wice" / name).touch()
    (tmp_path / "wice" / "unsupported-tokens.dev.jsonl.gz").touch()
    assert is_citation_experiment(path, tmp_path)
    found = read_citation_experiment(path, data=tmp_path)
    assert found.reference in {system.name for system in found.systems}


def test_the_settings_of_the_paper_are_valid():
    paper = CitationConfig.read(CONFIGS / "paper-side.yaml")
    assert (paper.verifier, paper.aggregate, paper.verify_passages) == ("cross-encoder", "max", 0)
    assert paper.paper_rule
