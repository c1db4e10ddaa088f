"""Corpora that provide gold sentences and negatives: a knowledge base, or passages of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from admiral.errors import AdmiralError, RecordError
from admiral.gold import EvidenceSet, GoldClaim
from admiral.io.text_cleaning import without_markup
from admiral.kb.corpus.readers import detect_format, read_corpus
from admiral.records import Document, ScoredTitle


class Corpus(Protocol):
    """The part of a knowledge base that building samples needs."""

    def row(self, title: str) -> int | None:
        """Return the row of a title, None if there is no such document."""
        ...

    def document(self, title: str) -> Document:
        """Return the document with a title."""
        ...

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the best `k` documents for each query."""
        ...


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


def read_documents(paths: Iterable[Path]) -> dict[str, Document]:
    """Return documents in any format of `admiral index`, hyperlinks replaced by their text.

    Raises
    ------
    AdmiralError
        If a file cannot be read or holds a bad record.
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

    Raises
    ------
    AdmiralError
        If the corpus does not have it.
    """
    problem = missing_evidence(corpus, ((title, index),))
    if problem is not None:
        raise AdmiralError(f"{problem}. Was the corpus split into other sentences?")
    return corpus.document(title).sentences[index]
