"""Features of the overlap of claim and evidence, which alone should tell no label."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from proofs.logic.words import NEGATIONS
from training.data.examples import Example

#: Features of an example.
FEATURES = ("shared", "in order", "missing numbers", "claim length", "evidence length", "negations")
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
