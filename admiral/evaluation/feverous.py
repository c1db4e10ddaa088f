"""FEVEROUS-S: the claims of FEVEROUS that sentences alone are enough for, by its scorer's rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from admiral.evaluation.document_measures import evidence_measures, ranking_measures
from admiral.evaluation.fever import LABELS, complete, correct_label, evidence_scores
from admiral.evaluation.measures import Measure, per_claim
from admiral.evaluation.pairing import Pair, Pairs
from admiral.gold import GoldClaim


def select(gold: Sequence[GoldClaim]) -> tuple[list[GoldClaim], list[str]]:
    """Return the claims that sentences alone are enough for, and what to say of the others."""
    chosen = [claim for claim in gold if claim.evidence]
    left, elements = len(gold) - len(chosen), sum(claim.ignored for claim in gold)
    if not left:
        return chosen, []
    return chosen, [
        f"{left} of {len(gold)} claims need more than sentences and are left out (FEVEROUS-S); "
        f"{elements} cells and other elements were passed over"
    ]


def measures(pairs: Pairs, ks: Sequence[int]) -> list[Measure]:
    """Return the measures that the gold file and the run allow.

    Other than in FEVER, evidence counts for claims without enough information as well, and the
    score asks for it.
    """
    every = pairs.pairs
    found = ranking_measures(every, ks)
    if pairs.has_sentences:
        found += evidence_measures(every)
        if any(pair.gold.sentences for pair in every):
            found += evidence_scores(every, lambda pair: True)
    if pairs.has_verdicts and any(pair.gold.label for pair in every):
        found += label_measures(every)
    return found


def label_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return label accuracy and the FEVEROUS score; claims without a gold label do not count."""

    def labelled(rule: Callable[[Pair], bool]) -> Callable[[Pair], float | None]:
        return lambda p: None if p.gold.label is None else rule(p)

    def strict(pair: Pair) -> bool:
        return correct_label(pair) and complete(pair)

    return [
        per_claim(LABELS, "label accuracy", pairs, labelled(correct_label)),
        per_claim(LABELS, "FEVEROUS score", pairs, labelled(strict)),
    ]
