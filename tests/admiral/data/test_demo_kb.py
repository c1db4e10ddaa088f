"""The bundled demo corpus and its claims are what the README says of them."""

import csv
import gzip
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from admiral.io.claims import read_claims
from admiral.kb.corpus.formats import detect_format, read_corpus
from admiral.kb.corpus.records import Record

ROOT = Path(__file__).parents[3]
FOLDER = files("admiral") / "data" / "demo"


def _rows(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def documents():
    return {row["title"]: row for row in _rows("documents.jsonl")}


@pytest.fixture(scope="module")
def claims():
    return _rows("claims.jsonl")


def _name(title):
    """Return a title as a sentence mentions it, without what tells namesakes apart."""
    return re.sub(r" \([^()]*\)$", "", title)


def test_counts(documents, claims):
    assert len(documents) == len(_rows("documents.jsonl")) >= 300  # titles are unique
    assert len(claims) >= 60
    assert len({claim["id"] for claim in claims}) == len(claims)
    assert len({claim["claim"] for claim in claims}) == len(claims)
    kinds = Counter((claim["num_hops"], claim["label"]) for claim in claims)
    assert set(kinds) == {(n, label) for n in (1, 2, 3, 4) for label in ("SUPPORTED", "REFUTED")}
    assert min(kinds.values()) >= 5


def test_our_reader_reads_the_documents_as_they_are(documents):
    path = FOLDER / "documents.jsonl"
    assert detect_format(path) == "jsonl"
    items = list(read_corpus(path, "jsonl"))
    assert len(items) == len(documents)
    for item in items:
        assert isinstance(item, Record)
        row = documents[item.document.title]
        assert item.document.sentences == tuple(row["sentences"])
        assert item.document.links == tuple(map(tuple, row["links"]))


def test_links_resolve_and_are_mentioned(documents):
    for title, row in documents.items():
        assert len(row["links"]) == len(row["sentences"]), title
        for sentence, links in zip(row["sentences"], row["links"], strict=True):
            assert len(set(links)) == len(links), title
            assert title not in links
            for link in links:
                assert link in documents, (title, link)
                assert _name(link) in sentence, (title, link)


def test_evidence_exists_and_counts_the_hops(documents, claims):
    for claim in claims:
        evidence = [tuple(pair) for pair in claim["evidence"]]
        assert len(set(evidence)) == len(evidence), claim["id"]
        assert len({title for title, _ in evidence}) == claim["num_hops"], claim["id"]
        for title, index in evidence:
            assert 0 <= index < len(documents[title]["sentences"]), claim["id"]


def test_every_gold_document_can_be_reached(documents, claims):
    """It is named by the claim, or linked from another gold sentence: a chain without gaps."""
    for claim in claims:
        if claim["num_hops"] == 1:  # may be a document that the claim only describes
            continue
        gold = {title for title, _ in claim["evidence"]}
        linked = {
            link for title, index in claim["evidence"] for link in documents[title]["links"][index]
        }
        named = {title for title in gold if _name(title).lower() in claim["claim"].lower()}
        # A chain may begin at one document that the claim describes without naming it.
        assert len(gold - linked - named) <= 1, claim["id"]


def test_the_claims_are_read_as_input(claims):
    read = list(read_claims(FOLDER / "claims.jsonl"))
    assert [(claim.id, claim.text) for claim in read] == [(c["id"], c["claim"]) for c in claims]


def _normal(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def test_no_claim_that_is_shown_was_trained_on(claims):
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the training data in ../shared/data")
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        claim
        for page in pages
        for claim in re.findall(
            r'admiral (?:retrieve|prove)[^"\n]* "([^"\n]{20,})"', page.read_text("utf-8")
        )
    }
    assert len(shown) >= 3
    shown |= {claim["claim"] for claim in claims}
    texts = {_normal(claim) for claim in shown}
    files = [*folder.glob("*/*.train*.jsonl"), *folder.glob("*/*.train.jsonl.gz")]
    assert files
    for path in [*files, folder / "ex-fever" / "claims.csv"]:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(newline="") as lines:
            read = csv.DictReader(lines) if path.suffix == ".csv" else map(json.loads, lines)
            for record in read:
                text = record.get("hypothesis") or record.get("claim") or record.get("sentence")
                assert _normal(str(text)) not in texts, f"{path.name} has {text!r}"
