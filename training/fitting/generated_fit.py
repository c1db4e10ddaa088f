"""Fit the decision of the judge `generated` to the steps of proofs that a checkpoint writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint
from proofs.generation.generator import ProofGenerator
from proofs.judges.generated import (
    STEP_DECISION_FEATURES,
    StepDecision,
    step_decision_features,
)
from proofs.judges.linear_score import LinearScore, sigmoid
from training.fitting.judge_fits import threshold_at_recall
from training.fitting.logistic_fit import fit_binary
from training.fitting.sufficiency_examples import SufficiencyExample


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
    train, dev
        Examples that fit the weights, and examples that choose the threshold.
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
