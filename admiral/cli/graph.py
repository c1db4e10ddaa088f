"""``admiral graph``: build the graph of a knowledge base, query it, explain a connection."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from pydantic import Field

from admiral.cli import options
from admiral.cli.options import Json, Text, argument, print_record, shown
from admiral.errors import AdmiralError
from admiral.serving.request_models import GraphQuery

if TYPE_CHECKING:
    from admiral.records import Record


class _Printed(options.Kb):
    as_json: Json = False
    """Print JSON records."""


class _Results(_Printed):
    count: options.Count = 10
    """Maximum number of results that are printed."""


class Build(_Printed, options.Progress):
    """Build the graph of a knowledge base, or replace it."""

    aliases: bool = True
    """Find aliases as well as titles, or titles only."""

    def run(self) -> None:
        from admiral.graph import build_graph
        from admiral.kb import locate

        report = build_graph(
            locate(self.kb),
            aliases=self.aliases,
            progress=self.progress,
            processes=options.usable_cores(),
        )
        line = (
            f"{report.mentions:,} mentions of {report.entities:,} documents in "
            f"{report.frames:,} sentences, {report.bytes / 1e6:.1f} MB"
        )
        options.print_report(report, self.as_json, line, {"hyperlinks": report.links})


class Info(_Printed):
    """Show the counts and the settings of a graph."""

    def run(self) -> None:
        from admiral.graph import MentionGraph
        from admiral.kb import KnowledgeBase, locate

        with KnowledgeBase.open(locate(self.kb)) as opened:
            graph = MentionGraph.open(opened)
        facts = {**graph.counts, **graph.settings}
        if self.as_json:
            print_record(facts)
        else:
            options.print_rows(
                (name, f"{value:,}" if type(value) is int else json.dumps(value))
                for name, value in facts.items()
            )


_NO_NAME = "the claim names no document, and none has any of its words. Use names as the titles do"
_NO_ENTITY = (
    "the claim names no document. Use names as the titles spell them, or --method pagerank, which "
    "starts from BM25 as well"
)


class Query(_Results, GraphQuery):
    """Retrieve documents and sentences for CLAIM.

    As with grep, the exit status is 1 if nothing is found.
    """

    claim: Annotated[Text, argument()]

    def run(self) -> None:
        from admiral.graph import MentionGraph
        from admiral.io.rendering import printable
        from admiral.kb import KnowledgeBase, locate

        path = locate(self.kb)
        with KnowledgeBase.open(path) as opened:
            record = self.record(opened, MentionGraph.open(opened), self.claim, self.count)
        if not record.get("entities", record["documents"]):
            raise AdmiralError(f"{path}: {_NO_ENTITY if 'entities' in record else _NO_NAME}")
        if self.as_json:
            print_record(record)
        elif "entities" in record:
            click.echo(f"named: {printable(', '.join(record['entities']))}")
            click.echo(f"sentences: {record['sentences']:,}, documents: {record['documents']:,}\n")
            _print_sentences(record["shown"])
        else:
            for rank, document in enumerate(record["documents"], 1):
                click.echo(f"{rank:2}. {printable(document['title'])} ({document['score']:.4f})")
            click.echo()
            _print_sentences(record["sentences"])


class Explain(_Results):
    """Show the sentences that connect two documents.

    These are the sentences that mention both, then pairs of sentences through a document between
    them, the least common first. As with grep, the exit status is 1 if there are none.
    """

    first: Annotated[Text, argument("TITLE")]
    second: Annotated[Text, argument("TITLE")]

    def run(self) -> None:
        from admiral.graph import MentionGraph, connections
        from admiral.io.rendering import graph_sentence, printable
        from admiral.kb import KnowledgeBase, locate

        path = locate(self.kb)
        with KnowledgeBase.open(path) as opened:
            graph = MentionGraph.open(opened)
            found = connections(opened, graph, self.first, self.second, self.count)
        if not found.shown:
            raise AdmiralError(
                f"{path}: no path of two hops connects {self.first!r} and {self.second!r}. Use two "
                "titles that sentences mention"
            )
        paths: list[dict[str, Any]] = [
            {"between": each.between, "sentences": list(map(graph_sentence, each.sentences))}
            for each in found.shown
        ]
        if self.as_json:
            print_record({"direct": found.direct, "between": found.between, "shown": paths})
            return
        click.echo(f"sentences with both: {found.direct:,}, documents between: {found.between:,}")
        for each in paths:
            click.echo(f"\n{printable(each['between'] or 'directly')}")
            _print_sentences(each["sentences"])


class Export(options.Kb):
    """Write which documents mention each other to OUTPUT, for graph tools.

    At most 100,000 documents are written; of larger knowledge bases, those around a claim.
    """

    output: Annotated[Path, argument()]
    claim: Text | None = None
    """Export only the documents that rank best for a claim."""
    count: Annotated[int, Field(ge=1, le=100_000), options.option("-k", "--k")] = 100
    """Number of these documents."""
    format: Literal["graphml", "node-link"] = "graphml"
    """GraphML, or the JSON of NetworkX."""

    def run(self) -> None:
        from admiral.graph import MentionGraph, claim_network, to_networkx, write_network
        from admiral.kb import KnowledgeBase, locate

        path = locate(self.kb)
        with KnowledgeBase.open(path) as opened:
            graph = MentionGraph.open(opened)
            if self.claim is None:
                network = to_networkx(opened, graph)
            else:
                network = claim_network(opened, graph, self.claim, self.count)
        if not len(network):
            raise AdmiralError(f"{path}: {_NO_NAME}")
        write_network(network, self.output, self.format)
        click.echo(
            f"{self.output}: {len(network):,} documents, {network.number_of_edges():,} pairs that "
            "mention each other"
        )


def _print_sentences(sentences: Iterable[Record]) -> None:
    from admiral.io.rendering import render_text

    click.echo(render_text("sentences", sentences=sentences, **shown()), nl=False)


class Graph:
    """Retrieve over the documents that name each other.

    The graph of a knowledge base holds which sentence mentions which title. It belongs to one
    version; `admiral index`, `add` and `remove` bring it up to date.

    For example:
      admiral graph build --kb my-kb
      admiral graph query "Seth Meyers hosts a talk show of NBC." --kb my-kb
      admiral graph query --method graph "Seth Meyers hosts Late Night." --kb my-kb
      admiral graph explain "Seth Meyers" "NBC" --kb my-kb
      admiral graph export graph.graphml --kb my-kb
    """


graph_command = options.group(Graph, Build, Info, Query, Explain, Export)
