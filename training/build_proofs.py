"""Build training proofs whose decision a label gives and a verifier confirms.

Run as ``python -m training build_proofs --kb KB --source hover:FILE OUT.jsonl``. The samples are
those of the task `prove`; concatenate them with others for training joint.

The proofs are those of a natural-logic reader. Examples whose label it does not predict are left
out: their labels are often wrong, or their words do not show them. What a proof of the complete
evidence quotes from the document that is then withheld is what the rest lacks, whatever the
verifier says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated

import click

from admiral.gold import Label
from admiral.kb import KnowledgeBase, locate
from admiral.models.verifiers import open_named_verifier
from admiral.requirements import READER
from proofs import NatOp, Proof, ProofStep, Verdict
from proofs.judges.judgement import Evidence
from proofs.judges.verifier_judge import VerifierJudge
from proofs.verifier import Verifier
from training.data.claim_sources import sample_claims
from training.data.evidence_corpora import JudgedEvidence, judged_evidence
from training.data.records import write_records
from training.data.samples import ProveSample
from training.data_options import ClaimOptions, DocumentOptions, Positive, program

_BATCH_SIZE = 16
# The verdict that agrees with a label. Claims that HoVer calls not supported may also be ones that
# the evidence says nothing about, but with all gold sentences at hand that is rare.
_VERDICTS: dict[Label | None, Verdict] = {
    Label.SUPPORTS: Verdict.SUPPORTS,
    Label.REFUTES: Verdict.REFUTES,
    Label.NOT_SUPPORTED: Verdict.REFUTES,
    Label.NOT_ENOUGH_INFO: Verdict.NOT_ENOUGH_INFO,
}


def confirmed_proofs(
    verifier: Verifier, examples: Iterable[JudgedEvidence]
) -> Iterator[ProveSample]:
    """Yield a proof of each example whose label the verifier predicts.

    Of examples that have lost a document, yield the proof of the complete evidence, which comes
    before them, without what it quotes from that document.
    """
    # Evidence counts as sufficient if NOT ENOUGH INFO is not the most probable verdict.
    verified = VerifierJudge(verifier)
    complete: ProveSample | None = None
    remaining = (one for one in examples if one.label and one.evidence)
    while batch := list(islice(remaining, _BATCH_SIZE)):
        judgements = verified.judge([one.claim for one in batch], [one.evidence for one in batch])
        for example, judgement in zip(batch, judgements, strict=True):
            proof, verdict = judgement.proof, judgement.verdict
            agrees = proof is not None and proof.verdict() is verdict
            confirmed = proof if agrees and verdict is _VERDICTS[example.label] else None
            is_complete = example.label is not Label.NOT_ENOUGH_INFO
            if not is_complete and complete is not None and complete.claim == example.claim:
                confirmed = without_quotations(complete, example.evidence) or confirmed
            if confirmed is None:
                continue
            sample = ProveSample(example.claim, example.evidence, confirmed)
            if is_complete:
                complete = sample
            yield sample


def without_quotations(complete: ProveSample, evidence: Evidence) -> Proof | None:
    """Return a proof with the steps independent that quote documents not in the evidence.

    A title that the evidence mentions can still be quoted. None if no step depends on the others.

    `complete`: the proof with all of its evidence.
    """
    titles = {title for title, _ in evidence}
    texts = [text for pair in evidence for text in pair]
    steps, lacking = [], False
    for step in complete.proof.located(complete.claim, complete.evidence).steps:
        place = step.quotation
        if place is not None and place.title not in titles:
            named = step.evidence in place.title and any(step.evidence in text for text in texts)
            if not named:
                step, lacking = ProofStep(step.claim, "", NatOp.INDEPENDENCE), True
        steps.append(step)
    return Proof(tuple(steps)) if lacking else None


class ProofOptions(DocumentOptions, ClaimOptions):
    """Options of this program."""

    verifier: Annotated[str, "DIR"] = READER
    """Verifier that confirms proofs."""
    limit: Positive = 2000
    """Maximum number of claims of each source."""


@program(ProofOptions)
def main(options: ProofOptions) -> None:
    """Write proofs of claims, with complete and incomplete evidence, to OUT (JSON Lines)."""
    verifier = open_named_verifier(options.verifier, "--verifier")
    with KnowledgeBase.open(locate(options.kb)) as kb:
        corpus = options.corpus(kb)
        claims = sample_claims(options.claim_files(), corpus, options.limit, options.seed)
        examples = judged_evidence(corpus, claims, seed=options.seed)
        count = write_records(options.out, confirmed_proofs(verifier, examples))
    click.echo(f"{options.out}: {count:,} proofs of {len(claims):,} claims", err=True)
