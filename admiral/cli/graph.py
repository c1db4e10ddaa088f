"""``admiral graph``: build the graph of a knowledge base, query it, explain a connection."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.options import (
    checked_text,
    count_option,
    kb_option,
    output_width,
    print_report,
    progress_option,
    usable_cores,
    use_colour,
)
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.graph import Connections
    from admiral.records import ScoredTitle, Sentence


# The names of `admiral.graph.subgraph.METHODS`, whose import takes too long for --help.
_RANKED = "pagerank"
_METHODS = (_RANKED, "graph", "entity", "mention", "entity+mention")
_MAX_EXPORTED = 100_000
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON records.")
_count = count_option("Maximum number of results that are printed.")


@click.group("graph")
def graph_command() -> None:
    """Retrieve over the documents that name each other.

    The graph of a knowledge base holds which sentence mentions which title. It belongs to one
    version; `admiral index`, `add` and `remove` bring it up to date.
    """


@graph_command.command("build")
@kb_option
@click.option(
    "--aliases/--no-aliases", default=True, help="Find aliases as well as titles, or titles only."
)
@progress_option
@_json
def build_command(kb: str, aliases: bool, progress: bool, as_json: bool) -> None:
    """Build the graph of a knowledge base, or replace it."""
    from admiral.graph import build_graph
    from admiral.kb import locate

    report = build_graph(locate(kb), aliases=aliases, progress=progress, processes=usable_cores())
    line = (
        f"{report.mentions:,} mentions of {report.entities:,} documents in "
        f"{report.frames:,} sentences, {report.bytes / 1e6:.1f} MB"
    )
    print_report(report, as_json, line, {"hyperlinks": report.links})


@graph_command.command("info")
@kb_option
@_json
def info_command(kb: str, as_json: bool) -> None:
    """Show the counts and the settings of a graph."""
    from admiral.graph import MentionGraph
    from admiral.kb import KnowledgeBase, locate

    with KnowledgeBase.open(locate(kb)) as opened:
        graph = MentionGraph.open(opened)
    facts = {**graph.counts, **graph.settings}
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = f"{value:,}" if type(value) is int else json.dumps(value)
        click.echo(f"{name:<{width}}  {shown}")


@graph_command.command("query")
@click.argument("claim")
@kb_option
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    default=_RANKED,
    show_default=True,
    help="pagerank ranks documents and sentences. The others are the sets of the paper on "
    "GraphRetrieve: sentences between the documents that the claim names (graph), sentences of "
    "these documents (entity), sentences that mention them (mention), or both.",
)
@click.option(
    "--hops",
    type=click.IntRange(1, 2),
    default=2,
    show_default=True,
    help="Longest path between two named documents, for graph.",
)
@click.option(
    "--variant",
    type=click.Choice(["induced", "paths"]),
    default="induced",
    show_default=True,
    help="Keep all sentences between the documents on such paths, or those of a path, for graph.",
)
@click.option(
    "--owner/--no-owner",
    default=True,
    help="Whether the sentences of a document mention its title, for graph.",
)
@click.option(
    "--readings",
    type=click.IntRange(1, 4),
    default=4,
    show_default=True,
    help="Number of documents that an ambiguous name stands for. Not for pagerank.",
)
@click.option(
    "--max-mentions",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Refuse claims that name a document with more mentions, as the paper did with 1000; 0 for "
    "no limit. Not for pagerank.",
)
@_count
@_json
def query_command(
    claim: str,
    kb: str,
    method: str,
    hops: int,
    variant: str,
    owner: bool,
    readings: int,
    max_mentions: int,
    count: int,
    as_json: bool,
) -> None:
    """Retrieve documents and sentences for CLAIM.

    As with grep, the exit status is 1 if nothing is found.
    """
    from admiral.graph import ClaimSubgraph, GraphRanker, MentionGraph, SubgraphOptions
    from admiral.graph.mention_graph import sentences_at
    from admiral.kb import KnowledgeBase, locate

    text = checked_text(claim, "CLAIM")
    path = locate(kb)
    with KnowledgeBase.open(path) as opened:
        graph = MentionGraph.open(opened)
        if method == _RANKED:
            ranking = GraphRanker(opened, graph).rank(text, count)
            if not ranking.documents:
                raise AdmiralError(
                    f"{path}: the claim names no document, and none has any of its words. Use "
                    "names as the titles spell them"
                )
            print_ranking(ranking.documents, ranking.sentences, as_json)
            return
        options = SubgraphOptions(hops, variant, owner)
        subgraph = ClaimSubgraph(
            opened, graph, options, max_mentions=max_mentions, readings=readings
        )
        entities = subgraph.entities(text)
        if not entities:
            raise AdmiralError(
                f"{path}: the claim names no document. Use names as the titles spell them, or "
                "--method pagerank, which starts from BM25 as well"
            )
        frames = subgraph.retrieve(entities, method)
        sentences = sentences_at(opened, graph.sentences(frames[:count]))
        summary = {
            "entities": [entity.title for entity in entities],
            "sentences": len(frames),
            "documents": len(set(graph.page_of(frames).tolist())),
        }
    print_set(summary, sentences, as_json)


@graph_command.command("explain")
@click.argument("first", metavar="TITLE")
@click.argument("second", metavar="TITLE")
@kb_option
@_count
@_json
def explain_command(first: str, second: str, kb: str, count: int, as_json: bool) -> None:
    """Show the sentences that connect two documents.

    These are the sentences that mention both, then pairs of sentences through a document between
    them, the least common first. As with grep, the exit status is 1 if there are none.
    """
    from admiral.graph import MentionGraph, connections
    from admiral.kb import KnowledgeBase, locate

    titles = checked_text(first, "TITLE"), checked_text(second, "TITLE")
    path = locate(kb)
    with KnowledgeBase.open(path) as opened:
        found = connections(opened, MentionGraph.open(opened), *titles, count)
    if not found.shown:
        raise AdmiralError(
            f"{path}: no path of two hops connects {titles[0]!r} and {titles[1]!r}. Use two titles "
            "that sentences mention"
        )
    print_connections(found, as_json)


@graph_command.command("export")
@click.argument("output", type=click.Path(path_type=Path))
@kb_option
@click.option("--claim", help="Export only the documents that rank best for a claim.")
@count_option("Number of these documents.", 100, _MAX_EXPORTED)
@click.option(
    "--format",
    "format",
    type=click.Choice(["graphml", "node-link"]),
    default="graphml",
    show_default=True,
    help="GraphML, or the JSON of NetworkX.",
)
def export_command(output: Path, kb: str, claim: str | None, count: int, format: str) -> None:
    """Write which documents mention each other to OUTPUT, for graph tools.

    At most 100,000 documents are written; of larger knowledge bases, those
    around a claim.
    """
    from admiral.graph import MentionGraph, claim_network, to_networkx, write_network
    from admiral.kb import KnowledgeBase, locate
    from admiral.storage.atomic_files import check_distinct_paths

    text = None if claim is None else checked_text(claim, "--claim")
    path = locate(kb)
    check_distinct_paths(output, folders=[path])
    with KnowledgeBase.open(path) as opened:
        graph = MentionGraph.open(opened)
        if text is None:
            network = to_networkx(opened, graph)
        else:
            network = claim_network(opened, graph, text, count)
    if not len(network):
        raise AdmiralError(
            f"{path}: the claim names no document, and none has any of its words. Use names as the "
            "titles spell them"
        )
    write_network(network, output, format)
    edges = network.number_of_edges()
    click.echo(f"{output}: {len(network):,} documents, {edges:,} pairs that mention each other")


def print_ranking(
    documents: tuple[ScoredTitle, ...], sentences: tuple[Sentence, ...], as_json: bool
) -> None:
    """Print a ranking of documents and of sentences."""
    from admiral.io.rendering import printable, ranking_record
    from admiral.storage.atomic_files import encode_record

    if as_json:
        sys.stdout.buffer.write(encode_record(ranking_record(documents, sentences)))
        return
    for rank, document in enumerate(documents, 1):
        click.echo(f"{rank:2}. {printable(document.title)} ({document.score:.4f})")
    click.echo()
    _print_sentences(sentences)


def print_set(summary: dict[str, object], sentences: list[Sentence], as_json: bool) -> None:
    """Print the sentences of a set and its size."""
    from admiral.io.rendering import printable, set_record
    from admiral.storage.atomic_files import encode_record

    if as_json:
        sys.stdout.buffer.write(encode_record(set_record(summary, sentences)))
        return
    names = summary["entities"]
    assert isinstance(names, list)
    click.echo(f"named: {printable(', '.join(names))}")
    click.echo(f"sentences: {summary['sentences']:,}, documents: {summary['documents']:,}\n")
    _print_sentences(sentences)


def print_connections(found: Connections, as_json: bool) -> None:
    """Print the paths between two documents."""
    from admiral.io.rendering import graph_sentence, printable
    from admiral.storage.atomic_files import encode_record

    if as_json:
        shown = [
            {"between": each.between, "sentences": [graph_sentence(s) for s in each.sentences]}
            for each in found.shown
        ]
        record = {"direct": found.direct, "between": found.between, "shown": shown}
        sys.stdout.buffer.write(encode_record(record))
        return
    click.echo(f"sentences with both: {found.direct:,}, documents between: {found.between:,}")
    for each in found.shown:
        click.echo(f"\n{'directly' if each.between is None else printable(each.between)}")
        _print_sentences(each.sentences)


def _print_sentences(sentences: tuple[Sentence, ...] | list[Sentence]) -> None:
    from admiral.io.rendering import render_sentences

    text = render_sentences(sentences, colour=use_colour(), width=output_width())
    click.echo(text, nl=False)
