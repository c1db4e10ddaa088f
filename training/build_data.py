"""Build training samples of the three tasks from a knowledge base and claims with gold evidence.

Run as ``python -m training.build_data --kb KB --source hover:claims.jsonl --source
creak:pages.jsonl OUT.jsonl``; claims that `admiral synthesize` wrote are read as ``gold:FILE``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from admiral import Admiral
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.gold import GoldClaim, read_gold
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_output_path
from admiral.models.checkpoint import load_checkpoint
from admiral.storage.output_paths import check_place, keep_apart
from proofs.drafting.contextual_similarity import ContextualLikeness
from training.data.annotated import SampleBuilder
from training.data.claim_sources import FORMATS, Source
from training.data.corpora_of_claims import Corpus, ExtendedCorpus, read_documents
from training.data.negatives import BeamNegatives, Bm25Negatives, NegativeSampler
from training.data.samples import Sample, write_samples
from training.data.sampling import BuildSettings
from trie.model.tokens import IDENTIFIERS

MISSING = ("error", "list", "skip")
_REMEDY = (
    "Give the corpus that the claims were annotated on, add documents with --documents, or leave "
    "such claims out with --missing skip (or list)"
)


def build(
    sources: list[Source],
    corpus: Corpus,
    settings: BuildSettings,
    *,
    seed: int = 0,
    negatives: NegativeSampler | None = None,
    missing: str = "error",
    likeness: ContextualLikeness | None = None,
    excluded: Collection[str] = (),
    say: Callable[[str], None],
) -> Iterator[Sample]:
    """Yield the samples of all sources, one after the other.

    Parameters
    ----------
    sources
        Files of claims.
    corpus
        Where gold sentences and negatives stand, for claims that bring no passages.
    settings
        How many samples of a claim, and of what.
    seed
        Draws.
    negatives
        Finds them; BM25 if not given.
    missing
        What happens to claims whose gold sentences the corpus lacks, one of `MISSING`.
    likeness
        Aligns the spans of proofs by context, too; by words alone if not given.
    excluded
        Titles whose claims are left out.
    say
        Is given a line about each source and, with ``list``, about each claim that is left out.

    Raises
    ------
    AdmiralError
        If a file is bad, no samples come of a source, or, with ``error``, a claim's gold sentences
        are not in the corpus.
    """
    for source in sources:

        def report(claim: GoldClaim, problem: str, path: Path = source.path) -> None:
            if missing == "error":
                raise AdmiralError(f"{path}: claim {claim.id!r}: {problem}. {_REMEDY}")
            if missing == "list":
                say(f"{path}: claim {claim.id!r} is left out: {problem}")

        builder = SampleBuilder(
            corpus,
            settings,
            seed,
            negatives=negatives,
            missing=report,
            likeness=likeness,
            excluded=excluded,
        )
        count = 0
        for sample in builder.samples(source.claims(), source.tasks):
            count += 1
            yield sample
        counts = ", ".join(f"{number:,} {name}" for name, number in builder.counts.items())
        if not count:
            raise AdmiralError(
                f"{source.path}: no samples come of it (claims: {counts}). {_REMEDY}"
            )
        say(f"{source.path}: {count:,} samples (claims: {counts})")


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--kb", "name", default="demo", show_default=True, help="Knowledge base.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    required=True,
    metavar="FORMAT[/TASK+TASK]:FILE",
    help=f"Claims; repeatable. Formats: {', '.join(FORMATS)}; gold recognises its own.",
)
@click.option(
    "--documents",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Documents besides those of the knowledge base, such as FEVEROUS pages; repeatable.",
)
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    default="error",
    show_default=True,
    help="Claims whose gold sentences are not there: stop, or leave them out (and list them).",
)
@click.option(
    "--negatives",
    type=click.Choice(["bm25", "beams"]),
    default="bm25",
    show_default=True,
    help="What BM25 finds, or the wrong documents that the beams of --model come to.",
)
@click.option("--model", help="Checkpoint whose beams give negatives.")
@click.option(
    "--exclude",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Claims to test on: others that need one of their documents are left out; repeatable.",
)
@click.option("--context", help="Checkpoint whose encoder aligns the spans of proofs by context.")
@click.option(
    "--splits",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Splits of the gold per hop; 0: all.",
)
@click.option(
    "--short",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Share of inputs with fewer than --sentences.",
)
@click.option(
    "--rerankings",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Reranking samples of a gold claim.",
)
@click.option(
    "--rerank-documents",
    type=click.IntRange(min=2),
    default=6,
    show_default=True,
    help="Documents in a reranking sample.",
)
@click.option(
    "--sentences",
    type=click.IntRange(1, IDENTIFIERS),
    default=5,
    show_default=True,
    help="Evidence in an input; fewer for a first stage of training, in which the model learns to "
    "copy.",
)
@click.option("--seed", default=0, show_default=True)
def main(
    out: Path,
    name: str,
    sources: tuple[str, ...],
    documents: tuple[Path, ...],
    missing: str,
    negatives: str,
    model: str | None,
    exclude: tuple[Path, ...],
    context: str | None,
    splits: int,
    short: float,
    rerankings: int,
    rerank_documents: int,
    sentences: int,
    seed: int,
) -> None:
    """Write training samples to OUT (JSON Lines), the same ones for the same seed."""
    if (negatives == "beams") != (model is not None):
        raise click.UsageError("--negatives beams and --model go together.")
    if math.isnan(short):
        raise click.UsageError("--short is no number.")
    settings = BuildSettings(
        sentences, splits, short, rerankings=rerankings, rerank_documents=rerank_documents
    )
    try:
        parsed = [Source.parse(text) for text in sources]
        check_place(out)
        keep_apart(out, *(source.path for source in parsed), *documents, *exclude)
        check_output_path(out, name, *(one for one in (model, context) if one))
        for source in parsed:  # a bad file is told now, not after the others
            next(source.claims())
        excluded = {title for path in exclude for title in _needed(path)}
        with ExitStack() as stack:
            kb = stack.enter_context(KnowledgeBase.open(locate(name)))
            corpus: Corpus = ExtendedCorpus(kb, read_documents(documents)) if documents else kb
            finder: NegativeSampler = Bm25Negatives(corpus, settings.candidates)
            if model is not None:
                config = RetrievalConfig(judge="never")
                system = Admiral.from_pretrained(model, kb=name, config=config)
                finder = BeamNegatives(stack.enter_context(system), finder)
            likeness = None
            if context is not None:
                checkpoint = load_checkpoint(context)
                likeness = ContextualLikeness(checkpoint.model, checkpoint.tokens)
            samples = build(
                parsed,
                corpus,
                settings,
                seed=seed,
                negatives=finder,
                missing=missing,
                likeness=likeness,
                excluded=excluded,
                say=lambda line: click.echo(line, err=True),
            )
            count = write_samples(out, samples)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {count:,} samples", err=True)


def _needed(path: Path) -> Iterator[str]:
    for claim in read_gold(path):
        for titles in claim.title_sets:
            yield from titles


if __name__ == "__main__":
    main()
