"""Corpora that provide gold sentences and negatives, and claims with and without their evidence.

A corpus is a knowledge base, or the passages of a claim. Hard negatives are documents and sentences
that BM25 or the model's own beams confuse with gold.

To fit and to compare judges, there are two examples of each claim with gold sentences: one with all
gold sentences, and one without the sentences of one gold document. Both are filled up with
distractors, sentences of other documents that BM25 retrieves for the claim, so that the number of
sentences reveals nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from admiral.records import Claim, Document, RetrievalResult, ScoredTitle


class ExtendedCorpus:
    """A corpus with additional documents, which its search does not return."""

    def __init__(self, corpus: Corpus, documents: Mapping[str, Document]) -> None:
        self._corpus, self._documents = corpus, documents

    def row(self, title: str) -> int | None:
        """Return the row of a title, -1 for an additional document, None if there is neither."""
        return -1 if title in self._documents else self._corpus.row(title)

    def document(self, title: str) -> Document:
        """Return an additional document, or one of the corpus."""
        document = self._documents.get(title)
        return self._corpus.document(title) if document is None else document

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Search the corpus."""
        return self._corpus.search(queries, k)


def with_documents(corpus: Corpus, files: Sequence[Path]) -> Corpus:
    """Return a corpus with the documents of some files, or the corpus itself without any."""
    return ExtendedCorpus(corpus, read_documents(files)) if files else corpus


class PassageCorpus:
    """The few documents that are given with a claim. A search returns them in their order."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = {document.title: document for document in documents}

    def row(self, title: str) -> int | None:
        """Return the position of a passage, None if there is none with this title."""
        titles = list(self._documents)
        return titles.index(title) if title in self._documents else None

    def document(self, title: str) -> Document:
        """Return a passage."""
        return self._documents[title]

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the passages for each query."""
        ranking = [ScoredTitle(title, -float(n)) for n, title in enumerate(self._documents)]
        return [ranking[:k] for _ in queries]


Corpus = KnowledgeBase | ExtendedCorpus | PassageCorpus


def read_documents(paths: Iterable[Path]) -> dict[str, Document]:
    """Return documents in any format of `admiral index`, hyperlinks replaced by their text.

    Raises `AdmiralError` if a file cannot be read or holds a bad record.
    """
    documents = {}
    for path in paths:
        for item in read_corpus(path, detect_format(path)):
            if isinstance(item, RecordError):
                raise item
            title = item.document.title
            sentences = tuple(without_markup(text)[0] for text in item.document.sentences)
            documents[title] = Document(title, sentences)
    return documents


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


def sentence_of(corpus: Corpus, title: str, index: int) -> str:
    """Return a sentence of a document.

    Raises `AdmiralError` if the corpus does not have it.
    """
    problem = missing_evidence(corpus, ((title, index),))
    if problem is not None:
        raise AdmiralError(f"{problem}. Was the corpus split into other sentences?")
    return corpus.document(title).sentences[index]


# Negative sentences are the first ones of the first documents.
_DOCUMENTS, _SENTENCES = 8, 3
_HOPS = 2


@dataclass(frozen=True, slots=True)
class Negatives:
    """Negatives of one claim, the hardest first."""

    documents: tuple[Document, ...]  # documents that are not gold
    # pairs (title, sentence), which may be from other documents
    sentences: tuple[tuple[str, str], ...]


class Bm25Negatives:
    """Negatives that a search of the corpus returns for the claim.

    `corpus`: a knowledge base, which is searched by BM25, or the passages of the claim.
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
    """Negatives that a trained model retrieves, followed by those of another sampler."""

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


NegativeSampler = Bm25Negatives | BeamNegatives


def first_sentences(documents: Sequence[Document]) -> tuple[tuple[str, str], ...]:
    """Return the first sentences of the first documents, as pairs (title, sentence)."""
    return tuple(
        (document.title, sentence)
        for document in documents[:_DOCUMENTS]
        for sentence in document.sentences[:_SENTENCES]
    )


_CANDIDATES = 20  # documents that BM25 retrieves for a claim
# Distractors are the first sentences of the best documents.
_DISTRACTOR_DOCUMENTS, _DISTRACTOR_SENTENCES = 8, 3
_BATCH_SIZE = 256  # claims that are searched together
_EVIDENCE_SENTENCES = 5  # sentences of evidence; more only of claims with more gold sentences


@dataclass(frozen=True, slots=True)
class SufficiencyExample:
    """A claim with evidence that is labelled sufficient or insufficient."""

    claim: str  # the claim
    evidence: tuple[tuple[str, str], ...]  # pairs (title, sentence)
    sufficient: bool  # the label
    gold_documents: int  # number of the claim's gold documents, including a withheld one


def sufficiency_examples(
    corpus: Corpus, claims: Iterable[GoldClaim], *, seed: int = 0
) -> Iterator[SufficiencyExample]:
    """Yield each claim with sufficient evidence, then with insufficient evidence.

    The examples of a claim depend on the claim and the seed, not on the other claims. Claims whose
    gold sentences the corpus lacks are left out.
    """
    known = (claim for claim in claims if holds_gold(corpus, claim))
    while batch := list(islice(known, _BATCH_SIZE)):
        rankings = corpus.search([claim.claim for claim in batch], _CANDIDATES)
        for claim, ranking in zip(batch, rankings, strict=True):
            titles = [scored.title for scored in ranking if scored.title not in claim.all_titles]
            distractors = [
                (title, sentence)
                for title in titles[:_DISTRACTOR_DOCUMENTS]
                for sentence in corpus.document(title).sentences[:_DISTRACTOR_SENTENCES]
            ]
            rng = random.Random(f"{seed} {claim.claim}")
            yield from _complete_and_incomplete(corpus, claim, distractors, rng)


def _complete_and_incomplete(
    corpus: Corpus,
    claim: GoldClaim,
    distractors: list[tuple[str, str]],
    rng: random.Random,
) -> Iterator[SufficiencyExample]:
    gold = [(title, corpus.document(title).sentences[index]) for title, index in claim.sentences]
    withheld = rng.choice(claim.titles)
    rng.shuffle(distractors)
    for sufficient in (True, False):
        kept = gold if sufficient else [pair for pair in gold if pair[0] != withheld]
        evidence = kept + distractors[: max(_EVIDENCE_SENTENCES - len(kept), 0)]
        rng.shuffle(evidence)
        yield SufficiencyExample(claim.claim, tuple(evidence), sufficient, len(claim.titles))


@dataclass(frozen=True, slots=True)
class VerdictExample:
    """A claim with evidence and a label."""

    claim: str  # the claim
    evidence: tuple[tuple[str, str], ...]  # pairs (title, sentence)
    label: Label  # the label of the claim; ``NOT ENOUGH INFO`` if evidence was withheld


def gold_examples(
    corpus: Corpus, claims: Sequence[GoldClaim], seed: int
) -> Iterator[VerdictExample]:
    """Yield labelled claims with their gold evidence, then without the sentences of a document.

    Distractors are added as in `sufficiency_examples`. Claims without gold sentences in the corpus
    are left out.
    """
    labels = {claim.claim: claim.label for claim in claims}
    for example in sufficiency_examples(corpus, claims, seed=seed):
        label = labels[example.claim]
        if label is None or not example.evidence:
            continue
        if not example.sufficient:
            label = Label.NOT_ENOUGH_INFO
        yield VerdictExample(example.claim, example.evidence, label)
