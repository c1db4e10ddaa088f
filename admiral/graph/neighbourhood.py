"""The neighbourhood of a claim: documents that it names or that answer it, and how they connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from admiral.graph.entity_linking import EntityLinker
from admiral.graph.mention_graph import MentionGraph, sentences_at
from admiral.graph.subgraph import incidences
from admiral.kb import KnowledgeBase
from admiral.records import Sentence


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
    rows = [_row(kb, title) for title in (first, second)]
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


def _row(kb: KnowledgeBase, title: str) -> int:
    row = kb.row(kb.document(title).title)
    assert row is not None
    return row


def _neighbours(graph: MentionGraph, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the entities of frames, with the frame of each; owners last."""
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
        """Return which rows mention each other, in the order of their numbers."""
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
