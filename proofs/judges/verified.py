"""The judge `calibrated` with a verifier: probabilities of sufficiency and of verdicts.

The verifier reads the evidence of a claim as one text, and each of its documents alone: next to
sentences that merely share words with the claim, one that refutes it is easily taken for neutral.
Logistic regressions combine these probabilities with the scores of the proof's steps
(`proofs.judges.verified_fits`). Without fitted weights, the verifier's own probabilities are taken:
evidence is as probably sufficient as it is not neutral. The proof is then written for the decision,
so that it has an independent step if and only if the evidence is insufficient, and if it covers the
claim, for the verdict (`proofs.judges.refuting_step`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from proofs.judges.calibrated import CalibratedJudge, ScoredDraft, Weights
from proofs.judges.judgement import Evidence, Judgement, uncovered
from proofs.judges.refuting_step import (
    RefutedClaim,
    needs_refuting_step,
    refutes_supported_claim,
    with_refuting_steps,
    without_refuting_steps,
)
from proofs.judges.verified_fits import SMALLEST, log_odds
from proofs.logic.operators import Verdict
from proofs.logic.words import is_content, split_words, stems
from proofs.verifier.label_names import LABELS
from proofs.verifier.pair_input import document_texts, evidence_text
from proofs.verifier.pair_verifier import Verifier

# What a label of the verifier means for the claim.
_VERDICTS = dict(
    zip(LABELS, (Verdict.SUPPORTS, Verdict.NOT_ENOUGH_INFO, Verdict.REFUTES), strict=True)
)


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """The outputs of the judge and the verifier for a claim with its evidence.

    Attributes
    ----------
    draft
        The draft of the proof with its scores.
    labels
        Probability of each of `LABELS`, given the whole evidence.
    alone
        The same for each document of the evidence, read alone.
    relevance
        Probability that the evidence bears on the claim; one half if it is not estimated.
    """

    draft: ScoredDraft
    labels: Mapping[str, float]
    alone: Sequence[Mapping[str, float]]
    relevance: float

    def sufficiency_features(self) -> dict[str, float]:
        """Return the values of `SUFFICIENCY_FEATURES`."""
        return {
            "score": self.draft.highest,
            "verbatim": float(self.draft.verbatim),
            "decided": log_odds(1 - self.labels["neutral"]),
            "decided_alone": self._decided_alone(),
            "relevant": log_odds(self.relevance),
        }

    def verdict_features(self, proof_verdict: Verdict | None) -> dict[str, float]:
        """Return the values of `VERDICT_FEATURES`.

        Parameters
        ----------
        proof_verdict
            The verdict of the proof that the judge writes without a verifier.
        """
        return {
            "score": self.draft.highest,
            "verbatim": float(self.draft.verbatim),
            "decided_alone": self._decided_alone(),
            "relevant": log_odds(self.relevance),
            "entailed_alone": log_odds(max(one["entailment"] for one in self.alone)),
            "contradicted_alone": log_odds(max(one["contradiction"] for one in self.alone)),
            **{name: math.log(max(value, SMALLEST)) for name, value in self.labels.items()},
            "supports": float(proof_verdict is Verdict.SUPPORTS),
            "refutes": float(proof_verdict is Verdict.REFUTES),
        }

    def _decided_alone(self) -> float:
        return log_odds(1 - min(one["neutral"] for one in self.alone))


class VerifiedJudge:
    """Judges by scored proofs and a verifier.

    Parameters
    ----------
    judge
        Drafts and writes the proofs.
    verifier
        Reads claims with their evidence.
    weights
        The weights of `judge`, which may have fits for a verifier.
    stop_at
        Evidence is sufficient from this probability on. With 0 it is the fitted threshold, or
        without one the decision of `judge` alone.
    """

    def __init__(
        self, judge: CalibratedJudge, verifier: Verifier, weights: Weights, *, stop_at: float = 0.0
    ) -> None:
        self._judge, self._verifier = judge, verifier
        self._sufficiency, self._verdicts = weights.sufficiency, weights.verdicts
        self._threshold = stop_at or (self._sufficiency.threshold if self._sufficiency else None)

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the proof of each claim, the decision and the probabilities."""
        read = self.read(claims, evidence)
        judgements = [
            uncovered(claim) if each is None else self._judgement(claim, texts, each)
            for claim, texts, each in zip(claims, evidence, read, strict=True)
        ]
        refuted = {
            number: RefutedClaim(claims[number], *_contradicting(each, evidence[number]), proof)
            for number, (judgement, each) in enumerate(zip(judgements, read, strict=True))
            if each is not None
            and (proof := judgement.proof) is not None
            and needs_refuting_step(proof, judgement.verdict)
        }
        proofs = with_refuting_steps(self._verifier, list(refuted.values()))
        for number, proof in zip(refuted, proofs, strict=True):
            judgements[number] = replace(judgements[number], proof=proof)
        return [
            replace(judgement, proof=without_refuting_steps(judgement.proof))
            if judgement.proof and refutes_supported_claim(judgement.proof, judgement.verdict)
            else judgement
            for judgement in judgements
        ]

    def read(
        self, claims: Sequence[str], evidence: Sequence[Evidence]
    ) -> list[VerifiedClaim | None]:
        """Return what proof and verifier read in the evidence of each claim; None without any."""
        drafts = [self._judge.draft(c, texts) for c, texts in zip(claims, evidence, strict=True)]
        at = [number for number, draft in enumerate(drafts) if draft is not None]
        read = verified_claims(
            self._verifier,
            [draft for draft in drafts if draft is not None],
            [claims[number] for number in at],
            [evidence[number] for number in at],
        )
        by_number = dict(zip(at, read, strict=True))
        return [by_number.get(number) for number in range(len(drafts))]

    def verdict_features(self, claim: str, read: VerifiedClaim) -> dict[str, float]:
        """Return the values of `VERDICT_FEATURES` for a claim."""
        return read.verdict_features(self._judge.write(claim, read.draft).verdict)

    def _judgement(self, claim: str, evidence: Evidence, read: VerifiedClaim) -> Judgement:
        if not shares_a_word(claim, evidence):
            # The verifier guesses where there is nothing to compare.
            return _nothing_said(self._judge.write(claim, read.draft, sufficient=False))
        if self._sufficiency is None:
            probability = 1 - read.labels["neutral"]
        else:
            probability = self._sufficiency.probability(read.sufficiency_features())
        if self._verdicts is None:
            verdicts = {_VERDICTS[name]: value for name, value in read.labels.items()}
        else:
            verdicts = self._verdicts.probabilities(self.verdict_features(claim, read))
            if self._sufficiency is not None:
                verdicts = _given_sufficiency(verdicts, probability)
        sufficient = None if self._threshold is None else probability >= self._threshold
        judgement = self._judge.write(claim, read.draft, sufficient=sufficient)
        ordered = {verdict: verdicts[verdict] for verdict in Verdict}
        return replace(judgement, probability=probability, verdicts=ordered)


