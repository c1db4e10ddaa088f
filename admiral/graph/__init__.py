"""Retrieve over the documents that name each other: GraphRetrieve and personalised PageRank."""

from admiral.graph.entity_linking import Entity, EntityLinker
from admiral.graph.graph_build import GraphReport, build_graph, keeping_graph
from admiral.graph.graph_candidates import GraphCandidates, graph_to_use
from admiral.graph.graph_ranking import (
    GraphRanker,
    GraphRanking,
    PageRank,
    PageRankParameters,
    personalised_pagerank,
)
from admiral.graph.mention_graph import MentionGraph, graph_problems
from admiral.graph.neighbourhood import (
    Connection,
    Connections,
    Neighbourhood,
    NeighbourhoodFinder,
    connections,
)
from admiral.graph.networkx_export import claim_network, to_networkx, write_network
from admiral.graph.subgraph import ClaimSubgraph, SubgraphOptions, graph_retrieve

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
    "claim_network",
    "connections",
    "graph_problems",
    "graph_retrieve",
    "graph_to_use",
    "keeping_graph",
    "personalised_pagerank",
    "to_networkx",
    "write_network",
]
