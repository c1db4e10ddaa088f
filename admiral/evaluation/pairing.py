"""Gold claims paired with the predictions of a run, and checks that the two fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from admiral.errors import AdmiralError
from admiral.evaluation.predictions import Prediction, normalise_title
from admiral.gold import GoldClaim

_MAX_LISTED_IDS = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold claim and its prediction."""

    gold: GoldClaim  # the claim, with normalised titles
    # none if the run has no prediction for the claim, which counts as wrong
    prediction: Prediction | None

    @property
    def documents(self) -> tuple[str, ...]:
        """Ranked documents of the prediction; empty without a prediction."""
        return self.prediction.documents if self.prediction else ()

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """Evidence sentences of the prediction; empty without a prediction."""
        return (self.prediction.sentences or ()) if self.prediction else ()

    @property
    def title_sets(self) -> list[frozenset[str]]:
        """Alternative sets of gold documents."""
        return [frozenset(titles) for titles in self.gold.title_sets]


@dataclass(frozen=True, slots=True)
class PairedClaims:
    """All claims of a gold file, in its order, with the predictions of a run."""

    pairs: tuple[Pair, ...]  # one for each gold claim
    # ids of predictions whose claim is not in the gold file; these are left out
    unknown_ids: tuple[str, ...]

    @property
    def missing_ids(self) -> tuple[str, ...]:
        """Ids of gold claims without a prediction."""
        return tuple(pair.gold.id for pair in self.pairs if pair.prediction is None)

    @property
    def has_sentences(self) -> bool:
        """Whether the run gives evidence sentences, not only documents."""
        return any(
            p.prediction is not None and p.prediction.sentences is not None for p in self.pairs
        )

    @property
    def has_verdicts(self) -> bool:
        """Whether any prediction has a verdict."""
        return any(
            p.prediction is not None and p.prediction.verdict is not None for p in self.pairs
        )

    def notes(self) -> list[str]:
        """Return notes on claims and predictions without a counterpart, one sentence each."""
        notes = []
        if self.missing_ids:
            missing = _count_ids(self.missing_ids, "claim")
            notes.append(f"{missing} without an answer, counted as wrong")
        if self.unknown_ids:
            unknown = _count_ids(self.unknown_ids, "answer")
            notes.append(f"{unknown} to claims that are not in the gold file")
        return notes


def pair_claims(gold: Iterable[GoldClaim], predictions: Mapping[str, Prediction]) -> PairedClaims:
    """Pair each gold claim with the prediction that has the same id.

    Raises AdmiralError if the files do not belong together: no id is in both, or a prediction is
    for a claim with the same id and another text.
    """
    pairs = []
    for claim in gold:
        prediction = predictions.get(claim.id)
        text = None if prediction is None else prediction.claim
        if text is not None and claim.claim and text.split() != claim.claim.split():
            raise AdmiralError(
                f"claim {claim.id!r}: the predictions have another claim ({_shorten(text)}) than "
                f"the gold file ({_shorten(claim.claim)}). Give the gold file of the same claims"
            )
        pairs.append(Pair(_with_normalised_titles(claim), prediction))
    gold_ids = {pair.gold.id for pair in pairs}
    paired = PairedClaims(tuple(pairs), tuple(id for id in predictions if id not in gold_ids))
    if len(paired.missing_ids) == len(pairs):
        raise AdmiralError(
            "no claim of the gold file is among the predictions; its ids are such as "
            f"{_list_ids(tuple(gold_ids))}, those of the predictions such as "
            f"{_list_ids(paired.unknown_ids)}. Give the gold file of the same claims"
        )
    return paired


def _with_normalised_titles(claim: GoldClaim) -> GoldClaim:
    evidence = tuple(
        tuple((normalise_title(title), number) for title, number in evidence_set)
        for evidence_set in claim.evidence
    )
    return replace(claim, evidence=evidence)


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 claim`` or ``2 claims``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _count_ids(ids: Sequence[str], noun: str) -> str:
    return f"{count_noun(len(ids), noun)} ({_list_ids(ids)})"


def _list_ids(ids: Sequence[str]) -> str:
    listed = ", ".join(repr(id) for id in sorted(ids)[:_MAX_LISTED_IDS])
    return listed + (", ..." if len(ids) > _MAX_LISTED_IDS else "")


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
