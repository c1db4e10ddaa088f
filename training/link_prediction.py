"""Build training samples of link prediction from any knowledge base, without annotated claims.

Run as ``python -m training.link_prediction --kb KB --count 100000 OUT.jsonl``.
`training.data.pseudo_claims` describes the samples.
"""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from training.command_options import exclude_option, headings_option, kb_option, seed_option
from training.data.catalogue_headings import with_headings
from training.data.claim_sources import titles_of
from training.data.pseudo_claims import PseudoClaimSampler
from training.data.samples import write_samples


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@kb_option("name")
@click.option("--count", type=click.IntRange(min=1), default=100_000, show_default=True)
@seed_option
@exclude_option("their documents are in no chain", exists=True)
@headings_option("samples")
def main(
    out: Path, name: str, count: int, seed: int, exclude: tuple[Path, ...], headings: float
) -> None:
    """Write COUNT samples of link prediction to OUT (JSON Lines), the same for the same seed."""
    if math.isnan(headings):
        raise click.UsageError("--headings is not a number.")
    try:
        check_output_path(out)
        check_distinct_paths(out, *exclude)
        check_outside_folders(out, name)
        with KnowledgeBase.open(locate(name)) as kb:
            samples = PseudoClaimSampler(kb, seed, titles_of(exclude)).samples()
            written = write_samples(out, with_headings(islice(samples, count), headings, seed))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {written:,} samples", err=True)


if __name__ == "__main__":
    main()
