"""Fit the judges that need no training of the language model: scored proofs and the classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import nn

from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint
from proofs.judges.calibrated import FEATURES, ScoredDraft, Weights
from proofs.judges.classifier import pooled_states
from proofs.judges.proof_features import FeatureExtractor, ProofFeatures
from proofs.judges.verified import verified_claims
from proofs.lexicons.lexicon import default_lexicon
from proofs.verifier.pair_verifier import Verifier
from training.data.held_out import is_held_out
from training.fitting.logistic_fit import folds_by_claim
from training.fitting.network_fit import FitSettings, fit_network, row_mask
from training.fitting.sufficiency_examples import SufficiencyExample, sentence_claims
from training.fitting.verified_fit import fit_sufficiency

# A claim is as insufficient as its worst step. A softer maximum lets all steps learn.
_SHARPNESS = 5.0
_STEP_SCORER = FitSettings(units=16, iterations=150, learning_rate=0.05, ridge=3e-3)
_HEAD_RIDGE = 3e-2
# One claim made from an evidence sentence for this many annotated claims.
_SENTENCE_CLAIM_RATIO = 8


@dataclass(frozen=True, slots=True)
class VerifiedFit:
    """How the probability of sufficiency is fitted.

    Attributes
    ----------
    verifier
        Reads the evidence.
    held_out
        Share of the claims that the verifier was not trained on. Only these are fitted to; None for
        all.
    network
        Weights whose network scores the steps; None to fit one.
    """

    verifier: Verifier
    held_out: float | None = None
    network: Weights | None = None

    def is_unseen(self, claim: str) -> bool:
        """Return whether the probability is fitted to a claim."""
        return self.held_out is None or is_held_out(claim, self.held_out)


def fit_calibrated(
    train: Sequence[SufficiencyExample],
    more: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
    seed: int,
    verified: VerifiedFit | None = None,
) -> Weights:
    """Fit the judge `calibrated`, which scores the steps of a proof.

    With a verifier, the probability of sufficiency is fitted to scores of the training examples by
    networks that were fitted on other claims, or by a given network.

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
    verified
        How to fit the probability of sufficiency; None to fit without a verifier.

    Raises
    ------
    AdmiralError
        If fewer than two of the claims were held out.
    """
    extractor = FeatureExtractor(default_lexicon())
    extra = islice(sentence_claims(train, seed), len(train) // _SENTENCE_CLAIM_RATIO)
    examples = [*train, *more, *extra]
    features = [extractor.extract(example.claim, example.evidence) for example in examples]
    insufficient = torch.tensor(_insufficient(examples), dtype=torch.float32)
    dev_features = [extractor.extract(e.claim, e.evidence) for e in dev]
    weights = None if verified is None else verified.network
    if weights is None:
        weights = fit_step_scorer(features, insufficient, seed)
        scores = [max(weights.scores(each)) for each in dev_features]
        threshold = threshold_at_recall(scores, _insufficient(dev), recall)
        weights = replace(weights, threshold=threshold)
    if verified is None:
        return weights
    unseen = {at for at, example in enumerate(examples) if verified.is_unseen(example.claim)}
    if len({examples[at].claim for at in unseen}) < 2:
        raise AdmiralError(
            f"--held-out {verified.held_out}: fewer than two of the claims were held out. "
            "Give more claims"
        )
    rows: list[dict[str, float]] = []
    sufficient: list[bool] = []
    for others, own in folds_by_claim([example.claim for example in examples], seed):
        fold = verified.network
        if fold is None:
            fold = fit_step_scorer([features[at] for at in others], insufficient[others], seed)
        at_unseen = [at for at in own if at in unseen]
        chosen = [examples[at] for at in at_unseen]
        rows += _read(fold, verified.verifier, [features[at] for at in at_unseen], chosen)
        sufficient += [example.sufficient for example in chosen]
    fit = fit_sufficiency(rows, sufficient)
    dev_rows = _read(weights, verified.verifier, dev_features, dev)
    doubts = [1 - fit.probability(row) for row in dev_rows]
    doubt = threshold_at_recall(doubts, _insufficient(dev), recall)
    return replace(weights, sufficiency=replace(fit, threshold=min(max(1 - doubt, 0.0), 1.0)))


def _read(
    weights: Weights,
    verifier: Verifier,
    features: Sequence[ProofFeatures],
    examples: Sequence[SufficiencyExample],
) -> list[dict[str, float]]:
    """Return the values of `SUFFICIENCY_FEATURES` of examples whose steps have features."""
    drafts = [ScoredDraft.of(each, weights) for each in features]
    evidence = [example.evidence for example in examples]
    read = verified_claims(verifier, drafts, [example.claim for example in examples], evidence)
    return [each.sufficiency_features() for each in read]


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


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Fit the head of the judge `classifier` on the states of a checkpoint's encoder.

    Parameters
    ----------
    checkpoint
        The checkpoint.
    train, dev
        Examples that fit the weight, and examples that choose the bias.
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
    sufficient = 1.0 - torch.tensor(_insufficient(train), dtype=torch.float32)
    weight, _ = fit_linear_head(train_states, sufficient)
    scores = (-(dev_states @ weight)).tolist()
    bias = threshold_at_recall(scores, _insufficient(dev), recall)
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
