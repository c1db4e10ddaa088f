"""Build training proofs whose decision a label gives and a verifier confirms.

Run as ``python -m training build_proofs --kb KB --source hover:FILE OUT.jsonl``. The samples are
those of the task `prove`; concatenate them with others for training joint.

The proofs are those of a natural-logic reader. Examples whose label it does not predict are left
out: their labels are often wrong, or their words do not show them.
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
from proofs import Verdict
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
    """Yield a proof of each example whose label the verifier predicts."""
    # Evidence counts as sufficient if NOT ENOUGH INFO is not the most probable verdict.
    verified = VerifierJudge(verifier)
    remaining = (one for one in examples if one.label and one.evidence)
    while batch := list(islice(remaining, _BATCH_SIZE)):
        judgements = verified.judge([one.claim for one in batch], [one.evidence for one in batch])
        for example, judgement in zip(batch, judgements, strict=True):
            if judgement.proof is not None and judgement.verdict is _VERDICTS[example.label]:
                yield ProveSample(example.claim, example.evidence, judgement.proof)


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
