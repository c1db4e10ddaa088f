"""Contrastive twins: groups of claims about a document that differ in one thing."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.admiral.synthesis.in_memory_documents import DOCUMENTS, InMemoryDocuments
from training.data.contrastive_twins import TwinWriter
from training.data.verification_pairs import Pair

SENTENCES = {text for document in DOCUMENTS for text in document.sentences}


def written(seed: int = 0, excluded: tuple[str, ...] = ()) -> list[Pair]:
    return list(TwinWriter(InMemoryDocuments(), seed, excluded).pairs())


def test_the_same_seed_gives_the_same_pairs_of_all_labels() -> None:
    pairs = written()
    assert pairs == written()
    assert pairs != written(1)
    assert {pair.label for pair in pairs} == {"entailment", "contradiction", "neutral"}
    assert all(pair.relevance for pair in pairs if pair.label != "neutral")
    assert {pair.relevance for pair in pairs if pair.label == "neutral"} == {True, False}


def test_neither_the_claim_nor_its_negation_gives_the_label_away() -> None:
    labels: defaultdict[str, set[str]] = defaultdict(set)
    negated: Counter[str] = Counter()
    for pair in (pair for seed in range(6) for pair in written(seed)):
        labels[pair.claim].add(pair.label)
        negated[pair.label] += " not " in pair.claim or " never " in pair.claim
    assert sum(len(of_claim) > 1 for of_claim in labels.values()) > len(labels) / 8
    assert min(negated["entailment"], negated["contradiction"], negated["neutral"]) > 0


def test_nothing_is_written_about_excluded_documents() -> None:
    titles = [pair.evidence.partition(":")[0] for pair in written()]
    assert titles[0] not in [
        pair.evidence.partition(":")[0] for pair in written(excluded=(titles[0],))
    ]
