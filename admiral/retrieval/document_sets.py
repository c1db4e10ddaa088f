"""Scores of document sets from scores of sequences (paper, equations 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from admiral.records import DocumentSet


@dataclass(frozen=True, slots=True)
class ScoredSequence:
    """A decoded sequence: documents of its sentences, its title, and its log probability."""

    kept: tuple[str, ...]
    title: str
    score: float


def document_sets(sequences: Iterable[ScoredSequence]) -> list[DocumentSet]:
    """Sum the probabilities of all sequences that stand for the same set, best set first.

    Sequences whose title is already among their kept documents are dropped: they add nothing. The
    titles of a set are in the order of its most probable sequence; ties are broken by them.
    """
    best: dict[frozenset[str], ScoredSequence] = {}
    scores: dict[frozenset[str], list[float]] = {}
    for sequence in sequences:
        if sequence.title in sequence.kept:
            continue
        key = frozenset((*sequence.kept, sequence.title))
        scores.setdefault(key, []).append(sequence.score)
        if key not in best or sequence.score > best[key].score:
            best[key] = sequence
    found = [
        DocumentSet((*best[key].kept, best[key].title), log_sum_exp(values))
        for key, values in scores.items()
    ]
    return sorted(found, key=lambda s: (-s.score, s.titles))


def log_sum_exp(values: Iterable[float]) -> float:
    """Return ``log(sum(exp(v)))`` without overflow; minus infinity for nothing."""
    scores = list(values)
    top = max(scores, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(s - top) for s in scores))
