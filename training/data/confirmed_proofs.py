"""Training proofs whose decision a label gives and a verifier confirms.

The judge `calibrated` drafts and scores the steps; the label of the evidence says whether a step is
independent, and the verifier which step contradicts the evidence. Examples whose label the verifier
does not predict are left out: their labels are often wrong, or their words do not show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from admiral.gold.gold_claims import Label
from proofs import Proof, Verdict
from proofs.judges.calibrated import CalibratedJudge
from proofs.judges.refuting_step import (
    RefutedClaim,
    needs_refuting_step,
    refutes_supported_claim,
    with_refuting_steps,
    without_refuting_steps,
)
from proofs.judges.verified import VerifiedClaim, verified_claims
from proofs.verifier.pair_input import evidence_text
from proofs.verifier.pair_verifier import Verifier
from training.data.samples import ProveSample
from training.fitting.verdict_examples import VerdictExample

_BATCH_SIZE = 16
# The verdicts that agree with a label. Claims that HoVer calls not supported may also be ones that
# the evidence says nothing about, but with all gold sentences at hand that is rare.
_VERDICTS = {
    Label.SUPPORTS: (Verdict.SUPPORTS,),
    Label.REFUTES: (Verdict.REFUTES,),
    Label.NOT_SUPPORTED: (Verdict.REFUTES,),
    Label.NOT_ENOUGH_INFO: (Verdict.NOT_ENOUGH_INFO,),
}


def confirmed_proofs(
    judge: CalibratedJudge, verifier: Verifier, examples: Iterable[VerdictExample]
) -> Iterator[ProveSample]:
    """Yield a proof of each example whose label the verifier predicts.

    Parameters
    ----------
    judge
        Drafts the proofs and scores their steps.
    verifier
        Confirms the labels, and finds the steps that contradict the evidence.
    examples
        Claims with evidence and labels.
    """
    remaining = iter(examples)
    while batch := list(islice(remaining, _BATCH_SIZE)):
        drafts = [judge.draft(one.claim, one.evidence) for one in batch]
        drafted = [(one, draft) for one, draft in zip(batch, drafts, strict=True) if draft]
        read = verified_claims(
            verifier,
            [draft for _, draft in drafted],
            [one.claim for one, _ in drafted],
            [one.evidence for one, _ in drafted],
        )
        for (example, _), one in zip(drafted, read, strict=True):
            verdict = _predicted(one)
            if verdict in _VERDICTS[example.label]:
                proof = _proof(judge, verifier, example, one, verdict)
                if proof is not None:
                    yield ProveSample(example.claim, example.evidence, proof)


def _predicted(read: VerifiedClaim) -> Verdict:
    labels = {
        Verdict.SUPPORTS: read.labels["entailment"],
        Verdict.REFUTES: read.labels["contradiction"],
        Verdict.NOT_ENOUGH_INFO: read.labels["neutral"],
    }
    return max(labels, key=labels.__getitem__)


def _proof(
    judge: CalibratedJudge,
    verifier: Verifier,
    example: VerdictExample,
    read: VerifiedClaim,
    verdict: Verdict,
) -> Proof | None:
    """Return a proof with the given verdict, or None if the drafted steps do not allow it."""
    sufficient = verdict is not Verdict.NOT_ENOUGH_INFO
    proof = judge.write(example.claim, read.draft, sufficient=sufficient).proof
    assert proof is not None
    if needs_refuting_step(proof, verdict):
        text = evidence_text(example.evidence)
        refuted = RefutedClaim(example.claim, text, read.labels["contradiction"], proof)
        (proof,) = with_refuting_steps(verifier, [refuted])
    elif refutes_supported_claim(proof, verdict):
        proof = without_refuting_steps(proof)
    return proof if proof.verdict() is verdict else None
