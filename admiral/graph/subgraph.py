"""GraphRetrieve and its baselines: the sentences that connect the entities of a claim.

The methods are those of Mongiovi and Gangemi, "Graph-based Retrieval for Claim Verification over
Cross-Document Evidence" (Complex Networks 2021). They return sets of sentences, without a ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.entity_linking import MAX_READINGS, Entity, EntityLinker
from admiral.graph.mention_graph import MentionGraph
from admiral.kb import KnowledgeBase

VARIANTS = ("paths", "induced")


@dataclass(frozen=True, slots=True)
class SubgraphOptions:
    """Options of GraphRetrieve, where the paper is open or has a limit."""

    # maximum number of hops between two entities of the claim, `l` in the paper: 1 or 2
    hops: int = 2
    # ``paths`` keeps the edges that lie on a path of at most `hops` hops between two entities of
    # the claim, ``induced`` all edges between the entities on these paths
    variant: str = "paths"
    owner: bool = True  # whether the sentences of a document also mention its own title

    def __post_init__(self) -> None:
        if self.hops not in (1, 2):
            raise AdmiralError(f"hops: {self.hops}; there are paths of 1 and 2 hops")
        if self.variant not in VARIANTS:
            raise AdmiralError(f"variant {self.variant!r}: there are {', '.join(VARIANTS)}")


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
    """Return the sentences on paths between the documents in `rows`, and those of the documents.

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
    """Return all pairs of a position in `frames` and an entity of that frame, in any order."""
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
        more common than `max_mentions`, or there is no such method.
        """
        if method not in METHODS:
            raise AdmiralError(f"method {method!r}: there are {', '.join(METHODS)}")
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
