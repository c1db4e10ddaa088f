"""Build training proofs whose decision a label gives and a verifier confirms.

Run as ``python -m training.build_proofs --kb KB --source hover:FILE OUT.jsonl``. The samples are
those of the task `prove`; concatenate them with others for training.joint.

The judge `calibrated` drafts and scores the steps; the label of the evidence says whether a step is
independent, and the verifier which step contradicts the evidence. Examples whose label the verifier
does not predict are left out: their labels are often wrong, or their words do not show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.gold.gold_claims import Label
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_output_path
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
from proofs.verifier.evidence_text import evidence_text
from proofs.verifier.pair_verifier import Verifier
from training.command_options import (
    documents_option,
    gold_source_option,
    hold_out_option,
    kb_option,
    limit_option,
    open_verifier,
    seed_option,
    verifier_option,
)
from training.data.claim_sources import Source, sample_claims
from training.data.evidence_corpora import with_documents
from training.data.samples import ProveSample, write_samples
from training.fitting.verdict_examples import VerdictExample, gold_examples

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


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@gold_source_option
@kb_option()
@documents_option
@verifier_option(default="mini-verifier", show_default=True, help="Verifier that confirms proofs.")
@limit_option(2000)
@hold_out_option
@seed_option
def main(
    out: Path,
    sources: tuple[str, ...],
    kb: str,
    documents: tuple[Path, ...],
    verifier: str,
    limit: int,
    hold_out: float,
    seed: int,
) -> None:
    """Write proofs of claims, with complete and incomplete evidence, to OUT (JSON Lines)."""
    try:
        parsed = [Source.parse(text).without_held_out(hold_out) for text in sources]
        check_output_path(out)
        check_distinct_paths(out, *documents, *(source.path for source in parsed))
        check_outside_folders(out, kb, verifier)
        reader = open_verifier(verifier)
        with KnowledgeBase.open(locate(kb)) as opened:
            corpus = with_documents(opened, documents)
            claims = sample_claims(parsed, corpus, limit, seed)
            examples = gold_examples(corpus, claims, seed)
            count = write_samples(out, confirmed_proofs(CalibratedJudge(), reader, examples))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {count:,} proofs of {len(claims):,} claims", err=True)


if __name__ == "__main__":
    main()
