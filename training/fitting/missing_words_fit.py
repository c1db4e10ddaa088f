"""Fit what finds the words of a claim that its source lacks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from admiral.citations.missing_spans import WORD_FEATURES, MissingWords, word_features
from admiral.citations.source_collections import cut_source
from admiral.citations.verifiers.coverage_verifier import TermWeights
from training.data.citation_examples import TokenClaim, best_passage
from training.fitting.ordinal_fit import fit_ordinal

_RIDGE = 0.001


def fit_missing_words(claims: Sequence[TokenClaim], stems: TermWeights) -> MissingWords:
    """Return weights by logistic regression, and the threshold with the highest token F1."""
    rows = [_rows(claim, stems) for claim in claims]
    words = [dict(zip(WORD_FEATURES, row, strict=True)) for row in chain(*rows)]
    labels = [int(mark) for claim in claims for mark in claim.unsupported]
    fitted = fit_ordinal(words, labels, WORD_FEATURES, ridge=_RIDGE)
    # Features are not standardised in use, where a threshold takes the place of the means.
    weights = {name: own.weight / own.deviation for name, own in fitted.items()}
    scores = [sum(weights[name] * row[name] for name in WORD_FEATURES) for row in words]
    return MissingWords(weights, _best_threshold(scores, labels))


def token_f1(said: Sequence[bool], truth: Sequence[bool]) -> float:
    """Return the F1 of marked tokens over all claims together."""
    both = sum(a and b for a, b in zip(said, truth, strict=True))
    total = sum(said) + sum(truth)
    return 2 * both / total if total else 0.0


def _rows(claim: TokenClaim, stems: TermWeights) -> list[tuple[float, ...]]:
    passages = cut_source(claim.source)
    best = best_passage(claim.claim, passages, stems)
    return word_features(claim.claim, claim.words, passages, best)


def _best_threshold(scores: Sequence[float], labels: Sequence[int]) -> float:
    """Return the threshold, above which tokens are marked, with the highest F1."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    positives, found, best = sum(labels), 0, (0.0, scores[order[0]])
    for rank, at in enumerate(order, 1):
        found += labels[at]
        following = scores[order[rank]] if rank < len(order) else scores[at] - 1
        if following < scores[at]:  # not between equal scores
            best = max(best, (2 * found / (rank + positives), (scores[at] + following) / 2))
    return best[1]
