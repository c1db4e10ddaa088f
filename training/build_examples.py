"""Build training examples of the verifier: claims and sentences of evidence, with labels.

Run as ``python -m training build_examples --nli FOLDER --kb KB --source hover:claims.jsonl
--worlds 50000 OUT.jsonl``.

Pairs of natural language inference have the fields `premise`, `hypothesis`, `label` and `source`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Annotated, Self

import click
from pydantic import BeforeValidator, Field, model_validator

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim
from admiral.kb import KnowledgeBase, locate
from training.data.bridge_twins import bridge_twins
from training.data.claim_sources import Source, is_held_out
from training.data.evidence_corpora import Corpus, GivenDocuments
from training.data.evidence_examples import evidence_examples, selection_examples
from training.data.examples import NON_COMMERCIAL, Example, draw_examples, summary_by_source
from training.data.inference_examples import (
    TitleNames,
    inference_files,
    joined_examples,
    read_inference_examples,
    surrounded_examples,
    with_titles,
)
from training.data.passages import inference_passages, passage_examples
from training.data.records import write_records
from training.data.worlds import world_examples
from training.data_options import (
    ClaimOptions,
    Count,
    DocumentOptions,
    ExcludeOptions,
    Sources,
    program,
)

_PAIRS = "nli:"


def _source_and_count(text: str) -> tuple[str, str]:
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal():
        raise ValueError(f"{text} is not SOURCE=COUNT, such as fever=2000")
    return name, count


def _pairs_or_claims(text: str) -> Path | Source:
    is_pairs = text.startswith(_PAIRS)
    return Path(text.removeprefix(_PAIRS)) if is_pairs else Source.parse(text)


Limit = Annotated[tuple[str, int], BeforeValidator(_source_and_count)]
Maker = Callable[[GoldClaim, Corpus, str, random.Random], Iterator[Example]]
PairsOrClaims = Annotated[Path | Source, BeforeValidator(_pairs_or_claims)]


class ExampleOptions(DocumentOptions, ExcludeOptions, ClaimOptions):
    """Options of this program."""

    nli: tuple[Path, ...] = ()
    """Inference pairs: a file, or a folder of files *.SPLIT.jsonl.gz; repeatable."""
    split: str = "train"
    """Split of the folders of --nli."""
    non_commercial: bool = Field(
        default=False,
        description=f"Also use {' and '.join(sorted(NON_COMMERCIAL))}, whose licences forbid "
        "commercial use.",
    )
    surround: Annotated[tuple[str, ...], "SOURCE"] = ()
    """Repeat the entailed and contradicted examples of a source of --nli with further sentences
    that BM25 finds for the claim; repeatable."""
    title: Annotated[tuple[str, ...], "SOURCE"] = ()
    """Give the evidence of a source of --nli titles, as documents have them; repeatable."""
    join: Annotated[tuple[str, ...], "SOURCE"] = ()
    """Also join two to four claims of a source of --nli to one; repeatable."""
    limit: Annotated[tuple[Limit, ...], "SOURCE=COUNT"] = ()
    """Most examples of a source of --nli, drawn at random with their groups; repeatable."""
    source: Sources = ()
    """Claims with gold evidence, in the formats of training.build_data; repeatable."""
    select: Sources = ()
    """Claims with gold evidence to choose sentences for, among hard ones; repeatable."""
    passage: Annotated[tuple[PairsOrClaims, ...], "FORMAT:FILE"] = ()
    """Claims with gold documents, or inference pairs (nli:FILE) with evidence from a document of
    the knowledge base: what decides them among the sentences around it, and, where they are
    entailed, the same without it; repeatable."""
    bridge_twins: Sources = ()
    """Claims with gold sentences of several documents, and twins in which a sentence has a general
    noun in place of the next document's name; repeatable."""
    worlds: Count = 0
    """Examples about invented people, places and things."""

    @model_validator(mode="after")
    def _has_input(self) -> Self:
        if not any(
            (self.nli, self.source, self.select, self.passage, self.bridge_twins, self.worlds)
        ):
            raise ValueError(
                "there is nothing to build from: give --nli, --source, --select, --passage, "
                "--bridge-twins or --worlds"
            )
        return self


