"""What is made of scores: which sentences are read and in which order, how documents compare."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from admiral.records import Document, Sentence

_Scored = TypeVar("_Scored", bound=Hashable)


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


def best_scores(sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return the score of the best sentence of each document; sentences are best first."""
    return {s.title: s.score for s in reversed(sentences)}  # the first, so the best, wins


def standings(scores: Mapping[_Scored, float]) -> dict[_Scored, float]:
    """Return standard scores; all are 0 where there is no spread."""
    mean = statistics.fmean(scores.values()) if scores else 0.0
    spread = statistics.pstdev(scores.values()) if scores else 0.0
    return {one: (score - mean) / (spread or 1.0) for one, score in scores.items()}
