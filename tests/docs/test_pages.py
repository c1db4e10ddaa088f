"""Links, paths and settings of the pages exist, and the site is built without warnings."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from admiral import RetrievalConfig
from admiral.citations.citation_settings import CitationConfig
from admiral.evaluation.html_report import Outcome
from admiral.evaluation.tasks import EVALUATION_TASKS
from admiral.gold import GoldClaim, Label
from tests.admiral.evaluation.small_runs import answer, pairs
from tests.docs.code_blocks import GENERATED, OF_EXPERIMENTS, PAGES, ROOT
from training.cited_pages import EmConfig
from training.multitask.multitask_settings import TrainConfig
from training.verification.verifier_program import VerifierConfig

CHANGELOG = ROOT / "CHANGELOG.md"
WRITTEN = [page for page in (*PAGES, CHANGELOG) if page != GENERATED]
_PATH = re.compile(
    r"`((?:admiral|trie|proofs|training|benchmarks|configs|tests|docs)/[\w./*-]+|\w+\.toml)`"
)
_MODULE = re.compile(r"\b(?:python|launch|2)\s-m\s((?:benchmarks|training|proofs)[\w.]*\w)")


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        assert target.is_file(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def anchors(page):
    """Return the ids of a page's headings, as MkDocs and GitHub make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\s-]", "", h).strip().lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_paths_and_modules_exist(page):
    text = page.read_text(encoding="utf-8")
    missing = [path for path in _PATH.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
    assert missing == []
    unknown = [name for name in _MODULE.findall(text) if find_spec(name) is None]
    assert unknown == []


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "docs").glob("*.ipynb")), ids=lambda each: each.name
)
def test_notebooks_have_no_outputs(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert cells
    assert not any(each.get("outputs") or each.get("execution_count") for each in cells)


def test_every_page_is_in_the_navigation():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))

    def named(entry):
        if isinstance(entry, str):
            return [entry]
        values = entry.values() if isinstance(entry, dict) else entry
        return [name for value in values for name in named(value)]

    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert set(named(site["nav"])) == there


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_settings_in_prose_exist(page):
    """Those of code blocks are checked with their command."""
    configs = (RetrievalConfig, CitationConfig, TrainConfig, VerifierConfig, EmConfig)
    known = {name for config in configs for name in config.model_fields}
    named = re.findall(r"--set\s(\w+)=", page.read_text(encoding="utf-8"))
    assert set(named) - known - OF_EXPERIMENTS - {"KEY"} == set()


@pytest.mark.slow
def test_the_site_is_built_and_self_contained(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--site-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]*\ssrc=\"?(?:https?:)?//|"
            r"<link[^>]*rel=\"?(?:stylesheet|preconnect|preload)[^>]*href=\"?(?:https?:)?//",
            page.read_text(encoding="utf-8"),
        )
        assert loaded == [], page


EVALUATION = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
TOLD = {"no answer", "no gold evidence"}  # what there is nothing to say of


@pytest.mark.parametrize("task", EVALUATION_TASKS.values(), ids=EVALUATION_TASKS)
def test_figures_and_formats(task):
    claim = GoldClaim("1", "c", Label.SUPPORTS, ((("A", 0),),))
    names = {m.name for m in task.measures(pairs((claim, answer())), [5])}
    assert {name for name in names if name.partition("@")[0] not in EVALUATION} == set()
    assert {
        name for name in task.formats if f"| {name} |" not in EVALUATION.replace("`", "")
    } == set()


def test_stages():
    assert {s.value for s in Outcome if f"| {s.value} |" not in EVALUATION} == TOLD
