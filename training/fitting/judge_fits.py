"""Fit the judge `calibrated`: step scores and their threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import torch
from torch import nn

from proofs.judges.calibrated import FEATURES, Weights
from proofs.judges.proof_features import FeatureExtractor, ProofFeatures
from proofs.lexicons.lexicon import default_lexicon
from training.fitting.network_fit import FitSettings, fit_network, row_mask
from training.fitting.sufficiency_examples import SufficiencyExample, sentence_claims

# A claim is as insufficient as its worst step. A softer maximum lets all steps learn.
_SHARPNESS = 5.0
_STEP_SCORER = FitSettings(units=16, iterations=150, learning_rate=0.05, ridge=3e-3)
# One claim made from an evidence sentence for this many annotated claims.
_SENTENCE_CLAIM_RATIO = 8


def fit_calibrated(
    train: Sequence[SufficiencyExample],
    more: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
    seed: int,
) -> Weights:
    """Fit the judge `calibrated`, which scores the steps of a proof.

    Parameters
    ----------
    train
        Training examples. Some of their evidence sentences are added as claims.
    more
        Further training examples, whose sentences do not become claims.
    dev
        Examples that choose the threshold.
    recall
        Share of the insufficient `dev` examples that must score above the threshold.
    seed
        Seed of the initial weights and of the sentences that become claims.
    """
    extractor = FeatureExtractor(default_lexicon())
    extra = islice(sentence_claims(train, seed), len(train) // _SENTENCE_CLAIM_RATIO)
    examples = [*train, *more, *extra]
    features = [extractor.extract(example.claim, example.evidence) for example in examples]
    dev_features = [extractor.extract(e.claim, e.evidence) for e in dev]
    insufficient = torch.tensor(_insufficient(examples), dtype=torch.float32)
    weights = fit_step_scorer(features, insufficient, seed)
    scores = [max(weights.scores(each)) for each in dev_features]
    threshold = threshold_at_recall(scores, _insufficient(dev), recall)
    return replace(weights, threshold=threshold)


def fit_step_scorer(
    supports: Sequence[ProofFeatures], insufficient: torch.Tensor, seed: int = 0
) -> Weights:
    """Fit the network of step scores by the logistic loss of each claim's highest step.

    Parameters
    ----------
    supports
        Features of claims and their steps.
    insufficient
        1 for insufficient evidence, else 0; float32, (claims,).
    seed
        Seed of the initial weights.

    Returns
    -------
    Weights
        With the threshold at which a claim is as likely to be insufficient as not.
    """
    rows = [
        torch.tensor([(*support.claim, *step) for step in support.steps]) for support in supports
    ]
    steps = row_mask(rows)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        masked = scores.masked_fill(~steps, -1e4)
        highest = torch.logsumexp(_SHARPNESS * masked, 1) / _SHARPNESS
        return nn.functional.binary_cross_entropy_with_logits(highest, insufficient)

    units, offset = fit_network(rows, FEATURES, loss, _STEP_SCORER, seed=seed, with_offset=True)
    return Weights(units, -offset)


def threshold_at_recall(scores: Sequence[float], positive: Sequence[bool], recall: float) -> float:
    """Return the highest threshold at which recall is at least `recall`.

    The threshold lies halfway between two scores, or below all of them.

    Parameters
    ----------
    scores, positive
        Score and label of each example; at least one is positive.
    recall
        Share of the positive examples that must score above the threshold.
    """
    count = max(math.ceil(recall * sum(positive) - 1e-9), 1)
    positive_scores = (s for s, is_positive in zip(scores, positive, strict=True) if is_positive)
    lowest = sorted(positive_scores, reverse=True)[count - 1]
    next_lower = max((s for s in scores if s < lowest), default=lowest - 1.0)
    return (lowest + next_lower) / 2


def _insufficient(examples: Sequence[SufficiencyExample]) -> list[bool]:
    return [not example.sufficient for example in examples]
