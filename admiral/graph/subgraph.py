"""Parts of the graph: GraphRetrieve and its baselines, neighbourhoods, NetworkX export.

The methods that find the sentences that connect the entities of a claim are those of Mongiovi and
Gangemi, "Graph-based Retrieval for Claim Verification over Cross-Document Evidence" (Complex
Networks 2021). They return sets of sentences, without a ranking. The neighbourhood of a claim holds
the documents that it names or that answer it, and how they connect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.graph_ranking import MAX_READINGS, Entity, EntityLinker, GraphRanker
from admiral.graph.mention_graph import LINK, MentionGraph, mention_weights, sentences_at
from admiral.io.text_cleaning import REPLACEMENT
from admiral.kb import KnowledgeBase
from admiral.records import Sentence
from admiral.storage.atomic_files import explain_write_errors, replacing


@dataclass(frozen=True, slots=True)
class SubgraphOptions:
    """Options of GraphRetrieve, where the paper is open or has a limit."""

    # maximum number of hops between two entities of the claim, `l` in the paper: 1 or 2
    hops: int = 2
    # ``induced``, the subgraph of the paper, keeps all edges between the entities on paths of at
    # most `hops` hops between two entities of the claim; ``paths`` keeps those on such a path alone
    variant: str = "induced"
    owner: bool = True  # whether the sentences of a document also mention its own title


DEFAULT_OPTIONS = SubgraphOptions()


def entity_retrieve(graph: MentionGraph, rows: np.ndarray) -> np.ndarray:
    """Return the sentences of the documents in `rows` (EntityRetrieve)."""
    return np.unique(graph.frames_of(np.unique(rows))[1])


def mention_retrieve(graph: MentionGraph, rows: np.ndarray) -> np.ndarray:
    """Return the sentences that mention a document in `rows` (MentionRetrieve)."""
    return np.unique(graph.mentions_of(np.unique(rows)).values)


def entity_mention_retrieve(graph: MentionGraph, rows: np.ndarray) -> np.ndarray:
    """Return the sentences of both baselines (Entity+MentionRetrieve)."""
    return np.union1d(entity_retrieve(graph, rows), mention_retrieve(graph, rows))


def graph_retrieve(
    graph: MentionGraph, rows: np.ndarray, options: SubgraphOptions = DEFAULT_OPTIONS
) -> np.ndarray:
    """Return the sentences that connect the documents in `rows`, and those of the documents.

    `rows`: rows of the entities of the claim, int64. Returns frames, int64, ascending. Their number
    is bounded by that of the sentences that mention one of the entities (``paths``) or one of the
    entities between them (``induced``).
    """
    rows = np.unique(rows)
    entity, frame = incidences(graph, rows, owner=options.owner)
    index, other = _entities(graph, frame, owner=options.owner)
    entity, frame = entity[index], frame[index]
    differs = other != rows[entity]
    entity, frame, other = entity[differs], frame[differs], other[differs]
    kept = rows
    if options.hops == 2:
        # Between nodes have two different neighbours among the entities of the claim.
        pairs = np.unique(other * np.int64(len(rows)) + entity)
        nodes, neighbours = np.unique(pairs // max(len(rows), 1), return_counts=True)
        kept = np.union1d(rows, nodes[neighbours >= 2])
    found = np.union1d(entity_retrieve(graph, rows), frame[np.isin(other, kept)])
    if options.variant == "induced":
        found = np.union1d(found, _frames_of_pairs(graph, kept, owner=options.owner))
    return found


METHODS: dict[str, Callable[[MentionGraph, np.ndarray, SubgraphOptions], np.ndarray]] = {
    "entity": lambda graph, rows, options: entity_retrieve(graph, rows),
    "mention": lambda graph, rows, options: mention_retrieve(graph, rows),
    "entity+mention": lambda graph, rows, options: entity_mention_retrieve(graph, rows),
    "graph": graph_retrieve,
}


def incidences(
    graph: MentionGraph, rows: np.ndarray, *, owner: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of a document and a sentence that mentions it, each once.

    `owner`: whether the sentences of a document mention it. Returns positions in `rows` and frames,
    both int64.
    """
    mentions = graph.mentions_of(rows)
    if not owner:
        return mentions.requests, mentions.values
    index, frames = graph.frames_of(rows)
    pairs = np.unique(
        np.concatenate([mentions.requests, index]) * np.int64(graph.frames)
        + np.concatenate([mentions.values, frames])
    )
    return pairs // max(graph.frames, 1), pairs % max(graph.frames, 1)


