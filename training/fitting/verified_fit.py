"""Fit the probabilities of the judge `calibrated` with a verifier: sufficiency and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from admiral.errors import AdmiralError
from admiral.gold.gold_claims import Label
from proofs.judges.calibrated import Weights
from proofs.judges.verified_fits import (
    SUFFICIENCY_FEATURES,
    VERDICT_FEATURES,
    LinearScore,
    SufficiencyFit,
    VerdictFit,
)
from proofs.logic.operators import Verdict
from proofs.verifier.pair_verifier import Verifier
from training.data.held_out import is_held_out
from training.fitting.logistic_fit import fit_binary, fit_logistic, folds_by_claim

# The verdicts that a label allows.
_ALLOWED = {
    Label.SUPPORTS: (Verdict.SUPPORTS,),
    Label.REFUTES: (Verdict.REFUTES,),
    Label.NOT_ENOUGH_INFO: (Verdict.NOT_ENOUGH_INFO,),
    Label.NOT_SUPPORTED: (Verdict.REFUTES, Verdict.NOT_ENOUGH_INFO),
}


@dataclass(frozen=True, slots=True)
class VerifiedFit:
    """Settings for fitting the probability of sufficiency.

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


def fit_sufficiency(
    rows: Sequence[Mapping[str, float]], sufficient: Sequence[bool], threshold: float = 0.5
) -> SufficiencyFit:
    """Fit the probability that evidence is sufficient.

    Parameters
    ----------
    rows
        Values of `SUFFICIENCY_FEATURES` of each example.
    sufficient
        Whether its evidence is sufficient.
    threshold
        The probability from which evidence counts as sufficient.
    """
    log_odds = LinearScore(*fit_binary(rows, sufficient, SUFFICIENCY_FEATURES))
    return SufficiencyFit(log_odds, threshold)


def fit_verdicts(rows: Sequence[Mapping[str, float]], labels: Sequence[Label]) -> VerdictFit:
    """Fit the probabilities of verdicts.

    Parameters
    ----------
    rows
        Values of `VERDICT_FEATURES` of each example.
    labels
        Its label. The probabilities of refutation and of too little information add up for
        ``NOT_SUPPORTED``.

    Raises
    ------
    AdmiralError
        If no example may have one of the verdicts.
    """
    for verdict in Verdict:
        if not any(is_right(label, verdict) for label in labels):
            raise AdmiralError(
                f"no claim has the label {verdict.value}; add claims and evidence that have it"
            )
    return _fit_verdicts(rows, labels)


def _fit_verdicts(rows: Sequence[Mapping[str, float]], labels: Sequence[Label]) -> VerdictFit:
    allowed = torch.tensor([[is_right(label, verdict) for verdict in Verdict] for label in labels])
    scores = fit_logistic(rows, allowed, VERDICT_FEATURES)
    return VerdictFit({v: LinearScore(*score) for v, score in zip(Verdict, scores, strict=True)})


def cross_validated_verdicts(
    rows: Sequence[Mapping[str, float]], labels: Sequence[Label], claims: Sequence[str], seed: int
) -> list[dict[Verdict, float]]:
    """Return the probabilities of each example by fits on the examples of other claims.

    Parameters
    ----------
    rows, labels
        As for `fit_verdicts`.
    claims
        The claim of each example; there are at least two different ones.
    seed
        Seed of the folds.
    """
    predicted: dict[int, dict[Verdict, float]] = {}
    for others, own in folds_by_claim(claims, seed):
        fit = _fit_verdicts([rows[at] for at in others], [labels[at] for at in others])
        predicted |= {at: fit.probabilities(rows[at]) for at in own}
    return [predicted[at] for at in range(len(rows))]


def is_right(label: Label, verdict: Verdict) -> bool:
    """Return whether a label allows a verdict."""
    return verdict in _ALLOWED[label]
