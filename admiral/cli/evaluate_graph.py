"""``admiral evaluate graph``: hit rate and amount of text of retrieval over the graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from admiral.cli.options import cut_offs_option, json_record_option


@click.command("graph", short_help="Evaluate retrieval over the graph.")
@click.option(
    "--gold", type=click.Path(path_type=Path), required=True, help="Claims with gold evidence."
)
@click.option("--kb", metavar="NAME|DIR", required=True, help="Knowledge base with a graph.")
@cut_offs_option("Cut-off of the rankings; repeatable. [default: 5, 10, 20, 50 and 100]")
@click.option(
    "--max-mentions",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Leave out claims that name a document with more mentions; 0 for no limit.",
)
@click.option(
    "--min-entities",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Leave out claims that name fewer documents.",
)
@click.option(
    "--rankings-only",
    is_flag=True,
    help="Only the rankings, by PageRank and BM25: faster.",
)
@json_record_option
def evaluate_graph_command(
    gold: Path,
    kb: str,
    ks: Sequence[int],
    max_mentions: int,
    min_entities: int,
    rankings_only: bool,
    as_json: bool,
) -> None:
    """Compare retrieval over the graph by hit rate and amount of text.

    It needs no run: GraphRetrieve, its baselines, the ranking of `admiral graph query` and BM25
    search the knowledge base.
    """
    from admiral.evaluation.graph_hits import CUTS, evaluate_graph, format_hits, hit_records
    from admiral.gold import read_gold
    from admiral.graph import MentionGraph
    from admiral.kb import KnowledgeBase, locate

    claims = list(read_gold(gold))
    with KnowledgeBase.open(locate(kb)) as opened:
        result = evaluate_graph(
            opened,
            MentionGraph.open(opened),
            claims,
            min_entities=min_entities,
            max_mentions=max_mentions,
            cuts=ks or CUTS,
            rankings_only=rankings_only,
            quiet=as_json,
        )
    records = hit_records(result)
    if as_json:
        record = {"task": "graph", "left_out": result.left_out, "methods": records}
        click.echo(json.dumps(record, ensure_ascii=False, indent=1))
        return
    click.echo(f"graph, {len(result.hops)} of {len(claims)} claims")
    for reason, count in result.left_out.items():
        click.echo(f"- {count} left out: {reason}")
    click.echo("\n" + format_hits(records), nl=False)
