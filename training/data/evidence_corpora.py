"""Corpora that provide gold sentences and negatives, and claims with and without their evidence.

A corpus is a knowledge base, or the passages of a claim. Hard negatives are documents and sentences
that BM25 or the model's own beams confuse with gold.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from admiral import Admiral
from admiral.errors import AdmiralError, RecordError
from admiral.gold import GoldClaim, Label
from admiral.gold.formats import EvidenceSet
from admiral.io.text_cleaning import without_markup
from admiral.kb import KnowledgeBase
from admiral.kb.corpus.formats import detect_format, read_corpus
from admiral.records import Claim, Document, ScoredTitle


class GivenDocuments:
    """The documents that are given with a claim, or in addition to those of a knowledge base.

    A search returns those of the knowledge base or, without one, the documents in their order.
    """

    def __init__(self, documents: Iterable[Document], kb: Corpus | None = None) -> None:
        self._documents = {document.title: document for document in documents}
        self._kb = kb

    def row(self, title: str) -> int | None:
        """Return -1 for a given document, the row of another one, None if there is neither."""
        if title in self._documents:
            return -1
        return None if self._kb is None else self._kb.row(title)

    def document(self, title: str) -> Document:
        """Return a document."""
        if self._kb is None or title in self._documents:
            return self._documents[title]
        return self._kb.document(title)

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the documents that are found for each query, the best first."""
        if self._kb is not None:
            return self._kb.search(queries, k)
        ranking = [ScoredTitle(title, -float(n)) for n, title in enumerate(self._documents)]
        return [ranking[:k] for _ in queries]


Corpus = KnowledgeBase | GivenDocuments


def with_documents(kb: Corpus, files: Sequence[Path]) -> Corpus:
    """Return a knowledge base with the documents of files in any format of `admiral index`.

    Hyperlinks are replaced by their text. Raises `AdmiralError` if a file cannot be read or holds a
    bad record.
    """
    documents = []
    for path in files:
        for item in read_corpus(path, detect_format(path)):
            if isinstance(item, RecordError):
                raise item
            sentences = tuple(without_markup(text)[0] for text in item.document.sentences)
            documents.append(Document(item.document.title, sentences))
    return GivenDocuments(documents, kb) if files else kb


def missing_evidence(corpus: Corpus, evidence: EvidenceSet) -> str | None:
    """Return a message about evidence that a corpus lacks; None if it holds all of it."""
    for title, index in evidence:
        if corpus.row(title) is None:
            return f"there is no document {title!r}"
        if index is not None:
            count = len(corpus.document(title).sentences)
            if not 0 <= index < count:
                return f"{title!r} has no sentence {index}: it has {count}, counted from 0"
    return None


def holds_gold(corpus: Corpus, claim: GoldClaim) -> bool:
    """Return whether a claim has gold sentences and all of them are in a corpus."""
    return bool(claim.sentences) and missing_evidence(corpus, claim.evidence[0]) is None


def gold_sentences(claim: GoldClaim, corpus: Corpus) -> list[tuple[str, str]]:
    """Return the gold sentences of a claim with their titles.

    Raises `AdmiralError` if the corpus lacks one.
    """
    if problem := missing_evidence(corpus, claim.sentences):
        raise AdmiralError(f"{problem}. Was the corpus split into other sentences?")
    return [(title, corpus.document(title).sentences[n]) for title, n in claim.sentences]


# Negative sentences are the first ones of the first documents.
_DOCUMENTS, _SENTENCES = 8, 3
_HOPS = 2


@dataclass(frozen=True, slots=True)
class Negatives:
    """Negatives of one claim, the hardest first."""

    documents: tuple[Document, ...] = ()  # documents that are not gold
    # pairs (title, sentence), which may be from other documents
    sentences: tuple[tuple[str, str], ...] = ()


#: Finds the negatives of some claims.
NegativeSampler = Callable[[Sequence[GoldClaim]], list[Negatives]]


