"""Retrieve over the documents that name each other: GraphRetrieve and personalised PageRank."""

from admiral.graph.claim_subgraph import ClaimSubgraph
from admiral.graph.connections import Connection, Connections, connections
from admiral.graph.entity_linking import Entity, EntityLinker
from admiral.graph.graph_build import GraphReport, build_graph
from admiral.graph.graph_candidates import GraphCandidates, graph_to_use
from admiral.graph.graph_ranking import GraphRanker, GraphRanking, PageRankParameters
from admiral.graph.graph_update import keeping_graph
from admiral.graph.mention_graph import MentionGraph, graph_problems
from admiral.graph.neighbourhood import Neighbourhood, NeighbourhoodFinder
from admiral.graph.networkx_export import claim_network, to_networkx, write_network
from admiral.graph.personalised_pagerank import PageRank, personalised_pagerank
from admiral.graph.subgraph import SubgraphOptions, graph_retrieve

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
