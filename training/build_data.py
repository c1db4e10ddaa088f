"""Build training samples of the three tasks from a knowledge base and claims with gold evidence.

Run as ``python -m training build_data --kb KB --source hover:claims.jsonl --source
creak:pages.jsonl OUT.jsonl``. The claims of `training.synthesize` have the format ``gold``.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path

import click

from admiral import Admiral
from admiral.config import RetrievalConfig
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import load_checkpoint
from admiral.retrieval.stage_assembly import open_lexicon
from admiral.storage.atomic_files import check_distinct_paths
from proofs.drafting.contextual_similarity import ContextualSimilarity
from training.command_options import (
    documents_option,
    exclude_option,
    headings_option,
    hold_out_option,
    kb_option,
    lexicon_options,
    out_argument,
    program,
    seed_option,
    source_option,
)
from training.data.claim_sources import FORMATS, Source, titles_of
from training.data.evidence_corpora import (
    BeamNegatives,
    Bm25Negatives,
    NegativeSampler,
    with_documents,
)
from training.data.records import write_records
from training.data.sample_builder import MISSING, BuildSettings, build_samples
from training.data.samples import with_headings
from trie.safe_tokenizer import IDENTIFIERS


@program
@out_argument
@kb_option("name")
@source_option(
    f"Claims; repeatable. Formats: {', '.join(FORMATS)}; gold detects its own format.",
    required=True,
    metavar="FORMAT[/TASK+TASK]:FILE",
)
@documents_option
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    default="error",
    show_default=True,
    help="Stop at claims whose gold sentences are missing, or leave them out (and list them).",
)
@click.option(
    "--negatives",
    type=click.Choice(["bm25", "beams"]),
    default="bm25",
    show_default=True,
    help="Documents that BM25 retrieves, or wrong documents in the beams of --model.",
)
@click.option("--model", help="Checkpoint whose beams are the negatives.")
@exclude_option("claims that share a document with them are left out")
@click.option("--context", help="Checkpoint whose encoder aligns the spans of proofs by context.")
@click.option(
    "--splits",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Maximum number of splits of the gold documents per hop; 0: all.",
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
    help="Evidence sentences in an input; use fewer for a first stage of training, in which the "
    "model learns to copy.",
)
@lexicon_options
@headings_option("retrieval samples")
@hold_out_option
@seed_option
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
    lexicon: RetrievalConfig,
    headings: float,
    hold_out: float,
    seed: int,
) -> None:
    """Write training samples to OUT (JSON Lines), the same ones for the same seed."""
    if (negatives == "beams") != (model is not None):
        raise click.UsageError("--negatives beams and --model go together.")
    for option, value in (("--short", short), ("--headings", headings)):
        if math.isnan(value):
            raise click.UsageError(f"{option} is not a number.")
    settings = BuildSettings(
        sentences, splits, short, rerankings=rerankings, rerank_documents=rerank_documents
    )
    parsed = [Source.parse(text).without_held_out(hold_out) for text in sources]
    check_distinct_paths(out, *(source.path for source in parsed), *documents, *exclude)
    for source in parsed:  # report a bad file before the others are processed
        next(source.claims(), None)
    excluded, relations = titles_of(exclude), open_lexicon(lexicon)
    with ExitStack() as stack:
        kb = stack.enter_context(KnowledgeBase.open(locate(name)))
        corpus = with_documents(kb, documents)
        sampler: NegativeSampler = Bm25Negatives(corpus, settings.candidates)
        if model is not None:
            config = RetrievalConfig(judge="never")
            system = Admiral.from_pretrained(model, kb=name, config=config)
            sampler = BeamNegatives(stack.enter_context(system), sampler)
        similarity = None
        if context is not None:
            checkpoint = load_checkpoint(context)
            similarity = ContextualSimilarity(checkpoint.model, checkpoint.tokens)
        samples = build_samples(
            parsed,
            corpus,
            settings,
            seed=seed,
            negatives=sampler,
            missing=missing,
            lexicon=relations,
            similarity=similarity,
            excluded=excluded,
            report=lambda line: click.echo(line, err=True),
        )
        count = write_records(out, with_headings(samples, headings, seed))
    click.echo(f"{out}: {count:,} samples", err=True)
