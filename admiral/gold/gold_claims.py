"""A claim with its label and its gold evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# Sentences that are evidence together: (title, sentence number from 0), or (title, None) where only
# the document is known.
EvidenceSet = tuple[tuple[str, int | None], ...]


class Label(Enum):
    """What the evidence says of a claim; the values are FEVER's and HoVer's."""

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"
    NOT_SUPPORTED = "NOT_SUPPORTED"  # HoVer: refuted or not enough information

    @classmethod
    def parse(cls, text: str) -> Label:
        """Return the label that a data set spells as `text`; ValueError if it is none."""
        known = _SPELLINGS.get(text.replace("_", " ").strip().lower())
        if known is None:
            raise ValueError(f"{text!r} is not a label")
        return known


_SPELLINGS = {
    "supports": Label.SUPPORTS,
    "supported": Label.SUPPORTS,
    "refutes": Label.REFUTES,
    "refuted": Label.REFUTES,
    "not enough info": Label.NOT_ENOUGH_INFO,
    "not supported": Label.NOT_SUPPORTED,
}


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """A claim with its gold evidence.

    Attributes
    ----------
    id
        Unique within its file, and the one that `admiral retrieve` gives the claim.
    claim
        The text.
    label
        None where the file gives none.
    evidence
        Alternatives: each set is enough by itself, and no two are the same. Empty where nothing is
        enough, or where the evidence is not in sentences.
    annotated_hops
        The number of hops that the file gives, None where it gives none.
    ignored
        Elements of sets that were left out because they hold more than sentences, such as cells.
    ordered
        Whether the documents can only be found in the order of the evidence.
    """

    id: str
    claim: str
    label: Label | None
    evidence: tuple[EvidenceSet, ...]
    annotated_hops: int | None = None
    ignored: int = 0
    ordered: bool = False

    @property
    def hops(self) -> int:
        """The hops that the file gives, or the fewest documents that are enough; 0 without any."""
        if self.annotated_hops is not None:
            return self.annotated_hops
        return min(map(len, self.title_sets), default=0)

    @property
    def title_sets(self) -> tuple[tuple[str, ...], ...]:
        """The documents of each evidence set, in order, each once; may hold equal sets."""
        return tuple(map(titles_of, self.evidence))

    @property
    def titles(self) -> tuple[str, ...]:
        """The documents of the first evidence set, in order, each once."""
        return self.title_sets[0] if self.evidence else ()

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """The sentences of the first evidence set; empty where only documents are known."""
        first = self.evidence[0] if self.evidence else ()
        return tuple((title, number) for title, number in first if number is not None)

    @property
    def refuted(self) -> bool | None:
        """Whether the evidence refutes the claim; None where the label does not say."""
        return {Label.SUPPORTS: False, Label.REFUTES: True}.get(self.label) if self.label else None


def titles_of(evidence: EvidenceSet) -> tuple[str, ...]:
    """Return the documents of an evidence set in order, each once."""
    return tuple(dict.fromkeys(title for title, _ in evidence))
