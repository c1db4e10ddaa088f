"""FEVEROUS-S: FEVEROUS claims that sentences alone can verify, by the rules of its scorer."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.evaluation.document_measures import evidence_measures, ranking_measures
from admiral.evaluation.fever import (
    accuracy_and_score,
    evidence_scores,
    has_complete_evidence,
    is_label_correct,
)
from admiral.evaluation.measures import Measure
from admiral.evaluation.pairing import Pair, PairedClaims
from admiral.gold import GoldClaim


def select_claims(gold: Sequence[GoldClaim]) -> tuple[list[GoldClaim], list[str]]:
    """Return the claims that sentences alone can verify, and a note about the claims left out."""
    selected = [claim for claim in gold if claim.evidence]
    n_dropped = len(gold) - len(selected)
    if not n_dropped:
        return selected, []
    n_elements = sum(claim.n_ignored_elements for claim in gold)
    return selected, [
        f"{n_dropped} of {len(gold)} claims need more than sentences and are left out "
        f"(FEVEROUS-S); {n_elements} cells and other elements were passed over"
    ]


def measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
    """Return the measures that the gold file and the run have the data for.

    Unlike in FEVER, NOT ENOUGH INFO claims have evidence too, which the sentence measures and the
    score take into account.
    """
    pairs = paired.pairs
    result = ranking_measures(pairs, ks)
    if paired.has_sentences:
        result += evidence_measures(pairs)
        if any(pair.gold.sentences for pair in pairs):
            result += evidence_scores(pairs, lambda pair: True)
    if paired.has_verdicts and any(pair.gold.label for pair in pairs):
        result += label_measures(pairs)
    return result


def label_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return label accuracy and the FEVEROUS score.

    The FEVEROUS score is the share of claims with the correct label and a complete gold evidence
    set among the first five sentences.
    """

    def is_strictly_correct(pair: Pair) -> bool:
        return is_label_correct(pair) and has_complete_evidence(pair)

    return accuracy_and_score(pairs, "FEVEROUS score", is_strictly_correct)
