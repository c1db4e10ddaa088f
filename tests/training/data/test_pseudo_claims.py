"""Pseudo-claims of the demo's documents, and what is right for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.kb import KnowledgeBase, demo_kb
from training.data.samples import RetrieveSample, read_samples
from training.link_prediction import LinkPrediction, main


@pytest.fixture(scope="module")
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


def drawn(kb: KnowledgeBase, seed: int = 0, excluded: tuple[str, ...] = ()) -> list[RetrieveSample]:
    return list(islice(LinkPrediction(kb, seed, excluded).samples(), 300))


def test_evidence_is_quoted_and_links_the_gold_documents(kb: KnowledgeBase) -> None:
    hops = set()
    for sample in drawn(kb):
        hops.add(sample.hop)
        assert sample.claim and sample.targets() and len(set(sample.gold)) == len(sample.gold)
        assert len(sample.evidence) <= 5 and len(set(sample.evidence)) == len(sample.evidence)
        for title, sentence in sample.evidence:
            assert sentence in kb.document(title).sentences
        assert bool(sample.evidence) == bool(sample.hop)
    assert hops == {0, 1, 2}


def test_a_title_is_kept_shortened_or_masked(kb: KnowledgeBase) -> None:
    found = drawn(kb)
    named = sum(any(title in sample.claim for title in sample.gold) for sample in found)
    assert 0.2 < named / len(found) < 0.95


def test_the_seed_decides(kb: KnowledgeBase) -> None:
    assert drawn(kb, 1) == drawn(kb, 1) != drawn(kb, 2)


def test_excluded_documents_are_never_gold(kb: KnowledgeBase) -> None:
    excluded = tuple({title for sample in drawn(kb)[:50] for title in sample.gold})
    assert all(set(excluded).isdisjoint(sample.gold) for sample in drawn(kb, 0, excluded))


def test_the_program_writes_as_many_samples_as_it_was_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "links.jsonl"
    result = CliRunner().invoke(main, [str(out), "--count", "20"])
    assert result.exit_code == 0, result.output
    assert len(list(read_samples(out))) == 20
