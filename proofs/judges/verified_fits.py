"""Fitted weights that combine a proof with a verifier: probabilities of sufficiency and verdicts.

Both are logistic regressions over a few named features, and optional fields of the weights file of
the judge `calibrated`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.judges.weight_files import bad_field, fields, number, numbers
from proofs.logic.operators import Verdict

#: Probabilities closer to 0 or 1 are rounded, so that their logarithms are finite.
SMALLEST = 1e-6
#: Name of the file of the judge's weights in the directory of the verifier that they go with.
JUDGE_WEIGHTS = "judge_weights.json"
#: Features of the probability that the evidence is sufficient: the highest score of a step;
#: whether one document covers the claim nearly verbatim (1 or 0); log-odds that the evidence is not
#: neutral; the highest log-odds that a document of the evidence, read alone, is not neutral;
#: log-odds that the evidence is relevant (0 if the verifier does not estimate it).
SUFFICIENCY_FEATURES = ("score", "verbatim", "decided", "decided_alone", "relevant")
#: Features of the probability of a verdict: all of these but `decided`; the log-probability of each
#: label of the verifier; the highest log-odds that a document, read alone, entails or contradicts
#: the claim; whether the proof supports or refutes the claim (1 or 0).
VERDICT_FEATURES = (
    *("score", "verbatim", "decided_alone", "relevant"),
    *("entailment", "neutral", "contradiction"),
    *("entailed_alone", "contradicted_alone"),
    *("supports", "refutes"),
)


@dataclass(frozen=True, slots=True)
class LinearScore:
    """A bias plus the sum of weighted features.

    Attributes
    ----------
    bias
        The bias.
    weights
        The weight of each feature, by name.
    """

    bias: float
    weights: Mapping[str, float]

    @classmethod
    def parse(cls, path: Path, where: str, record: Any, names: Sequence[str]) -> LinearScore:
        """Return the score in the field `where` of a file, with a weight for each of `names`.

        Raises
        ------
        ValueError
            If a field is missing, unknown or not a number, with the file and the field.
        """
        values = fields(path, where, record, ("bias", "weights"))
        return cls(
            number(path, f"{where}.bias", values["bias"]),
            numbers(path, f"{where}.weights", values["weights"], names),
        )

    def __call__(self, features: Mapping[str, float]) -> float:
        """Return the score of the given features."""
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())

    def to_json(self) -> dict[str, Any]:
        """Return the value of a field that `parse` reads."""
        return {"bias": self.bias, "weights": dict(self.weights)}


@dataclass(frozen=True, slots=True)
class SufficiencyFit:
    """The probability that evidence is sufficient, and from which one a search stops.

    Attributes
    ----------
    log_odds
        The log-odds, from `SUFFICIENCY_FEATURES`.
    threshold
        Evidence counts as sufficient from this probability on; None leaves the decision to the
        scores of the proof.
    """

    log_odds: LinearScore
    threshold: float | None

    @classmethod
    def parse(cls, path: Path, where: str, record: Any) -> SufficiencyFit:
        """Return the fit in the field `where` of a file; errors as `LinearScore.parse`."""
        values = fields(path, where, record, ("bias", "weights", "threshold"))
        threshold = values["threshold"]
        if threshold is not None:
            threshold = number(path, f"{where}.threshold", threshold)
            if not 0 <= threshold <= 1:
                raise bad_field(path, f"{where}.threshold", "expected a probability or null")
        linear = {name: values[name] for name in ("bias", "weights")}
        return cls(LinearScore.parse(path, where, linear, SUFFICIENCY_FEATURES), threshold)

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that the evidence is sufficient."""
        return sigmoid(self.log_odds(features))

    def to_json(self) -> dict[str, Any]:
        """Return the value of a field that `parse` reads."""
        return self.log_odds.to_json() | {"threshold": self.threshold}


@dataclass(frozen=True, slots=True)
class VerdictFit:
    """The probabilities of the verdicts, a softmax of one score for each.

    Attributes
    ----------
    scores
        The score of each verdict, from `VERDICT_FEATURES`.
    """

    scores: Mapping[Verdict, LinearScore]

    @classmethod
    def parse(cls, path: Path, where: str, record: Any) -> VerdictFit:
        """Return the fit in the field `where` of a file; errors as `LinearScore.parse`."""
        values = fields(path, where, record, [verdict.value for verdict in Verdict])
        return cls(
            {
                verdict: LinearScore.parse(
                    path, f"{where}.{verdict.value}", values[verdict.value], VERDICT_FEATURES
                )
                for verdict in Verdict
            }
        )

    def probabilities(self, features: Mapping[str, float]) -> dict[Verdict, float]:
        """Return the probability of each verdict; they sum to 1."""
        scores = {verdict: score(features) for verdict, score in self.scores.items()}
        highest = max(scores.values())
        shares = {verdict: math.exp(score - highest) for verdict, score in scores.items()}
        total = sum(shares.values())
        return {verdict: share / total for verdict, share in shares.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the value of a field that `parse` reads."""
        return {verdict.value: score.to_json() for verdict, score in self.scores.items()}


def sigmoid(log_odds: float) -> float:
    """Return the probability of log-odds."""
    if log_odds < 0:
        return 1 - sigmoid(-log_odds)
    return 1 / (1 + math.exp(-log_odds))


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability, rounded so that they are finite."""
    clamped = min(max(probability, SMALLEST), 1 - SMALLEST)
    return math.log(clamped / (1 - clamped))
