"""Claims with gold evidence, and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import chain

# Sentences that together are enough to verify a claim: (title, sentence number from 0), or
# (title, None) where only the document is known.
EvidenceSet = tuple[tuple[str, int | None], ...]


class Label(Enum):
    """Label of a claim, with the spellings of FEVER and HoVer as values."""

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"
    NOT_SUPPORTED = "NOT_SUPPORTED"  # HoVer: refuted or not enough information

    @classmethod
    def parse(cls, text: str) -> Label:
        """Return the label that a data set spells as `text`.

        Raises ValueError if `text` is not a label.
        """
        label = _SPELLINGS.get(text.replace("_", " ").strip().lower())
        if label is None:
            known = ", ".join(label.value for label in cls)
            raise ValueError(f"{text!r} is not a label such as {known}")
        return label


_SPELLINGS = {
    "supports": Label.SUPPORTS,
    "supported": Label.SUPPORTS,
    "support": Label.SUPPORTS,  # EX-FEVER
    "refutes": Label.REFUTES,
    "refuted": Label.REFUTES,
    "refute": Label.REFUTES,
    "not enough info": Label.NOT_ENOUGH_INFO,
    "not enough evidence": Label.NOT_ENOUGH_INFO,  # AVeriTeC
    "partially supported": Label.NOT_ENOUGH_INFO,  # WiCE
    "not supported": Label.NOT_SUPPORTED,
    "conflicting evidence/cherrypicking": Label.NOT_SUPPORTED,  # AVeriTeC
}


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """A claim with its gold evidence."""

    id: str  # id, unique within the file; `admiral retrieve` gives the claim the same id
    claim: str  # text of the claim; empty if the file does not give it
    label: Label | None  # none if the file gives no label
    # distinct alternative evidence sets, each enough by itself. Empty if no evidence is enough, or
    # if the evidence is not in sentences.
    evidence: tuple[EvidenceSet, ...]
    annotated_hops: int | None = None  # number of hops that the file gives; None if it gives none
    # number of evidence elements other than sentences (such as table cells), whose sets were left
    # out
    n_ignored_elements: int = 0
    ordered: bool = False  # whether the documents can only be found in the order of the evidence
    # the judged documents of a query with their grades, of which 1 and more are relevant; only in
    # qrels, which have no evidence and name documents as TREC runs do
    grades: tuple[tuple[str, int], ...] = ()

    @property
    def hops(self) -> int:
        """Annotated hops, otherwise the size of the smallest title set; 0 without evidence."""
        if self.annotated_hops is not None:
            return self.annotated_hops
        return min(map(len, self.title_sets), default=0)

    @property
    def title_sets(self) -> tuple[tuple[str, ...], ...]:
        """Distinct documents of each evidence set, in order; several sets may be equal."""
        return tuple(map(evidence_titles, self.evidence))

    @property
    def titles(self) -> tuple[str, ...]:
        """Distinct documents of the first evidence set, in order."""
        return self.title_sets[0] if self.evidence else ()

    @property
    def all_titles(self) -> tuple[str, ...]:
        """Distinct documents of all evidence sets, in order."""
        return evidence_titles(tuple(chain.from_iterable(self.evidence)))

    @property
    def has_alternatives(self) -> bool:
        """Whether there are evidence sets of different documents."""
        return len({frozenset(titles) for titles in self.title_sets}) > 1

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """Sentences of the first evidence set; empty if only documents are known."""
        first = self.evidence[0] if self.evidence else ()
        return tuple((title, number) for title, number in first if number is not None)

    def sentence_numbers(self, title: str) -> tuple[int, ...]:
        """Return the numbers of a document's sentences that are in any evidence set, in order."""
        sentences = chain.from_iterable(self.evidence)
        numbers = (number for other, number in sentences if other == title and number is not None)
        return tuple(dict.fromkeys(numbers))

    @property
    def refuted(self) -> bool | None:
        """Whether the evidence refutes the claim; None if the label does not say."""
        return {Label.SUPPORTS: False, Label.REFUTES: True}.get(self.label) if self.label else None


def evidence_titles(evidence: EvidenceSet) -> tuple[str, ...]:
    """Return the distinct documents of an evidence set, in order."""
    return tuple(dict.fromkeys(title for title, _ in evidence))
