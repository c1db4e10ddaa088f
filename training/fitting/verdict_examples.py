"""Claims with evidence and the verdict that it should lead to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from admiral.gold import GoldClaim
from admiral.gold.gold_claims import Label
from training.data.evidence_corpora import Corpus
from training.fitting.sufficiency_examples import sufficiency_examples


@dataclass(frozen=True, slots=True)
class VerdictExample:
    """A claim with evidence and a label.

    Attributes
    ----------
    claim
        The claim.
    evidence
        Pairs (title, sentence).
    label
        The label of the claim; ``NOT ENOUGH INFO`` if evidence was withheld.
    """

    claim: str
    evidence: tuple[tuple[str, str], ...]
    label: Label


def gold_examples(
    corpus: Corpus, claims: Sequence[GoldClaim], seed: int
) -> Iterator[VerdictExample]:
    """Yield labelled claims with their gold evidence, then without the sentences of a document.

    Distractors are added as in `sufficiency_examples`. Claims without gold sentences in the corpus
    are left out.
    """
    labels = {claim.claim: claim.label for claim in claims}
    for example in sufficiency_examples(corpus, claims, seed=seed):
        label = labels[example.claim]
        if label is None or not example.evidence:
            continue
        if not example.sufficient:
            label = Label.NOT_ENOUGH_INFO
        yield VerdictExample(example.claim, example.evidence, label)
