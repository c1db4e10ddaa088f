"""Explain how two documents are connected: the sentences on paths of at most two hops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from admiral.graph.mention_graph import MentionGraph
from admiral.graph.subgraph import incidences
from admiral.kb import KnowledgeBase
from admiral.records import Sentence


@dataclass(frozen=True, slots=True)
class Connection:
    """A path between two documents.

    Attributes
    ----------
    between
        Title of the document between them; None if a sentence connects them directly.
    sentences
        One sentence that mentions both, or one for each half of the path.
    """

    between: str | None
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Connections:
    """The paths between two documents.

    Attributes
    ----------
    direct, between
        Numbers of sentences that mention both, and of documents between them.
    shown
        The first paths: direct ones, then those by the least frequent document between.
    """

    direct: int
    between: int
    shown: tuple[Connection, ...]


def connections(
    kb: KnowledgeBase, graph: MentionGraph, first: str, second: str, k: int
) -> Connections:
    """Return up to `k` paths of at most two hops between two documents.

    The sentences of a document count as mentions of it.

    Parameters
    ----------
    kb, graph
        The open knowledge base and its graph.
    first, second
        Titles of the documents.
    k
        Maximum number of paths that are returned.

    Raises
    ------
    UnknownTitleError
        If there is no such document.
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
    return tuple(
        Sentence(document.title, number, document.sentences[number])
        for row, number in graph.sentences(np.array(frames))
        for document in [kb.document_at(row)]
    )
