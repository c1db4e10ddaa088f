"""Retrieve over the documents that name each other: GraphRetrieve and personalised PageRank."""

from admiral.graph.graph_build import GraphReport, build_graph, update_graph
from admiral.graph.graph_ranking import (
    Entity,
    EntityLinker,
    GraphCandidates,
    GraphRanker,
    GraphRanking,
    PageRank,
    PageRankParameters,
    personalised_pagerank,
)
from admiral.graph.mention_graph import MentionGraph, check_graph, has_graph
from admiral.graph.subgraph import (
    ClaimSubgraph,
    Connection,
    Connections,
    Neighbourhood,
    NeighbourhoodFinder,
    SubgraphOptions,
    claim_network,
    connections,
    graph_retrieve,
    to_networkx,
    write_network,
)

__all__ = [
    "ClaimSubgraph",
    "Connection",
    "Connections",
    "Entity",
    "EntityLinker",
    "GraphCandidates",
    "GraphRanker",
    "GraphRanking",
    "GraphReport",
    "MentionGraph",
    "Neighbourhood",
    "NeighbourhoodFinder",
    "PageRank",
    "PageRankParameters",
    "SubgraphOptions",
    "build_graph",
    "check_graph",
    "claim_network",
    "connections",
    "graph_retrieve",
    "has_graph",
    "personalised_pagerank",
    "to_networkx",
    "update_graph",
    "write_network",
]
