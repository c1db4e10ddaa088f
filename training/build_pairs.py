"""Build training pairs of the verifier: claim and evidence with a label.

Run as ``python -m training.build_pairs --nli FOLDER --kb KB --source hover:claims.jsonl
--twins 50000 OUT.jsonl``.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_outside_folders
from admiral.storage.output_paths import check_distinct_paths, check_output_path
from training.command_options import (
    documents_option,
    exclude_option,
    hold_out_option,
    kb_option,
    seed_option,
    source_option,
)
from training.data.claim_sources import FORMATS, Source, titles_of
from training.data.contrastive_twins import TwinWriter
from training.data.evidence_corpora import Corpus, PassageCorpus, with_documents
from training.data.evidence_pairs import PairSettings, evidence_pairs
from training.data.held_out import is_held_out
from training.data.inference_pairs import NON_COMMERCIAL, inference_files, read_inference_pairs
from training.data.mismatched_pairs import mismatched_pairs
from training.data.page_pairs import page_pairs
from training.data.surrounded_pairs import surrounded_pairs
from training.data.verification_pairs import Pair, weighted, write_pairs


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--nli",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Inference pairs: a file, or a folder of files *.SPLIT.jsonl.gz; repeatable.",
)
@click.option("--split", default="train", show_default=True, help="Split of the folders of --nli.")
@click.option(
    "--non-commercial",
    is_flag=True,
    help=f"Also use {' and '.join(sorted(NON_COMMERCIAL))}, whose licences forbid commercial use.",
)
@click.option(
    "--neutral",
    multiple=True,
    metavar="SOURCE",
    help="Add neutral pairs to a source of --nli that has none: its claims with evidence of other "
    "claims about the same; repeatable.",
)
@click.option(
    "--surround",
    multiple=True,
    metavar="SOURCE",
    help="Repeat the entailed and contradicted pairs of a source of --nli with further sentences "
    "that BM25 finds for the claim; repeatable.",
)
@kb_option("name")
@source_option(f"Claims with gold evidence; repeatable. Formats: {', '.join(FORMATS)}.")
@documents_option
@click.option(
    "--twins",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Pairs from contrastive twins about documents of the knowledge base.",
)
@exclude_option("claims and twins that share a document with them are left out")
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="SOURCE=WEIGHT",
    help="How often an epoch contains a pair of the source; 0 leaves it out; repeatable.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Weights of the other sources: 1 takes each pair once, 0 as many pairs from each source.",
)
@hold_out_option
@seed_option
def main(
    out: Path,
    nli: tuple[Path, ...],
    split: str,
    non_commercial: bool,
    neutral: tuple[str, ...],
    surround: tuple[str, ...],
    name: str,
    sources: tuple[str, ...],
    documents: tuple[Path, ...],
    twins: int,
    exclude: tuple[Path, ...],
    weights: tuple[str, ...],
    temperature: float,
    hold_out: float,
    seed: int,
) -> None:
    """Write pairs to OUT (JSON Lines), the same ones for the same seed."""
    if not nli and not sources and not twins:
        raise click.UsageError("There is nothing to build from: give --nli, --source or --twins.")
    try:
        parsed = [Source.parse(text).without_held_out(hold_out) for text in sources]
        by_source = dict(map(_parse_weight, weights))
        files = [file for path in nli for file in inference_files(path, split)]
        inputs = (*files, *(source.path for source in parsed), *documents, *exclude)
        check_output_path(out)
        check_distinct_paths(out, *inputs)
        check_outside_folders(out, name)
        pairs = [
            pair
            for file in files
            for pair in read_inference_pairs(file, non_commercial=non_commercial)
            if not is_held_out(pair.claim, hold_out)
        ]
        pairs += [new for source in neutral for new in mismatched_pairs(pairs, source, seed)]
        if parsed or twins or surround:
            excluded = titles_of(exclude)
            with ExitStack() as stack:
                kb = stack.enter_context(KnowledgeBase.open(locate(name)))
                corpus = with_documents(kb, documents)
                pairs += [
                    new for source in surround for new in surrounded_pairs(pairs, source, kb, seed)
                ]
                for source in parsed:
                    pairs += _claim_pairs(source, corpus, excluded, seed)
                pairs += islice(TwinWriter(kb, seed, excluded).pairs(), twins)
        chosen = list(weighted(pairs, by_source, temperature))
        if not chosen:
            raise AdmiralError(f"{out}: no pairs are left; check the sources and their weights")
        write_pairs(out, chosen)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    for line in _summary(chosen):
        click.echo(line, err=True)
    click.echo(f"{out}: {len(chosen):,} pairs", err=True)


def _parse_weight(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not name or not (math.isfinite(weight) and weight >= 0):
        raise AdmiralError(f"--weight {text}: is not SOURCE=WEIGHT, such as fever=2 or snli=0.5")
    return name, weight


def _claim_pairs(source: Source, corpus: Corpus, excluded: set[str], seed: int) -> Iterator[Pair]:
    """Yield the pairs of a file of claims, with the names of folder and file as their source."""
    count = left_out = 0
    path = source.path.resolve()
    name = f"{path.parent.name}-{path.name.split('.')[0]}"
    for count, item in enumerate(source.claims(), start=1):  # noqa: B007
        own: Corpus = PassageCorpus(item.passages) if item.passages else corpus
        rng = random.Random(f"{seed} {item.claim.claim}")
        pairs: list[Pair] = []
        if excluded.isdisjoint(item.claim.all_titles):
            pairs = list(evidence_pairs(item.claim, own, name, PairSettings(), rng))
            pairs += page_pairs(item.claim, own, name, rng)
        left_out += not pairs
        yield from pairs
    click.echo(
        f"{source.path}: {count - left_out:,} claims, {left_out:,} left out: excluded, or without "
        "label or gold documents here",
        err=True,
    )


def _summary(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield a line for each source: its pairs by label, and how many an epoch takes."""
    counts = Counter((pair.source, pair.label) for pair in pairs)
    for source in sorted({pair.source for pair in pairs}):
        by_label = {label: n for (name, label), n in sorted(counts.items()) if name == source}
        shown = ", ".join(f"{n:,} {label}" for label, n in by_label.items())
        taken = sum(pair.weight for pair in pairs if pair.source == source)
        yield f"{source}: {shown}; {taken:,.0f} in an epoch"


if __name__ == "__main__":
    main()
