"""The page of results describes the bundled weights."""

import json

from click.testing import CliRunner

from benchmarks.results_page import EXPERIMENTS, ROOT, main, weights_lines

#: What git calls a commit without files.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_the_page_is_of_the_bundled_weights():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    missing = [line for line in weights_lines() if line not in page.splitlines()]
    assert not missing, "run `make results`: docs/results.md is of other weights"


def test_the_page_has_a_section_for_each_experiment():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert f"admiral experiment configs/experiments/{name}.yaml" in page


def record(commit, name="demo"):
    """Return the record of an experiment with one system."""
    measure = {
        "name": "recall@5",
        "groups": [{"group": "all", "value": 0.5, "low": 0.4, "high": 0.6}],
    }
    system = {
        "name": "dynamic",
        "run": {"date": "2026-01-02", "commit": commit, "hardware": "2 cores"},
        "kb": {"name": "small", "documents": 1200},
        "groups": [{"name": "all", "claims": 7}],
        "measures": [measure],
    }
    return {
        "file": f"{name}.yaml",
        "title": "Demo claims",
        "claims": {"file": "claims.jsonl", "used": 7},
        "reference": "",
        "groups": [],
        "show": ["recall@5"],
        "paper": {},
        "systems": [system],
    }


def written(runs, commit):
    for name in EXPERIMENTS:
        (runs / name).mkdir()
        (runs / name / "experiment.json").write_text(json.dumps(record(commit, name)), "utf-8")
    page = runs / "page.md"
    return CliRunner().invoke(main, [str(runs), "--runs", str(runs), "--out", str(page)]), page


def test_records_that_are_there_are_written(tmp_path):
    done, page = written(tmp_path, "HEAD")
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert "7 claims of `claims.jsonl` over 1,200 documents (`small`); 2026-01-02" in text
    assert "| dynamic | all | 7 | 0.500 [0.40, 0.60] |" in text


def test_the_sections_of_other_experiments_stay(tmp_path):
    _, page = written(tmp_path, "HEAD")
    before = page.read_text("utf-8")
    *others, last = EXPERIMENTS
    for name in others:
        (tmp_path / name / "experiment.json").unlink()
    changed = json.dumps(record("HEAD", last)).replace("Demo claims", "Measured again")
    (tmp_path / last / "experiment.json").write_text(changed)
    arguments = [str(tmp_path), "--runs", str(tmp_path), "--out", str(page), "--only", last]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    head, _, tail = before.rpartition("Demo claims")
    assert page.read_text("utf-8") == f"{head}Measured again{tail}"
    page.write_text(before.replace(weights_lines()[0], "- `mini`: weights 0"))
    done = CliRunner().invoke(main, arguments)
    assert (done.exit_code, "is of other bundled weights" in done.output) == (1, True)


def test_records_of_other_weights_are_refused(tmp_path):
    done, page = written(tmp_path, EMPTY_TREE)
    assert done.exit_code == 1
    assert "with other bundled weights. Delete" in done.output
    assert not page.exists()
