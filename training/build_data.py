"""Build training samples of the three tasks from a knowledge base and claims with gold evidence.

Run as ``python -m training build_data --kb KB --source hover:claims.jsonl --source
creak:pages.jsonl OUT.jsonl``. The claims of `training.synthesize` have the format ``gold``.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Annotated, Literal, Self

import click
from pydantic import model_validator

from admiral import Admiral
from admiral.config import RetrievalConfig
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import load_checkpoint
from proofs.drafting.contextual_similarity import ContextualSimilarity
from training.data.evidence_corpora import NegativeSampler, beam_negatives
from training.data.records import write_records
from training.data.sample_builder import CANDIDATES, BuildSettings, SampleBuilder
from training.data.samples import with_headings
from training.data_options import (
    ClaimOptions,
    DocumentOptions,
    ExcludeOptions,
    HeadingOptions,
    LexiconOptions,
    program,
)


class DataOptions(
    HeadingOptions, LexiconOptions, BuildSettings, DocumentOptions, ExcludeOptions, ClaimOptions
):
    """Options of this program."""

    negatives: Literal["bm25", "beams"] = "bm25"
    """Documents that BM25 retrieves, or wrong documents in the beams of --model."""
    model: Annotated[str, "DIR"] = ""
    """Checkpoint whose beams are the negatives."""
    context: Annotated[str, "DIR"] = ""
    """Checkpoint whose encoder aligns the spans of proofs by context."""

    @model_validator(mode="after")
    def _beams_need_a_model(self) -> Self:
        if (self.negatives == "beams") != bool(self.model):
            raise ValueError("--negatives beams and --model go together.")
        return self


@program(DataOptions)
def main(options: DataOptions) -> None:
    """Write training samples to OUT (JSON Lines), the same ones for the same seed."""
    for source in options.claim_files():  # report a bad file before the others are processed
        next(source.claims(), None)
    similarity: ContextualSimilarity | None = None
    negatives: NegativeSampler | None = None
    with ExitStack() as stack:
        kb = stack.enter_context(KnowledgeBase.open(locate(options.kb)))
        if options.model:
            config = RetrievalConfig(judge="never")
            system = Admiral.from_pretrained(options.model, kb=options.kb, config=config)
            stack.enter_context(system)
            negatives = partial(beam_negatives, system=system, candidates=CANDIDATES)
        if options.context:
            checkpoint = load_checkpoint(options.context)
            similarity = ContextualSimilarity(checkpoint.model, checkpoint.tokens)
        builder = SampleBuilder(
            options.corpus(kb),
            options,
            options.seed,
            negatives=negatives,
            lexicon=options.lexicon(),
            similarity=similarity,
            excluded=options.excluded(),
            report=lambda line: click.echo(line, err=True),
        )
        samples = chain.from_iterable(map(builder.source_samples, options.claim_files()))
        count = write_records(options.out, with_headings(samples, options.headings, options.seed))
    click.echo(f"{options.out}: {count:,} samples", err=True)
