"""The judgement of a sufficiency judge, and which texts get none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proofs.logic.operators import NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep
from proofs.logic.words import STOP_WORDS, split_words, word_list
from proofs.verifier.reading import Comparison

#: The evidence of a claim: pairs of title and sentence.
Evidence = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's decision on a claim and its evidence.

    Attributes
    ----------
    sufficient
        Whether the evidence suffices to verify the claim.
    proof
        The proof, or None if the judge writes none.
    probability
        Probability that the evidence is sufficient; None without a verifier.
    verdicts
        Probability of each verdict; None without a verifier.
    comparisons
        Values of claim and evidence that decided, where words decide exactly.
    """

    sufficient: bool
    proof: Proof | None
    probability: float | None = None
    verdicts: Mapping[Verdict, float] | None = None
    comparisons: tuple[Comparison, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the claim, which may be wrong; None without a proof.

        It is NOT ENOUGH INFO if the evidence is insufficient; else the more probable of the other
        two, or without probabilities that of the proof.
        """
        return verdict_of(self.sufficient, self.proof, self.verdicts)

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The claim spans that the evidence does not cover; None without a proof."""
        return None if self.proof is None else self.proof.missing


def verdict_of(
    sufficient: bool, proof: Proof | None, verdicts: Mapping[Verdict, float] | None
) -> Verdict | None:
    """Return the verdict of a decision, as `Judgement.verdict` describes it."""
    if proof is None and verdicts is None:
        return None
    if not sufficient:
        return Verdict.NOT_ENOUGH_INFO
    if verdicts is not None:
        return max((Verdict.SUPPORTS, Verdict.REFUTES), key=verdicts.__getitem__)
    assert proof is not None
    return proof.verdict()


def uncovered(claim: str) -> Judgement:
    """Return the judgement of a claim without evidence: one independent step, if it has words."""
    whole = claim.strip()
    proof = Proof((ProofStep(whole, "", NatOp.INDEPENDENCE),)) if whole else None
    return Judgement(False, proof)


_FINITE = word_list(
    "is are was were be been being am has have had do does did will would can could may might must"
)
_OPINION = re.compile(
    r"\W*(?:i|we) (?:think|believe|feel|guess|suppose|hope|wish)\b|\W*in my (?:opinion|view)\b",
    re.IGNORECASE,
)
_PROPER = re.compile(r"[A-Z0-9][\w.'’&-]*")


def form_warning(text: str) -> str | None:
    """Return why a text has no verdict, for readers, or None if it states something."""
    if text.rstrip().rstrip("\"'”’)]").endswith("?"):
        return "This is a question, which is neither true nor false; state it as a claim."
    if _OPINION.match(text):
        return "This is an opinion of the speaker; state what evidence can show."
    words = [text[word.start : word.end] for word in split_words(text) if word.norm]
    plain = [word for word in words if word.lower() not in STOP_WORDS]
    is_name = plain and all(_PROPER.fullmatch(word) for word in plain)
    says_something = any(word.lower() in _FINITE for word in words) or text.rstrip()[-1:] in ".!"
    if is_name and not says_something:
        return "This is a name, which states nothing; write a whole sentence."
    return None
