"""Gold claims beside the answers to them, and what does not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from admiral.errors import AdmiralError
from admiral.evaluation.predictions import Prediction, same_title
from admiral.gold import GoldClaim

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold claim and its answer; None where the run has none, which counts as wrong."""

    gold: GoldClaim
    answer: Prediction | None

    @property
    def documents(self) -> tuple[str, ...]:
        """The ranking of the answer, empty without one."""
        return self.answer.documents if self.answer else ()

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """The evidence of the answer, empty without one."""
        return (self.answer.sentences or ()) if self.answer else ()

    @property
    def title_sets(self) -> list[frozenset[str]]:
        """The alternative sets of gold documents."""
        return [frozenset(titles) for titles in self.gold.title_sets]


@dataclass(frozen=True, slots=True)
class Pairs:
    """All gold claims of a file, in its order.

    Attributes
    ----------
    pairs
        One for each gold claim.
    unknown
        Ids of answers to claims that are not among the gold claims; these are left out.
    """

    pairs: tuple[Pair, ...]
    unknown: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids of gold claims without an answer."""
        return tuple(pair.gold.id for pair in self.pairs if pair.answer is None)

    @property
    def has_sentences(self) -> bool:
        """Whether the run names sentences and not documents alone."""
        return any(p.answer is not None and p.answer.sentences is not None for p in self.pairs)

    @property
    def has_verdicts(self) -> bool:
        """Whether any answer comes with a verdict."""
        return any(p.answer is not None and p.answer.verdict is not None for p in self.pairs)

    def notes(self) -> list[str]:
        """Return what a reader of the figures must know, a sentence each."""
        said = []
        if self.missing:
            said.append(f"{_count(self.missing, 'claim')} without an answer, counted as wrong")
        if self.unknown:
            said.append(f"{_count(self.unknown, 'answer')} to claims that are not in the gold file")
        return said


def pair_up(gold: Iterable[GoldClaim], answers: Mapping[str, Prediction]) -> Pairs:
    """Return each gold claim with the answer of the same id.

    Raises
    ------
    AdmiralError
        If no id is in both, or an answer is to another claim of the same id: then the files do not
        belong together.
    """
    pairs = []
    for claim in gold:
        answer = answers.get(claim.id)
        said = None if answer is None else answer.claim
        if said is not None and said.split() != claim.claim.split():
            raise AdmiralError(
                f"claim {claim.id!r}: the predictions answer another claim ({_cut(said)}) than the "
                f"gold file has ({_cut(claim.claim)}). Give the gold file of the same claims"
            )
        pairs.append(Pair(_comparable(claim), answer))
    known = {pair.gold.id for pair in pairs}
    found = Pairs(tuple(pairs), tuple(id for id in answers if id not in known))
    if len(found.missing) == len(pairs):
        raise AdmiralError(
            "no claim of the gold file is among the predictions; ids there are such as "
            f"{_listed(tuple(known))}, here {_listed(found.unknown)}. Give the gold file of the "
            "same claims"
        )
    return found


def _comparable(claim: GoldClaim) -> GoldClaim:
    sets = tuple(tuple((same_title(t), number) for t, number in one) for one in claim.evidence)
    return replace(claim, evidence=sets)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 claim`` and ``2 claims``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _count(ids: Sequence[str], noun: str) -> str:
    return f"{counted(len(ids), noun)} ({_listed(ids)})"


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(repr(id) for id in sorted(ids)[:_SHOWN])
    return shown + (", ..." if len(ids) > _SHOWN else "")


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
