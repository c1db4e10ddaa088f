"""Samples of link prediction, from the demo knowledge base."""

from itertools import islice

import pytest
from click.testing import CliRunner

from admiral.kb import KnowledgeBase, demo_kb
from training.data.samples import read_samples
from training.link_prediction import PseudoClaimSampler
from training.link_prediction import main as link_prediction


@pytest.fixture(scope="module")
def kb(user_cache):
    with KnowledgeBase.open(demo_kb("bm25s")) as opened:
        yield opened


def first_samples(kb, seed=0, excluded=()):
    return list(islice(PseudoClaimSampler(kb, seed, excluded).samples(), 300))


def test_evidence_is_quoted_and_links_the_gold_documents(kb):
    hops = set()
    for sample in first_samples(kb):
        hops.add(sample.hop)
        assert sample.claim and sample.targets() and len(set(sample.gold)) == len(sample.gold)
        assert len(sample.evidence) <= 5 and len(set(sample.evidence)) == len(sample.evidence)
        for title, sentence in sample.evidence:
            assert sentence in kb.document(title).sentences
        assert bool(sample.evidence) == bool(sample.hop)
    assert hops == {0, 1, 2}


def test_excluded_documents_are_never_gold(kb):
    excluded = tuple({title for sample in first_samples(kb)[:50] for title in sample.gold})
    assert all(set(excluded).isdisjoint(sample.gold) for sample in first_samples(kb, 0, excluded))


def test_the_program_writes_the_requested_number_of_samples(tmp_path):
    out = tmp_path / "links.jsonl"
    result = CliRunner().invoke(link_prediction, [str(out), "--count", "20"])
    assert result.exit_code == 0, result.output
    assert len(list(read_samples(out))) == 20
