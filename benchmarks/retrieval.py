"""All-gold recall by number of gold documents: AdMIRaL beside BM25 alone, in one run.

Run as ``python -m benchmarks.retrieval CLAIMS.jsonl --kb KB --hops dynamic --hops 1 --hops 4``. The
claims come with gold evidence in a format of `admiral.gold`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from admiral import Admiral, Claim, RetrievalConfig, RetrievalResult
from admiral.evaluation import Prediction, normalise_title, pair_claims
from admiral.evaluation.measures import Group, Measure, group_by_hops, ranking_measures
from admiral.gold import GoldClaim, read_gold
from admiral.io.claims import evenly_spaced

CUTS = (5, 10, 20, 100)


def recalls(
    rankings: Sequence[Sequence[str]], gold: Sequence[GoldClaim], cuts: Sequence[int]
) -> tuple[list[Measure], list[Group]]:
    """Return all-gold recall at each cut, and claims as `admiral evaluate` groups them, all first.

    That is by the number of their gold documents.
    """
    pairs = pair_claims(
        gold,
        {
            claim.id: Prediction(claim.id, tuple(map(normalise_title, ranking)))
            for claim, ranking in zip(gold, rankings, strict=True)
        },
    ).pairs
    return ranking_measures(pairs, cuts)[: len(cuts)], group_by_hops(pairs, "hop")


def recall_table(
    name: str, rankings: Sequence[Sequence[str]], gold: Sequence[GoldClaim], seconds: float
) -> list[str]:
    """Return lines: share of claims with all gold titles in the top k, over all and by number."""
    measures, groups = recalls(rankings, gold, CUTS)
    lines = []
    for group in groups:
        cells = [f"{measure.value(group.members):.3f}" for measure in measures]
        label, _, _ = group.name.partition(" ")
        cost = f"{seconds / len(gold):.2f}" if label == "all" else ""
        count = measures[0].count(group.members)
        lines.append(f"| {name} | {label} | {count} | {' | '.join(cells)} | {cost} |")
    return lines


def _shows_all(result: RetrievalResult, gold: GoldClaim) -> bool:
    """Return whether the last evidence has a sentence of every document of a gold set."""
    shown = {normalise_title(sentence.title) for sentence in result.evidence}
    return any(shown.issuperset(map(normalise_title, titles)) for titles in gold.title_sets)


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--model", default="mini", show_default=True)
@click.option("--hops", multiple=True, default=("dynamic",), show_default=True)
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(
    claims: Path, kb: str, model: str, hops: tuple[str, ...], limit: int, settings: tuple[str, ...]
) -> None:
    """Print a table of all-gold recall for CLAIMS."""
    from admiral.config import load_config

    gold = evenly_spaced(list(read_gold(claims)), limit)
    config: RetrievalConfig = load_config(None, [f"model={model}", f"kb={kb}", *settings])
    heads = " | ".join(f"@{k}" for k in CUTS)
    click.echo(f"| system | gold documents | claims | {heads} | s/claim |")
    click.echo("|---" * (len(CUTS) + 4) + "|")
    with Admiral.from_pretrained(config=config) as system:
        began = time.perf_counter()
        found = system.kb.search([one.claim for one in gold], max(CUTS))
        spent = time.perf_counter() - began
        for line in recall_table("BM25", [[f.title for f in one] for one in found], gold, spent):
            click.echo(line)
        for setting in hops:
            began = time.perf_counter()
            asked = [Claim(one.id, one.claim) for one in gold]
            results = list(system.retrieve_many(asked, hops=setting))
            spent = time.perf_counter() - began
            rankings = [[d.title for d in r.documents] for r in results]
            for line in recall_table(f"hops={setting}", rankings, gold, spent):
                click.echo(line)
            run = sum(len(r.hops) for r in results) / len(results)
            enough = sum(r.stopped == "sufficient" for r in results) / len(results)
            shown = sum(map(_shows_all, results, gold)) / len(results)
            click.echo(
                f"  hops run: {run:.2f} on average; stopped as sufficient: {enough:.2f}; "
                f"evidence of all gold documents: {shown:.3f}"
            )


if __name__ == "__main__":
    main()
