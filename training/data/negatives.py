"""Documents and sentences that look like evidence and are not: BM25's, and the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from admiral.gold import GoldClaim
from admiral.records import Claim, Document, RetrievalResult
from training.data.corpora_of_claims import Corpus

if TYPE_CHECKING:
    from admiral import Admiral

# Sentences are drawn from so many documents, and from so many at the start of each.
_DOCUMENTS, _SENTENCES = 8, 3
_HOPS = 2


@dataclass(frozen=True, slots=True)
class Negatives:
    """What is wrong for one claim, the most deceptive first.

    Attributes
    ----------
    documents
        None of them is gold.
    sentences
        (title, sentence) pairs, also of other documents than these.
    """

    documents: tuple[Document, ...]
    sentences: tuple[tuple[str, str], ...]


class NegativeSampler(Protocol):
    """Finds the negatives of claims."""

    def find(self, claims: Sequence[GoldClaim]) -> list[Negatives]: ...


class Bm25Negatives:
    """What the search of a corpus finds for the claim.

    Parameters
    ----------
    corpus
        Is searched by BM25, or gives the passages of the claim.
    candidates
        Documents per claim.
    """

    def __init__(self, corpus: Corpus, candidates: int) -> None:
        self._corpus, self._candidates = corpus, candidates

    def find(self, claims: Sequence[GoldClaim]) -> list[Negatives]:
        """Return what is found and not gold."""
        results = self._corpus.search([c.claim for c in claims], self._candidates)
        return [
            self._of([one.title for one in found], claim)
            for claim, found in zip(claims, results, strict=True)
        ]

    def _of(self, titles: Sequence[str], claim: GoldClaim) -> Negatives:
        gold = {title for one in claim.title_sets for title in one}
        documents = [self._corpus.document(title) for title in titles if title not in gold]
        return Negatives(tuple(documents), first_sentences(documents))


class BeamNegatives:
    """The wrong document sets and sentences that a trained model comes to, then what BM25 finds.

    Parameters
    ----------
    system
        The trained model over the knowledge base of the claims.
    searched
        Fills up what the model's beams are too few for.
    """

    def __init__(self, system: Admiral, searched: NegativeSampler) -> None:
        self._system, self._searched = system, searched

    def find(self, claims: Sequence[GoldClaim]) -> list[Negatives]:
        """Return the members of wrong sets, and what was taken for evidence and is not."""
        asked = [Claim(str(number), claim.claim) for number, claim in enumerate(claims)]
        results = self._system.retrieve_many(asked, hops=_HOPS)
        return [
            self._merged(claim, result, others)
            for claim, result, others in zip(
                claims, results, self._searched.find(claims), strict=True
            )
        ]

    def _merged(self, claim: GoldClaim, result: RetrievalResult, others: Negatives) -> Negatives:
        titles = {title for one in claim.title_sets for title in one}
        gold = {pair for one in claim.evidence for pair in one}
        sets = [one.titles for hop in reversed(result.hops) for one in hop.document_sets]
        wrong = dict.fromkeys(title for one in sets for title in one if title not in titles)
        documents = [self._system.kb.document(title) for title in wrong]
        known = set(wrong)
        documents += [d for d in others.documents if d.title not in known]
        documents = documents[: max(len(others.documents), len(wrong))]
        chosen = [
            (s.title, s.text)
            for hop in reversed(result.hops)
            for s in hop.evidence
            if s.key not in gold and s.title not in titles
        ]
        sentences = dict.fromkeys((*chosen, *first_sentences(documents)))
        return Negatives(tuple(documents), tuple(sentences))


def first_sentences(documents: Sequence[Document]) -> tuple[tuple[str, str], ...]:
    """Return the first sentences of the first documents, as pairs of title and sentence."""
    return tuple(
        (document.title, sentence)
        for document in documents[:_DOCUMENTS]
        for sentence in document.sentences[:_SENTENCES]
    )