def _entities(
    graph: MentionGraph, frames: np.ndarray, *, owner: bool
) -> tuple[np.ndarray, np.ndarray]:
    mentioned = graph.entities_in(frames)
    if not owner:
        return mentioned.requests, mentioned.values
    index = np.concatenate([mentioned.requests, np.arange(len(frames))])
    return index, np.concatenate([mentioned.values, graph.page_of(frames)])


def _frames_of_pairs(graph: MentionGraph, rows: np.ndarray, *, owner: bool) -> np.ndarray:
    _, frames = incidences(graph, rows, owner=owner)
    found, entities = np.unique(frames, return_counts=True)
    return found[entities >= 2]


class ClaimSubgraph:
    """Retrieve the sentences around the entities of a claim, as a set.

    `max_mentions`: the paper leaves out claims with an entity that more sentences mention (1,000);
    0 for none.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        graph: MentionGraph,
        options: SubgraphOptions = DEFAULT_OPTIONS,
        *,
        max_mentions: int = 0,
        readings: int = MAX_READINGS,
    ) -> None:
        self._graph, self._options, self._max_mentions = graph, options, max_mentions
        self._linker = EntityLinker(kb, aliases=graph.settings["aliases"], readings=readings)

    def entities(self, claim: str) -> list[Entity]:
        """Return the documents that a claim names."""
        return self._linker.entities(claim)

    def common(self, entities: Sequence[Entity]) -> list[tuple[Entity, int]]:
        """Return the entities with more than `max_mentions` mentions, and their number."""
        if not self._max_mentions:
            return []
        frequencies = self._graph.frequency(rows_of(entities)).tolist()
        pairs = zip(entities, frequencies, strict=True)
        return [(entity, number) for entity, number in pairs if number > self._max_mentions]

    def retrieve(self, entities: Sequence[Entity], method: str = "graph") -> np.ndarray:
        """Return the frames of a method, ascending; none if there are no entities.

        `method`: a key of `admiral.graph.subgraph.METHODS`. Raises AdmiralError if an entity is
        more common than `max_mentions`.
        """
        if common := self.common(entities):
            entity, number = common[0]
            raise AdmiralError(
                f"the claim names {entity.title!r}, which {number:,} sentences mention. Claims "
                f"with entities of more than {self._max_mentions:,} mentions are left out; give a "
                "larger --max-mentions, or rank with --method pagerank"
            )
        return METHODS[method](self._graph, rows_of(entities), self._options)


def rows_of(entities: Sequence[Entity]) -> np.ndarray:
    """Return the rows of entities: int64."""
    return np.array([entity.row for entity in entities], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Connection:
    """A path between two documents."""

    # title of the document between them; None if a sentence connects them directly
    between: str | None
    # one sentence that mentions both, or one for each half of the path
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Connections:
    """The paths between two documents."""

    # direct, between: numbers of sentences that mention both, and of documents between them
    direct: int
    between: int
    # the first paths: direct ones, then those by the least frequent document between
    shown: tuple[Connection, ...]


def connections(
    kb: KnowledgeBase, graph: MentionGraph, first: str, second: str, k: int
) -> Connections:
    """Return up to `k` paths of at most two hops between two documents.

    The sentences of a document count as mentions of it. Raises UnknownTitleError if there is no
    such document.
    """
    rows = [kb.known_row(title) for title in (first, second)]
    frames = [incidences(graph, np.array([row]), owner=True)[1] for row in rows]
    direct = np.intersect1d(frames[0], frames[1]) if rows[0] != rows[1] else np.empty(0, np.int64)
    halves = [_neighbours(graph, each) for each in frames]
    nodes = np.setdiff1d(np.intersect1d(halves[0][0], halves[1][0]), rows)
    if rows[0] == rows[1]:
        nodes = nodes[:0]
    rarest = nodes[np.argsort(graph.frequency(nodes), kind="stable")]
    shown = [Connection(None, _sentences(kb, graph, [frame])) for frame in direct[:k].tolist()]
    for row in rarest[: k - len(shown)].tolist():
        path = [int(found[rows_ == row][0]) for rows_, found in halves]
        # One sentence may mention all three.
        path = list(dict.fromkeys(path))
        shown.append(Connection(kb.title(row), _sentences(kb, graph, path)))
    return Connections(len(direct), len(nodes), tuple(shown))


def _neighbours(graph: MentionGraph, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mentioned = graph.entities_in(frames)
    rows = np.concatenate([mentioned.values, graph.page_of(frames)])
    return rows, np.concatenate([frames[mentioned.requests], frames])


def _sentences(kb: KnowledgeBase, graph: MentionGraph, frames: list[int]) -> tuple[Sentence, ...]:
    return tuple(sentences_at(kb, graph.sentences(np.array(frames))))


#: Numbers of documents of each role at most.
MAX_NAMED, MAX_FOUND, MAX_BETWEEN = 6, 8, 4

Role = Literal["named", "between", "found"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document of a neighbourhood."""

    title: str
    # ``named`` by the claim, ``found`` (one of the given documents that the claim does not name),
    # or ``between`` two of these
    role: Role


