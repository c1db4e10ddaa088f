"""Where gold sentences and negatives stand: a knowledge base, documents besides, or passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from admiral.errors import AdmiralError, RecordError
from admiral.gold import EvidenceSet, GoldClaim
from admiral.kb.corpus.readers import detect_format, read_corpus
from admiral.records import Document, ScoredTitle

# Hyperlinks in the text of FEVEROUS: [[Target|text]].
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")


class Corpus(Protocol):
    """What samples need of a knowledge base."""

    def row(self, title: str) -> int | None: ...
    def document(self, title: str) -> Document: ...
    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]: ...


class ExtendedCorpus:
    """A corpus with some documents besides, which its search does not know."""

    def __init__(self, corpus: Corpus, documents: Mapping[str, Document]) -> None:
        self._corpus, self._documents = corpus, documents

    def row(self, title: str) -> int | None:
        """Return the row of a title, -1 for a document besides, None for neither."""
        return -1 if title in self._documents else self._corpus.row(title)

    def document(self, title: str) -> Document:
        """Return a document besides or one of the corpus."""
        found = self._documents.get(title)
        return self._corpus.document(title) if found is None else found

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Search the corpus."""
        return self._corpus.search(queries, k)


class PassageCorpus:
    """The few documents that come with a claim; all of them are found, in their order."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = {document.title: document for document in documents}

    def row(self, title: str) -> int | None:
        """Return the place of a title, None if there is no such passage."""
        titles = list(self._documents)
        return titles.index(title) if title in self._documents else None

    def document(self, title: str) -> Document:
        """Return a passage."""
        return self._documents[title]

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        """Return the passages for each query."""
        found = [ScoredTitle(title, -float(n)) for n, title in enumerate(self._documents)]
        return [found[:k] for _ in queries]


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
            found = item.document
            sentences = tuple(_LINK.sub(r"\1", sentence) for sentence in found.sentences)
            documents[found.title] = Document(found.title, sentences)
    return documents


def fault(corpus: Corpus, evidence: EvidenceSet) -> str | None:
    """Return what of the evidence a corpus lacks, in words; None if it holds all of it."""
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
    return bool(claim.sentences) and fault(corpus, claim.evidence[0]) is None


def sentence_of(corpus: Corpus, title: str, index: int) -> str:
    """Return a sentence; AdmiralError if the document has no such one."""
    wrong = fault(corpus, ((title, index),))
    if wrong is not None:
        raise AdmiralError(f"{wrong}. Was the corpus split into sentences otherwise?")
    return corpus.document(title).sentences[index]