def verified_claims(
    verifier: Verifier,
    drafts: Sequence[ScoredDraft],
    claims: Sequence[str],
    evidence: Sequence[Evidence],
) -> list[VerifiedClaim]:
    """Return what a verifier reads in the evidence of claims whose proofs are drafted."""
    texts = [evidence_text(each) for each in evidence]
    # A single document is the whole evidence, so it is not read twice.
    parts = [own if len(own) > 1 else [] for own in map(document_texts, evidence)]
    predicted = verifier.predict(
        [*claims, *(c for c, each in zip(claims, parts, strict=True) for _ in each)],
        [*texts, *(text for each in parts for text in each)],
    )
    rows = [dict(zip(LABELS, row, strict=True)) for row in predicted.labels.tolist()]
    relevance = [0.5] * len(rows) if predicted.relevance is None else predicted.relevance.tolist()
    rest = iter(rows[len(claims) :])
    return [
        VerifiedClaim(draft, row, list(islice(rest, len(each))) or [row], own)
        for draft, row, each, own in zip(drafts, rows, parts, relevance, strict=False)
    ]


def shares_a_word(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim and its evidence have a content word in common."""
    words = _content_stems(claim)
    return any(words & _content_stems(f"{title} {text}") for title, text in evidence)


def _content_stems(text: str) -> set[str]:
    return {
        stem for word in split_words(text) if is_content(word.norm) for stem in stems(word.norm)
    }


def _nothing_said(judgement: Judgement) -> Judgement:
    verdicts = {verdict: float(verdict is Verdict.NOT_ENOUGH_INFO) for verdict in Verdict}
    return replace(judgement, probability=0.0, verdicts=verdicts)


def _given_sufficiency(
    verdicts: Mapping[Verdict, float], sufficient: float
) -> dict[Verdict, float]:
    """Return the verdicts so that NOT ENOUGH INFO is as probable as insufficient evidence."""
    decided = 1 - verdicts[Verdict.NOT_ENOUGH_INFO]
    return {
        verdict: 1 - sufficient
        if verdict is Verdict.NOT_ENOUGH_INFO
        else sufficient * value / max(decided, SMALLEST)
        for verdict, value in verdicts.items()
    }


def _contradicting(read: VerifiedClaim, evidence: Evidence) -> tuple[str, float]:
    """Return the text that contradicts the claim most, the whole or a document, and how much."""
    texts = [evidence_text(evidence), *document_texts(evidence)]
    values = [one["contradiction"] for one in (read.labels, *read.alone)]
    return max(zip(texts, values, strict=False), key=lambda pair: pair[1])
