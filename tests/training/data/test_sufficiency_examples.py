"""Examples of sufficient and insufficient evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from admiral import Admiral, Claim
from admiral.config import load_config
from admiral.gold import GoldClaim, read_gold
from admiral.kb import KnowledgeBase, demo_kb
from training.data.sufficiency_examples import (
    retrieved_examples,
    sentence_claims,
    sufficiency_examples,
)

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
# Stages that take little time.
QUICK = ("reranker=bm25", "judge=never", "title_beams=0", "beam_size=4", "hops=2")


@pytest.fixture(scope="module")
def kb(user_cache: None) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(demo_kb()) as opened:
        yield opened


def test_incomplete_evidence_lacks_one_gold_document(kb: KnowledgeBase) -> None:
    claims = list(read_gold(DEMO))[:30]
    examples = list(sufficiency_examples(kb, claims, seed=3))
    assert len(examples) == 60
    for claim, full, part in zip(claims, examples[::2], examples[1::2], strict=True):
        gold = {(t, kb.document(t).sentences[i]) for t, i in claim.sentences}
        assert full.claim == part.claim == claim.claim
        assert full.sufficient and not part.sufficient
        assert gold <= set(full.evidence)
        lost = gold - set(part.evidence)
        assert len({title for title, _ in lost}) == 1
        (title,) = {title for title, _ in lost}
        assert title not in {t for t, _ in part.evidence}
        assert len(full.evidence) == max(5, len(gold)) and len(part.evidence) >= 5 - len(lost)
    # The examples of a claim depend on the seed, not on other claims.
    assert list(sufficiency_examples(kb, claims[7:8], seed=3)) == examples[14:16]
    assert list(sufficiency_examples(kb, claims, seed=4)) != examples
    unknown = GoldClaim("1", "No.", None, ((("No such title", 0),),))
    assert list(sufficiency_examples(kb, [unknown])) == []


def test_selected_evidence_is_labelled_by_its_documents(user_cache: None) -> None:
    claims = [replace(claim, id=str(n)) for n, claim in enumerate(list(read_gold(DEMO))[:8])]
    with Admiral.from_pretrained(config=load_config(None, QUICK)) as system:
        examples = list(retrieved_examples(system, claims, seed=1))
        assert examples == list(retrieved_examples(system, claims, seed=1))
        results = list(system.retrieve_many([Claim(c.id, c.claim) for c in claims]))
    withheld = 0
    for claim, result, cases in zip(claims, results, examples, strict=True):
        chosen = [tuple((s.title, s.text) for s in hop.evidence) for hop in result.hops]
        extra = [example for example in cases if example.evidence not in chosen]
        assert [e.evidence for e in cases if e not in extra] == [c for c in chosen if c]
        gold = set(claim.titles)
        for example in cases:
            assert example.claim == claim.claim and example.gold_documents == len(gold)
            assert example.sufficient == (gold <= {title for title, _ in example.evidence})
        for example in extra:
            withheld += 1
            assert len(gold - {title for title, _ in example.evidence}) == 1 and len(extra) == 1
            first = next(c for c in chosen if gold <= {title for title, _ in c})
            assert set(example.evidence) < set(first)
    assert withheld > 2
    assert {example.sufficient for cases in examples for example in cases} == {True, False}


def test_sentence_claims_come_with_and_without_their_document(kb: KnowledgeBase) -> None:
    claim_examples = list(sufficiency_examples(kb, list(read_gold(DEMO))[:30]))
    examples = list(sentence_claims(claim_examples))
    assert len(examples) > 20 and {example.sufficient for example in examples} == {True, False}
    for example in examples:
        titles = [title for title, sentence in example.evidence if sentence == example.claim]
        assert len(titles) == example.sufficient
        assert all(title in example.claim for title in titles)
    assert list(sentence_claims(claim_examples)) == examples