@program(ExampleOptions)
def main(options: ExampleOptions) -> None:
    """Write examples to OUT (JSON Lines), the same ones for the same seed."""
    seed, excluded = options.seed, options.excluded()
    pairs = [path for path in options.passage if isinstance(path, Path)]
    passages = [source for source in options.passage if isinstance(source, Source)]
    makers = (
        ("", options.source, evidence_examples),
        ("selection", options.select, selection_examples),
        ("passage", passages, passage_examples),
        ("twins", options.bridge_twins, bridge_twins),
    )
    examples = _inference_examples(options.nli, options, excluded)
    decided = _inference_examples(pairs, options, excluded)
    for source in options.title:
        examples = with_titles(examples, source, seed)
    joined = [new for source in options.join for new in joined_examples(examples, source, seed)]
    with ExitStack() as stack:
        if decided or options.surround or any(files for _, files, _ in makers):
            kb = stack.enter_context(KnowledgeBase.open(locate(options.kb)))
            corpus = options.corpus(kb)
            for source in options.surround:
                examples += list(surrounded_examples(examples, source, kb, seed))
            examples += inference_passages(decided, corpus, excluded, seed)
            for kind, files, make in makers:
                for file in files:
                    own = file.without_held_out(options.hold_out)
                    examples += _claim_examples(own, corpus, excluded, seed, kind, make)
    examples += joined
    examples += islice(world_examples(seed), options.worlds)
    if not examples:
        raise AdmiralError(f"{options.out}: no examples are left; check the sources")
    write_records(options.out, examples)
    for name, labels, taken in summary_by_source(examples):
        click.echo(f"{name}: {labels}; {taken} in an epoch", err=True)
    click.echo(f"{options.out}: {len(examples):,} examples", err=True)


def _inference_examples(
    paths: Sequence[Path], options: ExampleOptions, excluded: set[str]
) -> list[Example]:
    """Return the examples of files that name no excluded document, by file."""
    kept: list[Example] = []
    names, limits = TitleNames(excluded), dict(options.limit)
    for file in (file for path in paths for file in inference_files(path, options.split)):
        read = list(read_inference_examples(file, non_commercial=options.non_commercial))
        allowed = [example for example in read if not names.in_example(example)]
        if left_out := len(read) - len(allowed):
            click.echo(f"{file}: {left_out:,} of {len(read):,} left out: excluded", err=True)
        for source in dict.fromkeys(example.source for example in allowed):
            own = [example for example in allowed if example.source == source]
            limit = limits.get(source)
            kept += own if limit is None else draw_examples(own, limit, options.seed)
    return [example for example in kept if not is_held_out(example.claim, options.hold_out)]


def _claim_examples(
    source: Source, corpus: Corpus, excluded: set[str], seed: int, kind: str, make: Maker
) -> Iterator[Example]:
    """Yield the examples of a file of claims, with the names of folder and file as their source.

    `kind`: is added to the name.
    """
    count = left_out = 0
    path = source.path.resolve()
    name = "-".join(filter(None, (path.parent.name, path.name.split(".")[0], kind)))
    for count, item in enumerate(source.claims(), start=1):  # noqa: B007
        own = GivenDocuments(item.passages) if item.passages else corpus
        rng = random.Random(f"{seed} {item.claim.claim}")
        is_excluded = not excluded.isdisjoint(item.claim.all_titles)
        examples = [] if is_excluded else list(make(item.claim, own, name, rng))
        left_out += not examples
        yield from examples
    click.echo(
        f"{source.path}: {count - left_out:,} claims, {left_out:,} left out: excluded, or without "
        "label or gold documents here",
        err=True,
    )