@dataclass(frozen=True, slots=True)
class MentionEdge:
    """A document that mentions another one."""

    source: int  # source, target: numbers of the two documents in the neighbourhood
    target: int
    sentence: Sentence  # the first sentence of the source that mentions the target


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Documents around a claim."""

    # those that the claim names, then those between, then those that were found
    documents: tuple[Neighbour, ...]
    edges: tuple[MentionEdge, ...]  # which of them mention each other
    # the best path between two documents that were found, for each pair that has one; without those
    # through a third document that was found, which others show
    paths: tuple[tuple[str, str, Connection], ...]


class NeighbourhoodFinder:
    """Find the neighbourhoods of claims in a graph."""

    def __init__(self, kb: KnowledgeBase, graph: MentionGraph) -> None:
        self._kb, self._graph = kb, graph
        self._linker = EntityLinker(kb, aliases=graph.settings["aliases"])

    def around(self, claim: str, titles: Sequence[str]) -> Neighbourhood:
        """Return the neighbourhood of a claim and of the documents that were found for it.

        `titles`: titles of the documents, most important first; those that the knowledge base lacks
        and those after the first `MAX_FOUND` are left out.
        """
        rows = dict.fromkeys(row for t in titles if (row := self._kb.row(t)) is not None)
        found = list(rows)[:MAX_FOUND]
        # A name of several documents stands for those of them that were found, or for the first.
        named: dict[int, None] = {}
        for name in self._linker.mentions(claim):
            named.update(dict.fromkeys([row for row in name if row in rows] or name[:1]))
        first = list(named)[:MAX_NAMED]
        others = [row for row in found if row not in first]
        between = self._between([*first, *others])
        roles: list[tuple[int, Role]] = [
            *((row, "named") for row in first),
            *((row, "between") for row in between),
            *((row, "found") for row in others),
        ]
        return Neighbourhood(
            tuple(Neighbour(self._kb.title(row), role) for row, role in roles),
            self._edges([row for row, _ in roles]),
            self._paths(found),
        )

    def _between(self, rows: Sequence[int]) -> list[int]:
        known = np.array(sorted(rows), dtype=np.int64)
        own, frames = self._graph.frames_of(known)
        found = self._graph.entities_in(frames)
        pairs = np.unique(np.stack([found.values, own[found.requests]]), axis=1)
        targets, counts = np.unique(pairs[0], return_counts=True)
        shared = np.setdiff1d(targets[counts > 1], known)
        order = np.argsort(self._graph.frequency(shared), kind="stable")
        nearest: list[int] = shared[order][:MAX_BETWEEN].tolist()
        return nearest

    def _edges(self, rows: Sequence[int]) -> tuple[MentionEdge, ...]:
        number = {row: at for at, row in enumerate(rows)}
        own, frames = self._graph.frames_of(np.array(rows, dtype=np.int64))
        found = self._graph.entities_in(frames)
        first: dict[tuple[int, int], int] = {}
        for request, row in zip(found.requests.tolist(), found.values.tolist(), strict=True):
            if row in number and number[row] != own[request]:
                first.setdefault((int(own[request]), number[row]), int(frames[request]))
        places = self._graph.sentences(np.array(list(first.values()), dtype=np.int64))
        sentences = sentences_at(self._kb, places)
        edges = [MentionEdge(*pair, each) for pair, each in zip(first, sentences, strict=True)]
        return tuple(sorted(edges, key=lambda edge: (edge.source, edge.target)))

    def _paths(self, rows: Sequence[int]) -> tuple[tuple[str, str, Connection], ...]:
        titles = list(map(self._kb.title, rows))
        return tuple(
            (one, other, shown[0])
            for at, one in enumerate(titles)
            for other in titles[at + 1 :]
            if (shown := connections(self._kb, self._graph, one, other, 1).shown)
            and shown[0].between not in titles
        )


if TYPE_CHECKING:
    import networkx as nx

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
    ``node-link``, JSON that ``networkx.node_link_graph`` reads. Raises AdmiralError if the file
    cannot be written.
    """
    import networkx as nx

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
