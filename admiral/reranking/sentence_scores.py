"""Score and sort sentences, and compare the scores of documents."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from admiral.records import Document, Sentence

Key = TypeVar("Key", bound=Hashable)


def non_blank_sentences(documents: Iterable[Document]) -> list[Sentence]:
    """Return the sentences of documents, without blank ones, which cannot be evidence."""
    return [
        Sentence(document.title, index, text)
        for document in documents
        for index, text in enumerate(document.sentences)
        if text.strip()
    ]


def with_scores(sentences: Sequence[Sentence], scores: Iterable[float]) -> list[Sentence]:
    """Return sentences with their scores set, best first."""
    return best_first(replace(s, score=score) for s, score in zip(sentences, scores, strict=True))


def best_first(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Sort sentences by score; ties by title and position."""
    return sorted(sentences, key=lambda s: (-s.score, s.title, s.index))


def best_scores(sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return the score of the best sentence of each document.

    Parameters
    ----------
    sentences
        Sentences of several documents, best first.
    """
    return {s.title: s.score for s in reversed(sentences)}  # the first sentence, the best, wins


def z_scores(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Return z-scores (mean 0, population standard deviation 1); all 0 if the scores are equal."""
    mean = statistics.fmean(scores.values()) if scores else 0.0
    deviation = statistics.pstdev(scores.values()) if scores else 0.0
    return {key: (score - mean) / (deviation or 1.0) for key, score in scores.items()}
