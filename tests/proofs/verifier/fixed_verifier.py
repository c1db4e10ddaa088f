"""A verifier that says what a test wants it to say."""

from collections.abc import Sequence

import numpy as np

from proofs.verifier import LABELS, Reading

Probabilities = Sequence[float]


class FixedVerifier:
    """Reads every claim alike, or as a function of claim and evidence says.

    Parameters
    ----------
    labels
        Probability of each of `LABELS`, or a function that returns them.
    tokens
        Probabilities of the words of the claim, which are split at spaces; none if empty.
    """

    def __init__(self, labels, tokens=()):
        self._labels, self._tokens = labels, tokens

    @classmethod
    def certain(cls, label):
        """Return one that is certain of a label."""
        return cls([float(name == label) for name in LABELS])

    def read(self, claims, evidences):
        """Return what was said at construction."""
        return [self._read(c, e) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim, evidence):
        given = self._labels
        labels = np.array(given(claim, evidence) if callable(given) else given)
        tokens = np.array(self._tokens).reshape(-1, len(LABELS))
        offsets, at = [], 0
        for word in claim.split()[: len(tokens)]:
            begin = claim.index(word, at)
            offsets.append((begin, at := begin + len(word)))
        sentences = np.tile(labels, (len(evidence), 1))
        return Reading(labels, sentences, tokens[: len(offsets)], tuple(offsets))
