"""Build training examples of the verifier: claims and sentences of evidence, with labels.

Run as ``python -m training.build_examples --nli FOLDER --kb KB --source hover:claims.jsonl
--worlds 50000 OUT.jsonl``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.store.manifest import check_outside_folders
from admiral.storage.atomic_files import check_distinct_paths, check_output_path
from training.command_options import (
    documents_option,
    exclude_option,
    hold_out_option,
    kb_option,
    seed_option,
    source_option,
)
from training.data.claim_sources import FORMATS, Source, is_held_out, titles_of
from training.data.evidence_corpora import Corpus, PassageCorpus, with_documents
from training.data.evidence_examples import (
    evidence_examples,
    joined_examples,
    page_examples,
    selection_examples,
)
from training.data.examples import (
    NON_COMMERCIAL,
    Example,
    draw_examples,
    summary_by_source,
    write_examples,
)
from training.data.inference_examples import (
    TitleNames,
    inference_files,
    read_inference_examples,
    surrounded_examples,
    with_titles,
)
from training.data.worlds import world_examples


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
    "--surround",
    multiple=True,
    metavar="SOURCE",
    help="Repeat the entailed and contradicted examples of a source of --nli with further "
    "sentences that BM25 finds for the claim; repeatable.",
)
@click.option(
    "--title",
    multiple=True,
    metavar="SOURCE",
    help="Give the evidence of a source of --nli titles, as documents have them; repeatable.",
)
@click.option(
    "--join",
    multiple=True,
    metavar="SOURCE",
    help="Also join claims of a source of --nli in pairs; repeatable.",
)
@kb_option("name")
@source_option(f"Claims with gold evidence; repeatable. Formats: {', '.join(FORMATS)}.")
@documents_option
@click.option(
    "--select",
    "selections",
    multiple=True,
    metavar="[FORMAT:]FILE",
    help="Claims with gold evidence to choose sentences for, among hard ones; repeatable.",
)
@click.option(
    "--worlds",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Examples about invented people, places and things.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="SOURCE=COUNT",
    help="Most examples of a source of --nli, drawn at random with their groups; repeatable.",
)
@exclude_option(
    "claims that share a document with them, and examples of --nli that name one, are left out"
)
@hold_out_option
@seed_option
def main(
    out: Path,
    nli: tuple[Path, ...],
    split: str,
    non_commercial: bool,
    surround: tuple[str, ...],
    title: tuple[str, ...],
    join: tuple[str, ...],
    name: str,
    sources: tuple[str, ...],
    documents: tuple[Path, ...],
    selections: tuple[str, ...],
    worlds: int,
    limits: tuple[str, ...],
    exclude: tuple[Path, ...],
    hold_out: float,
    seed: int,
) -> None:
    """Write examples to OUT (JSON Lines), the same ones for the same seed."""
    if not nli and not sources and not selections and not worlds:
        raise click.UsageError(
            "There is nothing to build from: give --nli, --source, --select or --worlds."
        )
    try:
        parsed = [Source.parse(text).without_held_out(hold_out) for text in sources]
        most = dict(map(_parse_limit, limits))
        to_select = [Source.parse(text).without_held_out(hold_out) for text in selections]
        files = [file for path in nli for file in inference_files(path, split)]
        inputs = (*files, *(source.path for source in (*parsed, *to_select)), *documents, *exclude)
        check_output_path(out)
        check_distinct_paths(out, *inputs)
        check_outside_folders(out, name)
        excluded = titles_of(exclude)
        examples = _inference_examples(files, non_commercial, TitleNames(excluded), most, seed)
        examples = [one for one in examples if not is_held_out(one.claim, hold_out)]
        for source in title:
            examples = with_titles(examples, source, seed)
        joined = [new for source in join for new in joined_examples(examples, source, seed)]
        if parsed or to_select or surround:
            with ExitStack() as stack:
                kb = stack.enter_context(KnowledgeBase.open(locate(name)))
                corpus = with_documents(kb, documents)
                for source in surround:
                    examples += list(surrounded_examples(examples, source, kb, seed))
                for claims in parsed:
                    examples += _claim_examples(claims, corpus, excluded, seed)
                for claims in to_select:
                    examples += _claim_examples(claims, corpus, excluded, seed, select=True)
        examples += joined
        examples += islice(world_examples(seed), worlds)
        if not examples:
            raise AdmiralError(f"{out}: no examples are left; check the sources")
        write_examples(out, examples)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    for source, labels, taken in summary_by_source(examples):
        click.echo(f"{source}: {labels}; {taken} in an epoch", err=True)
    click.echo(f"{out}: {len(examples):,} examples", err=True)


def _parse_limit(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal():
        raise AdmiralError(f"--limit {text}: is not SOURCE=COUNT, such as fever=2000")
    return name, int(count)


def _inference_examples(
    files: Sequence[Path],
    non_commercial: bool,
    names: TitleNames,
    limits: Mapping[str, int],
    seed: int,
) -> list[Example]:
    """Return the examples of --nli that name no excluded document, by file."""
    kept: list[Example] = []
    for file in files:
        read = list(read_inference_examples(file, non_commercial=non_commercial))
        allowed = [example for example in read if not names.in_example(example)]
        if len(allowed) < len(read):
            left_out = len(read) - len(allowed)
            click.echo(f"{file}: {left_out:,} of {len(read):,} left out: excluded", err=True)
        for source in dict.fromkeys(example.source for example in allowed):
            own = [example for example in allowed if example.source == source]
            limit = limits.get(source)
            kept += own if limit is None else draw_examples(own, limit, seed)
    return kept


def _claim_examples(
    source: Source, corpus: Corpus, excluded: set[str], seed: int, *, select: bool = False
) -> Iterator[Example]:
    """Yield the examples of a file of claims, with the names of folder and file as their source."""
    count = left_out = 0
    path = source.path.resolve()
    name = f"{path.parent.name}-{path.name.split('.')[0]}" + "-selection" * select
    for count, item in enumerate(source.claims(), start=1):  # noqa: B007
        own: Corpus = PassageCorpus(item.passages) if item.passages else corpus
        rng = random.Random(f"{seed} {item.claim.claim}")
        examples: list[Example] = []
        if not excluded.isdisjoint(item.claim.all_titles):
            pass
        elif select:
            examples = list(selection_examples(item.claim, own, name, rng))
        else:
            examples = list(evidence_examples(item.claim, own, name, rng))
            examples += page_examples(item.claim, own, name, rng)
        left_out += not examples
        yield from examples
    click.echo(
        f"{source.path}: {count - left_out:,} claims, {left_out:,} left out: excluded, or without "
        "label or gold documents here",
        err=True,
    )


if __name__ == "__main__":
    main()
