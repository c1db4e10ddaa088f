"""The neighbourhood of a claim: documents that it names or that answer it, and how they connect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from admiral.graph.connections import Connection, connections
from admiral.graph.entity_linking import EntityLinker
from admiral.graph.mention_graph import MentionGraph
from admiral.kb import KnowledgeBase
from admiral.records import Sentence

#: Numbers of documents of each role at most.
MAX_NAMED, MAX_FOUND, MAX_BETWEEN = 6, 8, 4

Role = Literal["named", "between", "found"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document of a neighbourhood.

    Attributes
    ----------
    title
        Its title.
    role
        ``named`` by the claim, ``found`` (one of the given documents that the claim does not name),
        or ``between`` two of these.
    """

    title: str
    role: Role


@dataclass(frozen=True, slots=True)
class MentionEdge:
    """A document that mentions another one.

    Attributes
    ----------
    source, target
        Numbers of the two documents in the neighbourhood.
    sentence
        The first sentence of the source that mentions the target.
    """

    source: int
    target: int
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Documents around a claim.

    Attributes
    ----------
    documents
        Those that the claim names, then those between, then those that were found.
    edges
        Which of them mention each other.
    paths
        The best path between two documents that were found, for each pair that has one; without
        those through a third document that was found, which others show.
    """

    documents: tuple[Neighbour, ...]
    edges: tuple[MentionEdge, ...]
    paths: tuple[tuple[str, str, Connection], ...]


class NeighbourhoodFinder:
    """Find the neighbourhoods of claims in a graph.

    Parameters
    ----------
    kb
        The open knowledge base.
    graph
        Its graph.
    """

    def __init__(self, kb: KnowledgeBase, graph: MentionGraph) -> None:
        self._kb, self._graph = kb, graph
        self._linker = EntityLinker(kb, aliases=graph.settings["aliases"])

    def around(self, claim: str, titles: Sequence[str]) -> Neighbourhood:
        """Return the neighbourhood of a claim and of the documents that were found for it.

        Parameters
        ----------
        claim
            The text of the claim.
        titles
            Titles of the documents, most important first; those that the knowledge base lacks and
            those after the first `MAX_FOUND` are left out.
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
        """Return the rarest documents that two of the rows mention."""
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
        edges = []
        for (source, target), (row, index) in zip(first, places, strict=True):
            document = self._kb.document_at(row)
            sentence = Sentence(document.title, index, document.sentences[index])
            edges.append(MentionEdge(source, target, sentence))
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
