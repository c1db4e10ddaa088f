"""Build training samples of query expansion: claim in context in, title of the cited page out.

Run as ``python -m training.expansion_data --kb KB --wice TOKENS.train.jsonl.gz OUT.jsonl``. The
samples are those of hop 0 of the hop retriever, so that `training.retriever` trains on them
(configs/side-expander.yaml).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import click

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import claim_in_context
from admiral.citations.wice_records import read_wice
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from training.command_options import kb_option, seed_option
from training.data.held_out import is_held_out
from training.data.pseudo_citations import pseudo_citations
from training.data.samples import RetrieveSample, write_samples

#: How much of the context of a claim the expander reads.
CONTEXT = "sentence"
#: Most words of a title; the rest is left out.
TITLE_WORDS = 12


def expansion_sample(claim: CitedClaim, title: str) -> RetrieveSample:
    """Return the sample of a claim that cites a page with a title."""
    words = title.replace("[", "(").replace("]", ")").split()
    gold = " ".join(words[:TITLE_WORDS])
    return RetrieveSample(claim_in_context(claim, CONTEXT), (), 0, (gold,))


def wice_samples(paths: Iterable[Path]) -> Iterator[tuple[str, RetrieveSample]]:
    """Yield the page and the sample of each claim whose cited page has a title."""
    for path in paths:
        for citation in read_wice(path):
            if citation.source.title:
                yield citation.page, expansion_sample(citation.claim, citation.source.title)


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@kb_option("name")
@click.option(
    "--count",
    type=click.IntRange(min=0),
    default=30_000,
    show_default=True,
    help="Most pseudo-citations of the knowledge base.",
)
@click.option(
    "--wice",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Training claims of WiCE with the text of the cited page; repeatable.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Copies of each claim of --wice.",
)
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of the pages of --wice that is left out, and written to --held-out.",
)
@click.option(
    "--held-out", type=click.Path(path_type=Path), help="File of the samples that are left out."
)
@click.option(
    "--exclude",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Development claims of WiCE; their pages are in no sample; repeatable.",
)
@seed_option
def main(
    out: Path,
    name: str,
    count: int,
    wice: tuple[Path, ...],
    repeat: int,
    hold_out: float,
    held_out: Path | None,
    exclude: tuple[Path, ...],
    seed: int,
) -> None:
    """Write samples of query expansion to OUT (JSON Lines), the same for the same seed."""
    if bool(hold_out) != (held_out is not None):
        raise click.UsageError("--hold-out and --held-out need each other.")
    try:
        outputs = [out, *([held_out] if held_out else [])]
        for path in outputs:
            check_output_path(path)
            check_outside_folders(path, name)
        check_distinct_paths(*outputs, *wice, *exclude)
        excluded = {citation.page for path in exclude for citation in read_wice(path)}
        kept: list[RetrieveSample] = []
        left: list[RetrieveSample] = []
        for page, sample in wice_samples(wice):
            if page in excluded:
                continue
            (left if is_held_out(page, hold_out) else kept).append(sample)
        samples = kept * repeat
        with KnowledgeBase.open(locate(name)) as kb:
            found = pseudo_citations(kb, seed, excluded=excluded)
            samples += [expansion_sample(each.claim, each.source) for each in islice(found, count)]
        random.Random(seed).shuffle(samples)
        written = write_samples(out, samples)
        if held_out:
            write_samples(held_out, left)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"{out}: {written:,} samples, {len(kept) * repeat:,} of them of WiCE; "
        f"{len(left):,} held out",
        err=True,
    )


if __name__ == "__main__":
    main()
