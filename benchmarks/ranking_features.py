"""Measure groups of features of the document scorer by cross-validation.

    python -m benchmarks.ranking_features --source hover:TRAIN.jsonl --kb KB

The hops of claims with gold documents are run once, as by `training.ranking`, over a knowledge base
with a graph. The weights are fitted on four fifths of the claims, with all features, without those
of the graph and without those of the generator, and rank what was found for the others. The bundled
weights rank the same documents. A claim counts if all gold documents that were found for it
are among the first k, or, under "first", before all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import click
import torch

from admiral import Admiral
from admiral.config import load_config
from admiral.graph import graph_to_use
from admiral.ranking.document_scorer import NetworkDocumentScorer
from admiral.ranking.features import FEATURES, GENERATIVE_FEATURES, GRAPH_FEATURES
from admiral.retrieval.stage_assembly import build_title_scorer
from training.command_options import (
    gold_source_option,
    held_out_option,
    limit_option,
    retrieval_settings_option,
    seed_option,
)
from training.data.claim_sources import Source, sample_claims
from training.ranking import (
    RankingExample,
    fit_document_scorer,
    ranking_examples,
)

_CUTS = (5, 10, 20)
_FOLDS = 5

# The examples of a claim, one for each number of hops, from one hop on.
ClaimExamples = Sequence[RankingExample]


def without(names: Collection[str], claims: Sequence[ClaimExamples]) -> list[ClaimExamples]:
    """Return the examples with the named features constant, so that no fit reads them."""
    kept = torch.tensor([name not in names for name in FEATURES])
    return [[(features * kept, gold) for features, gold in own] for own in claims]


def wrong_before(scorer: NetworkDocumentScorer, example: RankingExample) -> int:
    """Return how many other documents are ranked before the last gold document, or level."""
    features, gold = example
    scores = torch.tensor([scorer.score(row) for row in features.tolist()])
    return int((scores[~gold] >= scores[gold].min()).sum())


def shares(
    claims: Sequence[ClaimExamples], scorer_of: Callable[[int], NetworkDocumentScorer]
) -> list[float]:
    """Return the share of claims that count, under "first" and at each cut, for one and all hops.

    Parameters
    ----------
    claims
        The examples of each claim.
    scorer_of
        Returns the scorer for the claim with a number.
    """
    counts: list[float] = []
    for hop in (0, -1):
        wrong = [wrong_before(scorer_of(at), own[hop]) for at, own in enumerate(claims)]
        gold = [int(own[hop][1].sum()) for own in claims]
        counts.append(sum(not number for number in wrong))
        counts += [sum(a + b <= k for a, b in zip(wrong, gold, strict=True)) for k in _CUTS]
    return [count / len(claims) for count in counts]


def cross_validated(
    claims: Sequence[ClaimExamples], folds: int, seed: int
) -> Callable[[int], NetworkDocumentScorer]:
    """Return a function from the number of a claim to a scorer that was fitted without it."""
    scorers = []
    for fold in range(folds):
        rest = [one for at, own in enumerate(claims) if at % folds != fold for one in own]
        features, gold = zip(*rest, strict=True)
        scorers.append(fit_document_scorer(features, gold, seed))
    return lambda at: scorers[at % folds]


def table(claims: Sequence[ClaimExamples], folds: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table."""
    heads = ["first", *(f"@{k}" for k in _CUTS)]
    columns = [f"{hops}: {head}" for hops in ("one hop", "all hops") for head in heads]
    yield f"| weights | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, graph in (("bundled, without a graph", False), ("bundled, with a graph", True)):
        yield _row(name, shares(claims, _always(NetworkDocumentScorer.bundled(graph=graph))))
    for name, left_out in (
        ("fitted", ()),
        ("fitted without the graph", GRAPH_FEATURES),
        ("fitted without the generator", (*GENERATIVE_FEATURES, "probability")),
    ):
        plain = without(left_out, claims)
        yield _row(name, shares(plain, cross_validated(plain, folds, seed)))


def _always(scorer: NetworkDocumentScorer) -> Callable[[int], NetworkDocumentScorer]:
    return lambda _: scorer


def _row(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |"


@click.command()
@gold_source_option
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@limit_option(100)
@retrieval_settings_option
@held_out_option
@seed_option
def main(
    sources: tuple[str, ...],
    kb: str,
    model: str,
    limit: int,
    settings: tuple[str, ...],
    held_out: float | None,
    seed: int,
) -> None:
    """Print a table of weights of the ranking that read all features or only some."""
    config = load_config(None, [*settings, f"kb={kb}", f"model={model}", "graph=true"])
    parsed = [Source.parse(text).only_held_out(held_out) for text in sources]
    with Admiral.from_pretrained(config=config) as system:
        system.stages = replace(
            system.stages,
            graph_proximity=graph_to_use(system.kb, "true"),
            title_scorer=build_title_scorer(system.kb, system.checkpoint, config),
        )
        claims = sample_claims(parsed, system.kb, limit, seed)
        examples = [own for own in ranking_examples(system, claims) if own]
    click.echo(f"{len(examples)} of {len(claims)} claims\n")
    for line in table(examples, _FOLDS, seed):
        click.echo(line)


if __name__ == "__main__":
    main()
