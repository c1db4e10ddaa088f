"""Export the graph of mentions between documents to NetworkX, GraphML and node-link JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.graph_files import LINK
from admiral.graph.graph_ranking import GraphRanker
from admiral.graph.mention_graph import MentionGraph, mention_weights
from admiral.io.text_cleaning import REPLACEMENT
from admiral.kb import KnowledgeBase
from admiral.storage.atomic_files import explain_write_errors, replacing

if TYPE_CHECKING:
    import networkx as nx

FORMATS = ("graphml", "node-link")
#: NetworkX takes about 10 kB for a document with its mentions.
MAX_DOCUMENTS = 100_000
# Characters that XML does not have.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_networkx(
    kb: KnowledgeBase, graph: MentionGraph, rows: np.ndarray | None = None
) -> nx.DiGraph:
    """Return which documents mention each other as a directed NetworkX graph.

    Returns a node for each document, by title, with ``row``, ``sentences`` (their number) and
    ``mentions`` (number of sentences in the knowledge base that mention it); an edge from a
    document to each other one that it mentions, with ``sentences`` (their number), ``links`` (how
    many mentions are hyperlinks) and ``weight`` (sum of the weights of the mentions). Raises
    AdmiralError if there are too many documents.
    """
    import networkx as nx

    rows = kb.rows() if rows is None else np.unique(rows)
    if len(rows) > MAX_DOCUMENTS:
        raise AdmiralError(
            f"{kb.path}: {len(rows):,} documents are too many to export; {MAX_DOCUMENTS:,} are the "
            "limit. Export those around a claim."
        )
    titles = list(map(kb.title, rows.tolist()))
    own, frames = graph.frames_of(rows)
    network = nx.DiGraph()
    numbers = np.bincount(own, minlength=len(rows)).tolist()
    mentions = graph.frequency(rows).tolist()
    for row, title, *counts in zip(rows.tolist(), titles, numbers, mentions, strict=True):
        network.add_node(title, row=row, sentences=counts[0], mentions=counts[1])
    found = graph.entities_in(frames)
    source, target = own[found.requests], rows.searchsorted(found.values)
    target = np.minimum(target, len(rows) - 1)
    inside = (rows[target] == found.values) & (source != target)
    source, target, kinds = source[inside], target[inside], found.kinds[inside]
    edges, index = np.unique(source * np.int64(len(rows)) + target, return_inverse=True)
    sums = (
        np.bincount(index, minlength=len(edges)).tolist(),
        np.bincount(index, kinds == LINK, minlength=len(edges)).astype(np.int64).tolist(),
        np.bincount(index, mention_weights(kinds), minlength=len(edges)).tolist(),
    )
    for edge, sentences, links, weight in zip(edges.tolist(), *sums, strict=True):
        pair = titles[edge // len(rows)], titles[edge % len(rows)]
        network.add_edge(*pair, sentences=sentences, links=links, weight=weight)
    return network


def claim_network(kb: KnowledgeBase, graph: MentionGraph, claim: str, k: int) -> nx.DiGraph:
    """Return the graph of the best `k` documents for a claim, as `to_networkx` does.

    Nodes also have ``score``, their PageRank, and ``seed``, their weight at the start of the walk,
    which is 0 for documents that it only leads to. Raises AdmiralError as `to_networkx`.
    """
    ranker = GraphRanker(kb, graph)
    seeds = ranker.seeds(claim)
    ranks = ranker.pagerank(seeds)
    order = np.argsort(-ranks.scores, kind="stable")[: min(k, MAX_DOCUMENTS)]
    network = to_networkx(kb, graph, ranks.rows[order])
    scores = dict(zip(ranks.rows[order].tolist(), ranks.scores[order].tolist(), strict=True))
    for node in network.nodes.values():
        node["score"], node["seed"] = scores[node["row"]], float(seeds.get(node["row"], 0.0))
    return network


def write_network(network: nx.DiGraph, path: Path, format: str) -> None:
    """Write a network to a file, atomically.

    `format`: ``graphml``, in which rows are the ids of nodes and titles their labels, or
    ``node-link``, JSON that ``networkx.node_link_graph`` reads. Raises AdmiralError if there is no
    such format, or the file cannot be written.
    """
    import networkx as nx

    if format not in FORMATS:
        raise AdmiralError(f"format {format!r}: there are {', '.join(FORMATS)}")
    with explain_write_errors(path), replacing(path) as file:
        if format == "node-link":
            data = nx.node_link_data(network, edges="edges")
            file.write(json.dumps(data, ensure_ascii=True, allow_nan=False).encode("ascii"))
            return
        rows = {title: node["row"] for title, node in network.nodes.items()}
        labelled = nx.relabel_nodes(network, rows)
        for title, row in rows.items():
            labelled.nodes[row]["label"] = _NOT_XML.sub(REPLACEMENT, title)
        nx.write_graphml_xml(labelled, file)
