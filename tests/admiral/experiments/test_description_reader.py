"""Reading the file of an experiment, and the errors in it."""

from pathlib import Path

import pytest

from admiral.errors import AdmiralError
from admiral.experiments.description import KnowledgeBaseRecipe, read_experiment

MINIMAL = """
title: A title
task: demo
systems:
  - {name: BM25, baseline: bm25}
"""


def read(folder, text, *overrides, data=None):
    path = folder / "experiment.yaml"
    path.write_text(text)
    return read_experiment(path, data=data, kb_folder=folder / "kbs", overrides=overrides)


def test_missing_keys_have_defaults(tmp_path):
    found = read(tmp_path, MINIMAL)
    assert (found.limit, found.ks, found.seed, found.show) == (0, (), 0, ())
    assert found.reference == ""
    assert found.claims.name == "claims.jsonl"
    assert found.claims.is_file()
    assert found.evaluation_task.name == "hover"
    assert [(s.name, s.folder, s.baseline, s.config.kb) for s in found.systems] == [
        ("BM25", "bm25", "bm25", "demo")
    ]


def test_settings_of_a_system_override_those_of_all(tmp_path):
    text = """
    title: t
    task: fever
    kb: here
    claims: ${data}/c.jsonl
    knowledge_bases:
      here: {corpus: "${data}/corpus.jsonl", on_duplicate: skip, format: wiki-jsonl}
    settings: {beam_size: 7, hops: 2}
    systems:
      - {name: One, settings: {hops: 1}}
      - {name: Two, settings: {kb: elsewhere}}
    """
    (tmp_path / "c.jsonl").write_text("")
    found = read(tmp_path, text, "beam_size=9", "seed=3", data=tmp_path)
    one, two = (system.config for system in found.systems)
    assert (one.hops, one.beam_size, one.kb) == ("1", 9, str(tmp_path / "kbs" / "here"))
    assert (two.hops, two.beam_size, two.kb) == ("2", 9, "elsewhere")
    assert found.seed == 3
    assert found.claims == tmp_path / "c.jsonl"
    recipe = found.knowledge_bases["here"]
    assert recipe == KnowledgeBaseRecipe(
        tmp_path / "kbs" / "here", (tmp_path / "corpus.jsonl",), "skip", "wiki-jsonl"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINIMAL + "system: []", r"key 'system': .*Did you mean 'systems'"),
        (MINIMAL + "limit: -1", r"key 'limit': -1 is not an integer"),
        (MINIMAL + "covered: 1", r"key 'covered': 1 is neither true nor false"),
        (MINIMAL + "ks: [0]", r"key 'ks': 0 is not an integer"),
        (MINIMAL + "ks: 5", r"key 'ks': 5 is not a list"),
        (MINIMAL + "reference: BM", r"key 'reference': 'BM' is not one of BM25"),
        (MINIMAL + "settings: {beam: 1}", r"settings: key 'beam': no such setting"),
        (MINIMAL + "settings: [beam_size]", r"key 'settings': expected 'key: value'"),
        (
            MINIMAL + "paper: {table: 1, rows: {a: [1]}, columns: [], note: n}",
            r"paper.rows.a': not 0 figures",
        ),
        (
            MINIMAL + "paper: {table: 1, rows: {a: [1]}, columns: [c], note: n, ours: {b: BM25}}",
            r"key 'paper.ours': 'b' is no row of the paper",
        ),
        (MINIMAL + "paper: {table: 1}", r"key 'paper.columns': is missing"),
        (MINIMAL + "paper: {figures: 1}", r"paper: key 'figures'"),
        (MINIMAL + "knowledge_bases: {a: {}}", r"knowledge_bases.a.corpus': is missing"),
        (MINIMAL + "knowledge_bases: {a: {kb: b}}", r"knowledge_bases.a: key 'kb'"),
        (MINIMAL + "  - {name: bm25}", r"key 'name': 'bm25' is too similar to 'BM25'"),
        (MINIMAL + "  - {name: BM25}", r"too similar to 'BM25'"),
        (MINIMAL + "  - {name: B}\n  - {name: B}", r"too similar to 'B'"),
        (MINIMAL + "  - {name: x, baseline: dpr}", r"'baseline': 'dpr' is not one of bm25"),
        (MINIMAL + "  - {name: x, settings: {hops: -1}}", r"systems\[1\].settings: key 'hops'"),
        (MINIMAL + "  - {settings: {}}", r"systems\[1\]: key 'name': is missing"),
        (MINIMAL.replace("task: demo", "task: squad"), r"'task': 'squad' is not one of"),
        (MINIMAL.replace("task: demo", "task: hover"), r"key 'claims': is missing"),
        (MINIMAL.replace("A title", ""), r"key 'title': is missing"),
        (MINIMAL + "claims: ${data}/x.jsonl", r"Give --data DIR"),
        (MINIMAL + "claims: nowhere.jsonl", r"nowhere.jsonl is not a file"),
        ("title: t\ntask: demo", r"key 'systems': names no system"),
        ("- a", r"found a list"),
        ("a: [", r"not a YAML file"),
    ],
)
def test_errors_name_file_and_key(tmp_path, text, message):
    with pytest.raises(AdmiralError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "experiment.yaml"))


def test_a_missing_file_and_a_bad_override(tmp_path):
    with pytest.raises(AdmiralError, match="cannot be read"):
        read_experiment(tmp_path / "none.yaml", kb_folder=tmp_path)
    with pytest.raises(AdmiralError, match="beam=3: key 'beam'"):
        read(tmp_path, MINIMAL, "beam=3")
    with pytest.raises(AdmiralError, match="expected key=value"):
        read(tmp_path, MINIMAL, "beam")


FILES = sorted((Path(__file__).parents[3] / "configs" / "experiments").glob("*.yaml"))
# Those of SIDE are about citations (`test_citation_experiment`).
EXPERIMENTS = [path for path in FILES if not path.stem.startswith("side-")]


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_the_experiments_of_the_project_can_be_read(path, tmp_path):
    """With a folder that has every file that they name."""
    for line in path.read_text().splitlines():
        for word in line.replace('"', " ").replace(",", " ").replace("}", "} ").split():
            if word.startswith("/") and line.count("${data}"):
                file = tmp_path / word.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
    found = read_experiment(path, data=tmp_path, kb_folder=tmp_path / "kbs")
    assert len(found.systems) >= 1
    assert set(found.paper.get("rows", {})) or not found.paper.get("columns")
