"""Ways of ranking what the same hops have found, side by side, in one run.

    python -m benchmarks.ranking CLAIMS.jsonl --kb KB

The claims come with gold evidence in a format of `admiral.gold`. Each is answered once; the
documents that its first hop found, and those of all hops, are ranked by each value of the setting
`ranking`. All hops choose their evidence as the settings say, so the lines differ in the ranking
only.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import click

from admiral import Admiral, Claim, RetrievalConfig
from admiral.config import load_config
from admiral.gold import read_gold
from admiral.io.claims import evenly_spaced
from admiral.retrieval.result import ranked_documents
from admiral.retrieval.stage_assembly import build_document_scorer
from benchmarks.retrieval import CUTS, recall_table

RANKINGS = ("last-hop", "fused", "learned")


@click.command()
@click.argument("claims", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", default="demo", show_default=True)
@click.option("--limit", default=0, help="Maximum number of claims; 0 for all.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(claims: Path, kb: str, limit: int, settings: tuple[str, ...]) -> None:
    """Print a table of all-gold recall for CLAIMS by each way of ranking."""
    gold = evenly_spaced([one for one in read_gold(claims) if one.evidence], limit)
    config: RetrievalConfig = load_config(None, [f"kb={kb}", *settings])
    with Admiral.from_pretrained(config=config) as system:
        found = list(system.search_states(Claim(one.id, one.claim) for one in gold))
    heads = " | ".join(f"@{k}" for k in CUTS)
    click.echo(f"| ranking | gold documents | claims | {heads} | s/claim |")
    click.echo("|---" * (len(CUTS) + 4) + "|")
    for hops, reached in (("one hop", [one.first_hops(1) for one in found]), ("all hops", found)):
        for name in RANKINGS:
            one = replace(config, ranking=name)
            relevance = build_document_scorer(one, graph=system.stages.graph is not None)
            began = time.perf_counter()
            rankings = [
                [d.title for d in ranked_documents(progress, one, relevance)]
                for progress in reached
            ]
            spent = time.perf_counter() - began
            for line in recall_table(f"{name}, {hops}", rankings, gold, spent):
                click.echo(line)


if __name__ == "__main__":
    main()
