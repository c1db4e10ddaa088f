"""The README is short, links and paths lead somewhere, and the language is plain."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib.util import find_spec

import pytest
import yaml

from admiral import RetrievalConfig
from tests.docs.code_blocks import GENERATED, OF_EXPERIMENTS, PAGES, ROOT
from training.multitask.multitask_settings import TrainConfig
from training.verification.verifier_settings import VerifierConfig

CHANGELOG = ROOT / "CHANGELOG.md"
WRITTEN = [page for page in (*PAGES, CHANGELOG) if page != GENERATED]
_PATH = re.compile(
    r"`((?:admiral|trie|proofs|training|benchmarks|configs|tests|docs)/[\w./*-]+|\w+\.toml)`"
)
_MODULE = re.compile(r"\b(?:python|launch|2)\s-m\s((?:benchmarks|training|proofs)[\w.]*\w)")
# Phrases that a native technical writer would not use, and American spellings.
_PHRASES = (
    r"goes? on\b|went on\b|going on\b|to be had|whoever|\bbesides\b|is told\b|are told\b|\btells?\b"
    r"|what is there|of one's own|passed over|normaliz|standardiz|optimiz|initializ|generaliz"
    r"|summariz|recogniz|behavior|\bcolor\b|\blicense\b|analyz|labeled|canceled|\bcenter"
)


def prose(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`]*`", "", text)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 250


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


def test_every_page_is_in_the_navigation():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))

    def named(entry):
        if isinstance(entry, str):
            return [entry]
        values = entry.values() if isinstance(entry, dict) else entry
        return [name for value in values for name in named(value)]  # type: ignore[attr-defined]

    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert set(named(site["nav"])) == there


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_settings_in_prose_exist(page):
    """Those of code blocks are checked with their command."""
    known = {
        f.name for config in (RetrievalConfig, TrainConfig, VerifierConfig) for f in fields(config)
    }
    named = re.findall(r"--set\s(\w+)=", page.read_text(encoding="utf-8"))
    assert set(named) - known - OF_EXPERIMENTS - {"KEY"} == set()


def test_every_setting_of_retrieval_is_explained():
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)`", text, flags=re.M))
    assert {field.name for field in fields(RetrievalConfig)} - named == set()


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_the_language_is_plain(page):
    text = prose(page)
    if page.name == "CONTRIBUTING.md":  # it shows what not to write
        text = re.sub(r"^\|.*\n", "", text, flags=re.M)
    # Links and file names keep their spelling.
    text = re.sub(r"\]\([^)]*\)|\bLICENSE\b", "", text)
    assert re.findall(_PHRASES, text, re.IGNORECASE) == []


def test_no_page_names_a_machine():
    wanted = "|".join(
        (r"/work/\w", r"/home/\w", r"/root/\w", "pypi" + r"\.org", "python" + "hosted")
    )
    for page in (*PAGES, CHANGELOG, ROOT / "mkdocs.yml"):
        assert re.findall(wanted, page.read_text(encoding="utf-8")) == [], page


def test_the_changelog_names_the_release():
    text = CHANGELOG.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.M)[0] == "[Unreleased] 0.2.0"
    assert "### Renamed" in text
