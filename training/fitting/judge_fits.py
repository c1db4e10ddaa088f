"""Fit the judges `calibrated`, `classifier` and `generated` on labelled examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import torch
from torch import nn

from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint
from proofs.generation.generator import ProofGenerator
from proofs.judges.calibrated import FEATURES, Weights
from proofs.judges.classifier import pooled_states
from proofs.judges.generated import (
    STEP_DECISION_FEATURES,
    StepDecision,
    step_decision_features,
)
from proofs.judges.linear_score import LinearScore, sigmoid
from proofs.judges.proof_features import FeatureExtractor, ProofFeatures
from proofs.lexicons.lexicon import default_lexicon
from training.fitting.linear_fits import fit_binary
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
    more
        Further training examples, whose sentences do not become claims.
    recall
        Share of the insufficient `dev` examples that must score above the threshold.
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
    insufficient
        1 for insufficient evidence, else 0; float32, (claims,).

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


_HEAD_RIDGE = 3e-2


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Fit the head of the judge `classifier` on the states of a checkpoint's encoder.

    Parameters
    ----------
    recall
        Share of the insufficient `dev` examples that must be classified as insufficient.

    Returns
    -------
    dict of str to torch.Tensor
        ``weight``, (width,), and ``bias``, a scalar.
    """
    train_states, dev_states = (
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [example.claim for example in examples],
            [example.evidence for example in examples],
        )
        for examples in (train, dev)
    )
    sufficient = torch.tensor([float(example.sufficient) for example in train])
    weight, _ = fit_linear_head(train_states, sufficient)
    scores = (-(dev_states @ weight)).tolist()
    bias = threshold_at_recall(scores, [not example.sufficient for example in dev], recall)
    return {"weight": weight.contiguous(), "bias": torch.tensor(bias)}


def fit_linear_head(states: torch.Tensor, sufficient: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Fit a linear classifier by logistic regression with L2 regularisation.

    Parameters
    ----------
    states
        Features, (claims, width).
    sufficient
        1 for the positive class, else 0; float32, (claims,).

    Returns
    -------
    weight : torch.Tensor
        Shape (width,), for features that are not standardised.
    bias : float
        The bias.
    """
    mean, deviation = states.mean(0), states.std(0).clamp(min=1e-6)
    inputs = (states - mean) / deviation
    parameters = torch.zeros(inputs.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        logits = inputs @ parameters[:-1] + parameters[-1]
        value = nn.functional.binary_cross_entropy_with_logits(logits, sufficient)
        value = value + _HEAD_RIDGE * parameters[:-1].square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        weight = parameters[:-1] / deviation
        return weight, float(parameters[-1] - (weight * mean).sum())


def fit_step_decision(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> StepDecision:
    """Fit the probability that evidence is sufficient, and choose its threshold.

    Parameters
    ----------
    checkpoint
        The checkpoint that writes the proofs. It should not have been trained on the claims.
    recall
        Share of the insufficient `dev` examples that must be judged insufficient.

    Raises
    ------
    AdmiralError
        If no proof of a training or development example can be decoded, or the checkpoint writes
        no proofs.
    """
    try:
        generator = ProofGenerator(checkpoint.model, checkpoint.tokens)
    except ValueError as error:
        raise AdmiralError(f"{checkpoint.path}: cannot write proofs ({error})") from error
    rows, sufficient = _rows(generator, train)
    dev_rows, dev_sufficient = _rows(generator, dev)
    if not rows or not any(not label for label in dev_sufficient):
        raise AdmiralError("no proof of the claims can be decoded; give shorter claims")
    log_odds = LinearScore(*fit_binary(rows, sufficient, STEP_DECISION_FEATURES))
    doubts = [1 - sigmoid(log_odds(row)) for row in dev_rows]
    doubt = threshold_at_recall(doubts, [not label for label in dev_sufficient], recall)
    return StepDecision(log_odds, min(max(1 - doubt, 0.0), 1.0))


def _rows(
    generator: ProofGenerator, examples: Sequence[SufficiencyExample]
) -> tuple[list[Mapping[str, float]], list[bool]]:
    """Return the features and labels of the examples that a proof can be decoded of."""
    usable = [example for example in examples if example.evidence]
    proofs = generator.cover(
        [example.claim for example in usable], [example.evidence for example in usable]
    )
    pairs = [
        (step_decision_features(p), e.sufficient) for p, e in zip(proofs, usable, strict=True) if p
    ]
    return [row for row, _ in pairs], [label for _, label in pairs]
