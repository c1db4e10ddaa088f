"""Build training proofs that labels and a verifier agree on, from claims with gold evidence.

Run as ``python -m training.build_proofs --kb KB --source hover:FILE OUT.jsonl``. The samples are
those of the task `prove`; concatenate them with others for training.joint.
"""

from __future__ import annotations

from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from proofs.judges.calibrated import CalibratedJudge
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
from training.data.confirmed_proofs import confirmed_proofs
from training.data.evidence_corpora import with_documents
from training.data.samples import write_samples
from training.fitting.verdict_examples import gold_examples


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
