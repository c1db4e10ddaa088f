"""What the rerankers share: which sentences are read, and in which order they come back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from admiral.records import Document, Sentence


def readable(documents: Iterable[Document]) -> list[Sentence]:
    """Return the sentences of documents but for blank ones, which cannot be evidence."""
    return [
        Sentence(document.title, index, text)
        for document in documents
        for index, text in enumerate(document.sentences)
        if text.strip()
    ]


def scored(sentences: Sequence[Sentence], scores: Iterable[float]) -> list[Sentence]:
    """Return sentences with scores, best first."""
    return best_first(replace(s, score=score) for s, score in zip(sentences, scores, strict=True))


def best_first(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Return sentences by score, equal ones by title and place."""
    return sorted(sentences, key=lambda s: (-s.score, s.title, s.index))
