"""Answer a claim with the sentences of GraphRetrieve or one of its baselines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.entity_linking import MAX_READINGS, Entity, EntityLinker
from admiral.graph.mention_graph import MentionGraph
from admiral.graph.subgraph import DEFAULT_OPTIONS, METHODS, SubgraphOptions
from admiral.kb import KnowledgeBase


class ClaimSubgraph:
    """Retrieve the sentences around the entities of a claim, as a set.

    Parameters
    ----------
    kb
        The open knowledge base.
    graph
        Its graph.
    options
        Options of GraphRetrieve.
    max_mentions
        The paper leaves out claims with an entity that more sentences mention (1,000); 0 for none.
    readings
        Number of documents that a name in a claim stands for at most.
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

        Parameters
        ----------
        entities
            Entities of the claim.
        method
            A key of `admiral.graph.subgraph.METHODS`.

        Raises
        ------
        AdmiralError
            If an entity is more common than `max_mentions`, or there is no such method.
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
