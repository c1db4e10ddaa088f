"""Counts of mentions by title and alias, on claims counted by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, build
from admiral.retrieval.mentions import TitleMentionFinder
from benchmarks.mention_counts import MentionCounts, count_mentions, main

DOCUMENTS = [
    {"title": "Meyers, Seth", "sentences": ["Seth Meyers is a host from Illinois."]},
    {"title": "Late Night", "sentences": ["Late Night is a show of Seth Meyers."]},
    {"title": "Illinois", "sentences": ["It is a state."]},
    {"title": "Rome", "sentences": ["It is old."]},
]
CLAIMS = [
    ("Seth Meyers lives in Rome.", ["Meyers, Seth", "Late Night"]),
    ("A show's host comes from Illinois.", ["Late Night", "Meyers, Seth", "Illinois"]),
    ("It is unknown.", ["Nowhere"]),
]


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.jsonl"
    records = (
        {
            "uid": str(number),
            "claim": claim,
            "supporting_facts": [[title, 0] for title in gold],
            "label": "SUPPORTED",
        }
        for number, (claim, gold) in enumerate(CLAIMS)
    )
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    build(corpus, tmp_path / "kb", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        yield kb


def test_counts(kb: KnowledgeBase, claims: Path) -> None:
    gold = list(read_gold(claims))[:2]
    by_title = TitleMentionFinder(kb, aliases=False)
    # Illinois by the second claim and by Meyers, for whose first claim it is no gold document.
    assert count_mentions(by_title, gold) == MentionCounts(5, 1, 1, 1, 1)
    # Meyers by the first claim, and by Late Night.
    assert count_mentions(TitleMentionFinder(kb), gold) == MentionCounts(5, 2, 3, 1, 1)


def test_command(kb: KnowledgeBase, claims: Path) -> None:
    done = CliRunner().invoke(main, [str(claims), "--kb", str(kb.path)])
    assert done.exit_code == 0, done.output
    assert "2 of 3 claims" in done.output
    assert "| titles | 5 | 1 | 1 | 1 | 1 |" in done.output
    assert "| titles and aliases | 5 | 2 | 3 | 1 | 1 |" in done.output