def searched_negatives(
    claims: Sequence[GoldClaim], corpus: Corpus, candidates: int
) -> list[Negatives]:
    """Return the documents that a search of a corpus returns for claims and that are not gold."""
    rankings = corpus.search([claim.claim for claim in claims], candidates)
    found = []
    for claim, ranking in zip(claims, rankings, strict=True):
        titles = [scored.title for scored in ranking if scored.title not in claim.all_titles]
        documents = tuple(corpus.document(title) for title in titles)
        found.append(Negatives(documents, first_sentences(documents)))
    return found


def beam_negatives(
    claims: Sequence[GoldClaim], system: Admiral, candidates: int
) -> list[Negatives]:
    """Return documents of the wrong sets that a model retrieves, and evidence that is not gold.

    Those of `searched_negatives` follow.
    """
    inputs = [Claim(str(number), claim.claim) for number, claim in enumerate(claims)]
    results = system.retrieve_many(inputs, hops=_HOPS)
    searched = searched_negatives(claims, system.kb, candidates)
    found = []
    for claim, result, others in zip(claims, results, searched, strict=True):
        titles = set(claim.all_titles)
        sets = [each.titles for hop in reversed(result.hops) for each in hop.document_sets]
        wrong = dict.fromkeys(title for own in sets for title in own if title not in titles)
        documents = [system.kb.document(title) for title in wrong]
        documents += [each for each in others.documents if each.title not in wrong]
        documents = documents[: max(len(others.documents), len(wrong))]
        chosen = [
            (each.title, each.text)
            for hop in reversed(result.hops)
            for each in hop.evidence
            if each.title not in titles
        ]
        sentences = dict.fromkeys((*chosen, *first_sentences(documents)))
        found.append(Negatives(tuple(documents), tuple(sentences)))
    return found


def first_sentences(documents: Sequence[Document]) -> tuple[tuple[str, str], ...]:
    """Return the first sentences of the first documents, as pairs (title, sentence)."""
    return tuple(
        (document.title, sentence)
        for document in documents[:_DOCUMENTS]
        for sentence in document.sentences[:_SENTENCES]
    )


_CANDIDATES = 20  # documents that BM25 retrieves for a claim
_BATCH_SIZE = 256  # claims that are searched together
_EVIDENCE_SENTENCES = 5  # sentences of evidence; more only of claims with more gold sentences


@dataclass(frozen=True, slots=True)
class JudgedEvidence:
    """A claim with evidence that is sufficient, or lacks a gold document."""

    claim: str
    evidence: tuple[tuple[str, str], ...]  # pairs (title, sentence)
    sufficient: bool
    label: Label | None  # of the claim; ``NOT ENOUGH INFO`` if evidence is withheld
    gold_documents: int  # number of the claim's gold documents, including a withheld one


def judged_evidence(
    corpus: Corpus, claims: Iterable[GoldClaim], *, seed: int = 0
) -> Iterator[JudgedEvidence]:
    """Yield each claim with its gold evidence, then without the sentences of a gold document.

    Both are filled up with distractors, the first sentences of other documents that BM25 finds for
    the claim, so that the number of sentences reveals nothing. What a claim gives depends on the
    claim and the seed, not on the other claims. Claims whose gold sentences the corpus lacks are
    left out.
    """
    known = (claim for claim in claims if holds_gold(corpus, claim))
    while batch := list(islice(known, _BATCH_SIZE)):
        negatives = searched_negatives(batch, corpus, _CANDIDATES)
        for claim, others in zip(batch, negatives, strict=True):
            rng = random.Random(f"{seed} {claim.claim}")
            gold, distractors = gold_sentences(claim, corpus), list(others.sentences)
            withheld = rng.choice(claim.titles)
            rng.shuffle(distractors)
            for sufficient in (True, False):
                kept = gold if sufficient else [pair for pair in gold if pair[0] != withheld]
                evidence = kept + distractors[: max(_EVIDENCE_SENTENCES - len(kept), 0)]
                rng.shuffle(evidence)
                label = claim.label if sufficient else Label.NOT_ENOUGH_INFO
                yield JudgedEvidence(
                    claim.claim, tuple(evidence), sufficient, label, len(claim.titles)
                )
