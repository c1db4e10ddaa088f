"""Fit the judge `calibrated`: step scores, threshold and, with a verifier, sufficiency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import torch
from torch import nn

from admiral.errors import AdmiralError
from proofs.judges.calibrated import FEATURES, ScoredDraft, Weights
from proofs.judges.proof_features import FeatureExtractor, ProofFeatures
from proofs.judges.verified import verified_claims
from proofs.lexicons.lexicon import default_lexicon
from proofs.verifier.pair_verifier import Verifier
from training.fitting.logistic_fit import folds_by_claim
from training.fitting.network_fit import FitSettings, fit_network, row_mask
from training.fitting.sufficiency_examples import SufficiencyExample, sentence_claims
from training.fitting.verified_fit import VerifiedFit, fit_sufficiency

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
    weights = None if verified is None else verified.network
    if verified is not None and weights is not None:  # nothing is fitted to the other claims
        examples = [example for example in examples if verified.is_unseen(example.claim)]
    features = [extractor.extract(example.claim, example.evidence) for example in examples]
    dev_features = [extractor.extract(e.claim, e.evidence) for e in dev]
    if weights is None:
        insufficient = torch.tensor(_insufficient(examples), dtype=torch.float32)
        weights = fit_step_scorer(features, insufficient, seed)
        scores = [max(weights.scores(each)) for each in dev_features]
        threshold = threshold_at_recall(scores, _insufficient(dev), recall)
        weights = replace(weights, threshold=threshold)
    if verified is None:
        return weights
    unseen = [at for at, example in enumerate(examples) if verified.is_unseen(example.claim)]
    if len({examples[at].claim for at in unseen}) < 2:
        raise AdmiralError(
            f"--held-out {verified.held_out}: fewer than two of the claims were held out. "
            "Give more claims"
        )
    rows = _rows_of_unseen(examples, features, unseen, verified, seed)
    fit = fit_sufficiency(rows, [examples[at].sufficient for at in unseen])
    if verified.network is not None:  # whose scores still decide
        return replace(weights, sufficiency=replace(fit, threshold=None))
    dev_rows = _read(weights, verified.verifier, dev_features, dev)
    doubts = [1 - fit.probability(row) for row in dev_rows]
    doubt = threshold_at_recall(doubts, _insufficient(dev), recall)
    return replace(weights, sufficiency=replace(fit, threshold=min(max(1 - doubt, 0.0), 1.0)))


def _rows_of_unseen(
    examples: Sequence[SufficiencyExample],
    features: Sequence[ProofFeatures],
    unseen: Sequence[int],
    verified: VerifiedFit,
    seed: int,
) -> list[dict[str, float]]:
    """Return the values of `SUFFICIENCY_FEATURES` of the examples at the positions `unseen`.

    The steps are scored by the given network, or by networks that were fitted on other claims.
    """

    def read(network: Weights, at: Sequence[int]) -> list[dict[str, float]]:
        chosen = [examples[each] for each in at]
        return _read(network, verified.verifier, [features[each] for each in at], chosen)

    if verified.network is not None:
        return read(verified.network, unseen)
    insufficient = torch.tensor(_insufficient(examples), dtype=torch.float32)
    rows: dict[int, dict[str, float]] = {}
    for others, own in folds_by_claim([example.claim for example in examples], seed):
        network = fit_step_scorer([features[at] for at in others], insufficient[others], seed)
        chosen = [at for at in own if verified.is_unseen(examples[at].claim)]
        rows |= dict(zip(chosen, read(network, chosen), strict=True))
    return [rows[at] for at in unseen]


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
