"""The bodies of requests; unknown fields are errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

if TYPE_CHECKING:
    from admiral.graph import MentionGraph
    from admiral.kb import KnowledgeBase

#: Characters of a claim or a query.
CLAIM_CHARACTERS = 5_000

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ClaimText = Annotated[
    Text,
    Field(max_length=CLAIM_CHARACTERS, description="The claim.", examples=["Paris is in France."]),
]
Kb = Annotated[str | None, Field(description="Name of a knowledge base; the first by default.")]
Hops = Annotated[
    Annotated[int, Field(ge=0, le=20)] | Literal["dynamic"],
    Field(description="Number of hops; `dynamic` stops when the proof is complete.", examples=[2]),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ClaimRequest(_Body):
    """A claim to retrieve for."""

    claim: ClaimText
    kb: Kb = None
    hops: Hops | None = None


class BatchRequest(_Body):
    """Claims to retrieve for; their ids are their numbers, from 1."""

    claims: Annotated[list[ClaimText], Field(min_length=1)]
    kb: Kb = None
    hops: Hops | None = None


class GivenSentence(_Body):
    """A sentence to prove a claim from."""

    title: str = Field("", description="Title of its document.")
    text: Text


class ProofRequest(_Body):
    """A claim with the sentences to prove it from."""

    claim: ClaimText
    evidence: list[GivenSentence]
    kb: Kb = None


class GivenSource(_Body):
    """A source with its text."""

    text: Text
    title: str = ""
    url: str = "https://source.invalid/"


class CitationRequest(_Body):
    """A claim with the source that it cites."""

    claim: ClaimText
    source: GivenSource
    page: str = Field("", description="Title of the page that makes the claim.")


class SplitRequest(_Body):
    """A text of several claims."""

    text: Text


class GraphQuery(BaseModel):
    """Options of a search in the graph, and of `admiral graph query`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    method: Literal["pagerank", "graph", "entity", "mention", "entity+mention"] = "pagerank"
    """pagerank ranks documents and sentences. The others are the sets of the paper on
    GraphRetrieve: sentences between the documents that the claim names (graph), sentences of these
    documents (entity), sentences that mention them (mention), or both."""
    hops: Annotated[int, Field(ge=1, le=2)] = 2
    """Longest path between two named documents, for graph."""
    variant: Literal["induced", "paths"] = "induced"
    """Keep all sentences between the documents on such paths, or those of a path, for graph."""
    owner: bool = True
    """Whether the sentences of a document mention its title, for graph."""
    readings: Annotated[int, Field(ge=1, le=4)] = 4
    """Number of documents that an ambiguous name stands for. Not for pagerank."""
    max_mentions: Annotated[int, Field(ge=0)] = 0
    """Refuse claims that name a document with more mentions, as the paper did with 1000; 0 for no
    limit. Not for pagerank."""

    def record(self, kb: KnowledgeBase, graph: MentionGraph, claim: str, k: int) -> dict[str, Any]:
        """Return the documents and sentences that are found for a claim, at most `k` of them."""
        from admiral.graph import ClaimSubgraph, GraphRanker, SubgraphOptions
        from admiral.graph.mention_graph import sentences_at
        from admiral.io.rendering import graph_sentence

        if self.method == "pagerank":
            ranking = GraphRanker(kb, graph).rank(claim, k)
            documents = [{"title": d.title, "score": round(d.score, 9)} for d in ranking.documents]
            return {
                "documents": documents,
                "sentences": list(map(graph_sentence, ranking.sentences)),
            }
        subgraph = ClaimSubgraph(
            kb,
            graph,
            SubgraphOptions(self.hops, self.variant, self.owner),
            max_mentions=self.max_mentions,
            readings=self.readings,
        )
        entities = subgraph.entities(claim)
        frames = subgraph.retrieve(entities, self.method)
        return {
            "entities": [entity.title for entity in entities],
            "sentences": len(frames),
            "documents": len(set(graph.page_of(frames).tolist())),
            "shown": list(map(graph_sentence, sentences_at(kb, graph.sentences(frames[:k])))),
        }


class GraphRequest(_Body, GraphQuery):
    """A claim for graph retrieval."""

    claim: ClaimText
    kb: Kb = None
    k: int = Field(10, ge=1, le=1000, description="Number of results.")


class AuditRequest(_Body):
    """A page to audit."""

    text: str = Field(min_length=1, description="Wikitext, or HTML as MediaWiki writes it.")
    title: str = Field("", max_length=1_000, description="HTML states one.")
    format: Literal["auto", "wikitext", "html"] = "auto"
