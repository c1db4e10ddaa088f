"""The page of results describes the bundled weights."""

import pytest
from click.testing import CliRunner

from benchmarks import results_page
from benchmarks.results_page import EXPERIMENTS, ROOT, main, weights_lines


def test_the_page_is_of_the_bundled_weights():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    missing = [line for line in weights_lines() if line not in page.splitlines()]
    assert not missing, "run `make results`: docs/results.md is of other weights"


def test_the_page_has_a_section_for_each_experiment():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        assert f"compare_systems configs/experiments/{name}.yaml" in page


@pytest.fixture
def page(monkeypatch, tmp_path):
    """Return what writes the page with a word in each section."""

    def write(word, *options):
        monkeypatch.setattr(
            results_page, "compare", lambda content, out, kbs: [f"{word} of {content['title']}"]
        )
        page = tmp_path / "page.md"
        arguments = [tmp_path, "--runs", tmp_path, "--out", page, *options]
        return CliRunner().invoke(main, list(map(str, arguments))), page

    return write


def test_the_sections_of_other_experiments_stay(page):
    done, path = page("Figures", "--limit", 7)
    assert done.exit_code == 0, done.output
    before = path.read_text("utf-8")
    assert before.count("Figures of ") == len(EXPERIMENTS)
    assert "configs/experiments/demo.yaml --limit 7" in before
    last = EXPERIMENTS[-1]
    assert page("New", "--limit", 7, "--only", last)[0].exit_code == 0
    head, _, tail = before.rpartition("Figures")
    assert path.read_text("utf-8") == f"{head}New{tail}"
    path.write_text(before.replace(weights_lines()[0], "- `mini`: weights 0"))
    done, _ = page("New", "--only", last)
    assert (done.exit_code, "is of other bundled weights" in done.output) == (1, True)
