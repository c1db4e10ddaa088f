"""Turn reranking samples into claims with sentences, for the program `dense_retriever`.

The query is the claim with the evidence chosen so far, as the similarity reranker writes it. The
gold sentences that are not in it are the positives, others of the sample's documents the negatives.

Run as ``python -m training sentence_pairs SAMPLES.jsonl OUT.jsonl``.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.kb.vectors import embedded_text
from admiral.retrieval.rerankers import similarity_query
from training.cited_pages import CitedPassages, Titled
from training.data.records import write_records
from training.data.samples import RerankSample, read_samples
from training.data_options import Argument, OutOptions, Positive, SeedOptions, program

_MOST_POSITIVES = 4


class PairOptions(SeedOptions, OutOptions):
    """Options of this program."""

    samples: Argument
    negatives: Positive = 16
    """Maximum number of negatives of a sample."""


def sentence_pairs(path: Path, negatives: int, seed: int) -> Iterator[CitedPassages]:
    """Yield the reranking samples of a file that have both positives and negatives.

    `negatives`: maximum number of negatives of a sample, which are drawn at random.

    Raises AdmiralError if there is none.
    """
    rng = random.Random(seed)
    is_empty = True
    for number, sample in enumerate(read_samples(path)):
        right: list[Titled] = []
        wrong: list[Titled] = []
        for document in sample.documents if isinstance(sample, RerankSample) else ():
            for index, sentence in enumerate(document.sentences):
                if sentence.strip() and (document.title, sentence) not in sample.evidence:
                    text = embedded_text(document.title, sentence)
                    (right if index in document.relevant else wrong).append(("", text))
        if right and wrong:
            is_empty = False
            query = similarity_query(sample.claim, [text for _, text in sample.evidence])
            drawn = rng.sample(wrong, min(len(wrong), negatives))
            kept = tuple(right[:_MOST_POSITIVES])
            yield CitedPassages(str(number), "", sample.claim, query, kept, tuple(drawn))
    if is_empty:
        raise AdmiralError(
            f"{path}: holds no reranking samples; build them with training.build_data"
        )


@program(PairOptions)
def main(options: PairOptions) -> None:
    """Write the reranking samples of SAMPLES to OUT as claims with sentences."""
    pairs = sentence_pairs(options.samples, options.negatives, options.seed)
    count = write_records(options.out, pairs)
    click.echo(f"{options.out}: {count:,} claims", err=True)
