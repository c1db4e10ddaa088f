"""Pseudo-claims of the demo knowledge base, and their samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.kb import KnowledgeBase, demo_kb
from training.data.samples import RetrieveSample, read_samples
from training.link_prediction import PseudoClaimSampler, main


@pytest.fixture(scope="module")
def kb() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


def first_samples(
    kb: KnowledgeBase, seed: int = 0, excluded: tuple[str, ...] = ()
) -> list[RetrieveSample]:
    return list(islice(PseudoClaimSampler(kb, seed, excluded).samples(), 300))


def test_evidence_is_quoted_and_links_the_gold_documents(kb: KnowledgeBase) -> None:
    hops = set()
    for sample in first_samples(kb):
        hops.add(sample.hop)
        assert sample.claim and sample.targets() and len(set(sample.gold)) == len(sample.gold)
        assert len(sample.evidence) <= 5 and len(set(sample.evidence)) == len(sample.evidence)
        for title, sentence in sample.evidence:
            assert sentence in kb.document(title).sentences
        assert bool(sample.evidence) == bool(sample.hop)
    assert hops == {0, 1, 2}


def test_a_title_is_kept_shortened_or_masked(kb: KnowledgeBase) -> None:
    samples = first_samples(kb)
    named = sum(any(title in sample.claim for title in sample.gold) for sample in samples)
    assert 0.2 < named / len(samples) < 0.95


def test_samples_depend_on_the_seed(kb: KnowledgeBase) -> None:
    assert first_samples(kb, 1) == first_samples(kb, 1) != first_samples(kb, 2)


def test_excluded_documents_are_never_gold(kb: KnowledgeBase) -> None:
    excluded = tuple({title for sample in first_samples(kb)[:50] for title in sample.gold})
    assert all(set(excluded).isdisjoint(sample.gold) for sample in first_samples(kb, 0, excluded))


def test_the_program_writes_the_requested_number_of_samples(tmp_path: Path) -> None:
    out = tmp_path / "links.jsonl"
    result = CliRunner().invoke(main, [str(out), "--count", "20"])
    assert result.exit_code == 0, result.output
    assert len(list(read_samples(out))) == 20
