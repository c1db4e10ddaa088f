"""Hard negatives: documents and sentences that BM25 or the model's own beams confuse with gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from admiral.gold import GoldClaim
from admiral.records import Claim, Document, RetrievalResult
from training.data.evidence_corpora import Corpus

if TYPE_CHECKING:
    from admiral import Admiral

# Negative sentences are the first ones of the first documents.
_DOCUMENTS, _SENTENCES = 8, 3
_HOPS = 2


@dataclass(frozen=True, slots=True)
class Negatives:
    """Negatives of one claim, the hardest first.

    Attributes
    ----------
    documents
        Documents that are not gold.
    sentences
        Pairs (title, sentence), which may be from other documents.
    """

    documents: tuple[Document, ...]
    sentences: tuple[tuple[str, str], ...]


class NegativeSampler(Protocol):
    """Finds the negatives of claims."""

    def find(self, claims: Sequence[GoldClaim]) -> list[Negatives]:
        """Return the negatives of each claim."""
        ...


class Bm25Negatives:
    """Negatives that a search of the corpus returns for the claim.

    Parameters
    ----------
    corpus
        A knowledge base, which is searched by BM25, or the passages of the claim.
    candidates
        Number of documents per claim.
    """

    def __init__(self, corpus: Corpus, candidates: int) -> None:
        self._corpus, self._candidates = corpus, candidates

    def find(self, claims: Sequence[GoldClaim]) -> list[Negatives]:
        """Return the retrieved documents that are not gold."""
        rankings = self._corpus.search([claim.claim for claim in claims], self._candidates)
        return [
            self._not_gold([scored.title for scored in ranking], claim)
            for claim, ranking in zip(claims, rankings, strict=True)
        ]

    def _not_gold(self, titles: Sequence[str], claim: GoldClaim) -> Negatives:
        gold = set(claim.all_titles)
        documents = [self._corpus.document(title) for title in titles if title not in gold]
        return Negatives(tuple(documents), first_sentences(documents))


class BeamNegatives:
    """Negatives that a trained model retrieves, followed by those of another sampler.

    Parameters
    ----------
    system
        A system with the trained model and the knowledge base of the claims.
    fallback
        Provides further negatives where the beams hold too few.
    """

    def __init__(self, system: Admiral, fallback: NegativeSampler) -> None:
        self._system, self._fallback = system, fallback

    def find(self, claims: Sequence[GoldClaim]) -> list[Negatives]:
        """Return documents of wrong document sets, and evidence that is not gold."""
        numbered = [Claim(str(number), claim.claim) for number, claim in enumerate(claims)]
        results = self._system.retrieve_many(numbered, hops=_HOPS)
        return [
            self._merged(claim, result, others)
            for claim, result, others in zip(
                claims, results, self._fallback.find(claims), strict=True
            )
        ]

    def _merged(self, claim: GoldClaim, result: RetrievalResult, others: Negatives) -> Negatives:
        gold_titles = set(claim.all_titles)
        gold_sentences = {sentence for evidence in claim.evidence for sentence in evidence}
        sets = [s.titles for hop in reversed(result.hops) for s in hop.document_sets]
        wrong = dict.fromkeys(t for titles in sets for t in titles if t not in gold_titles)
        documents = [self._system.kb.document(title) for title in wrong]
        known = set(wrong)
        documents += [d for d in others.documents if d.title not in known]
        documents = documents[: max(len(others.documents), len(wrong))]
        chosen = [
            (s.title, s.text)
            for hop in reversed(result.hops)
            for s in hop.evidence
            if s.key not in gold_sentences and s.title not in gold_titles
        ]
        sentences = dict.fromkeys((*chosen, *first_sentences(documents)))
        return Negatives(tuple(documents), tuple(sentences))


def first_sentences(documents: Sequence[Document]) -> tuple[tuple[str, str], ...]:
    """Return the first sentences of the first documents, as pairs (title, sentence)."""
    return tuple(
        (document.title, sentence)
        for document in documents[:_DOCUMENTS]
        for sentence in document.sentences[:_SENTENCES]
    )
