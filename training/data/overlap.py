"""Weights of examples with which the overlap of claim and evidence tells nothing about the label.

In most data sets, entailed claims share more words with their evidence than others, and a model
learns to count words. Weights that depend on features of the overlap and on the label let each
label of a source have the same distribution of every feature: entailed claims in other words count
more, and so do others in the words of the evidence. The weights are those of iterative proportional
fitting (Deming and Stephan, 1940), within bounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from proofs.logic.words import NEGATIONS
from proofs.verifier import kind_of_evidence
from training.data.examples import UNLABELLED, Example

#: Features of an example.
FEATURES = ("shared", "in order", "missing numbers", "claim length", "evidence length", "negations")
#: Bounds of the factors of weights.
LEAST, MOST = 0.25, 3.0
_BINS = 10  # of a feature, of equal size
_ROUNDS = 50
_MOST_COUNTED = 2  # numbers and negations
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+(?:['’]\w+)*")


def overlap_features(example: Example) -> tuple[float, ...]:
    """Return the values of `FEATURES`.

    They are the share of the words of the claim that the evidence has, the same for pairs of words,
    the number of numbers that it lacks, the lengths in words, as logarithms, and the negations of
    the claim less those of the evidence. Numbers and negations beyond two do not count.
    """
    claim = _WORD.findall(example.claim.casefold())
    texts = (" ".join(sentence) for sentence in example.evidence)
    evidence = _WORD.findall(" ".join(texts).casefold())
    known, pairs = set(evidence), set(pairwise(evidence))
    own_pairs = list(pairwise(claim))
    missing = sum(word[0].isdigit() and word not in known for word in claim)
    negations = sum(map(_negates, claim)) - sum(map(_negates, evidence))
    return (
        sum(word in known for word in claim) / max(len(claim), 1),
        sum(pair in pairs for pair in own_pairs) / max(len(own_pairs), 1),
        float(min(missing, _MOST_COUNTED)),
        float(np.log1p(len(claim))),
        float(np.log1p(len(evidence))),
        float(max(min(negations, _MOST_COUNTED), -_MOST_COUNTED)),
    )


def _negates(word: str) -> bool:
    return word in NEGATIONS or word.endswith(("n't", "n’t"))


def balanced_by_overlap(examples: Sequence[Example]) -> list[Example]:
    """Return examples with weights that make labels independent of the overlap.

    Examples of each source and kind of evidence are balanced apart. The share of each label in
    their weight is kept as far as the bounds allow. Examples without a label stay as they are.
    """
    balanced = list(examples)
    kinds: dict[tuple[str, str], list[int]] = {}
    for at, example in enumerate(examples):
        if example.label != UNLABELLED:
            kind = kind_of_evidence(example.evidence)
            kinds.setdefault((example.source, kind), []).append(at)
    for own in kinds.values():
        chosen = [examples[at] for at in own]
        for at, factor in zip(own, _factors(chosen), strict=True):
            weight = round(examples[at].weight * float(factor), 4)
            balanced[at] = replace(examples[at], weight=weight)
    return balanced


def _factors(examples: Sequence[Example]) -> np.ndarray:
    names, labels = np.unique([example.label for example in examples], return_inverse=True)
    weights = np.array([example.weight for example in examples])
    columns = [_bins(values) for values in np.array([*map(overlap_features, examples)]).T]
    shares = np.bincount(labels, weights) / weights.sum()
    factors = np.ones(len(examples))
    for _ in range(_ROUNDS):
        for bins in columns:
            cells = bins * len(names) + labels
            size = (bins.max() + 1) * len(names)
            actual = np.bincount(cells, weights * factors, size).reshape(-1, len(names))
            wanted = actual.sum(1, keepdims=True) * shares
            ratio = np.divide(wanted, actual, out=np.ones_like(actual), where=actual > 0)
            factors = np.clip(factors * ratio.ravel()[cells], LEAST, MOST)
    return factors


def _bins(values: np.ndarray) -> np.ndarray:
    """Return the bin of each value; equal values are in the same one."""
    distinct, places = np.unique(values, return_inverse=True)
    if len(distinct) <= _BINS:
        return places
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[1:-1], method="nearest"))
    return np.searchsorted(edges, values, side="right")
