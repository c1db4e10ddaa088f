"""The bodies of requests; unknown fields are errors."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

#: Larger values of `ServiceLimits` than these have no effect.
MAX_HOPS = 20

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Hops = Annotated[int, Field(ge=0, le=MAX_HOPS)] | Literal["dynamic"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ClaimRequest(_Body):
    """A claim to retrieve for."""

    claim: Text = Field(
        description="The claim.", examples=["The 66th Primetime Emmy Awards was hosted by a comic."]
    )
    kb: str | None = Field(None, description="Name of a knowledge base; the first by default.")
    hops: Hops | None = Field(None, description="Number of hops, or `dynamic`.", examples=[2])


class BatchRequest(_Body):
    """Claims to retrieve for."""

    claims: Annotated[list[Text], Field(min_length=1)] = Field(
        description="The claims; their ids are their numbers, from 1.",
        examples=[["Paris is in France.", "Paris is in Texas."]],
    )
    kb: str | None = Field(None, description="Name of a knowledge base; the first by default.")
    hops: Hops | None = Field(None, description="Number of hops, or `dynamic`.", examples=[2])


class GivenSentence(_Body):
    """A sentence to prove a claim from."""

    title: str = Field("", description="Title of its document.", examples=["Paris"])
    text: Text = Field(description="The sentence.", examples=["Paris is the capital of France."])


class ProofRequest(_Body):
    """A claim with the sentences to prove it from."""

    claim: Text = Field(description="The claim.", examples=["Paris is in France."])
    evidence: list[GivenSentence] = Field(description="The evidence.")
    kb: str | None = Field(None, description="Name of a knowledge base; the first by default.")


class GivenSource(_Body):
    """A source with its text."""

    text: Text = Field(
        description="Its text.", examples=["The bridge was opened in 1932 after three years."]
    )
    title: str = Field("", description="Its title.", examples=["Eastern Bridge"])
    url: str = Field(
        "https://source.invalid/", description="Its URL.", examples=["https://example.org/bridge"]
    )


class CitationRequest(_Body):
    """A claim with the source that it cites."""

    claim: Text = Field(description="The claim.", examples=["The bridge was opened in 1932."])
    source: GivenSource = Field(description="The source.")
    page: str = Field("", description="Title of the page that makes the claim.")


class SplitRequest(_Body):
    """A text of several claims."""

    text: Text = Field(
        description="The text.", examples=["Paris is in France. It is on the Seine."]
    )


class GraphRequest(_Body):
    """A claim for graph retrieval; the fields are the options of `admiral graph query`."""

    claim: Text = Field(
        description="The claim.", examples=["Seth Meyers was the host of the 66th Emmy Awards."]
    )
    kb: str | None = Field(None, description="Name of a knowledge base; the first by default.")
    method: Literal["pagerank", "graph", "entity", "mention", "entity+mention"] = Field(
        "pagerank", description="The ranking, or a set of sentences."
    )
    hops: Annotated[int, Field(ge=1, le=2)] = Field(2, description="Longest path, for `graph`.")
    variant: Literal["paths", "induced"] = Field(
        "paths", description="Sentences on such paths, or all between their documents."
    )
    owner: bool = Field(True, description="Whether sentences mention the title of their document.")
    readings: Annotated[int, Field(ge=1, le=4)] = Field(
        4, description="Documents that an ambiguous name stands for; not for `pagerank`."
    )
    max_mentions: Annotated[int, Field(ge=0)] = Field(
        0, description="Most mentions of a named document, 0 for no limit; not for `pagerank`."
    )
    k: Annotated[int, Field(ge=1, le=1000)] = Field(10, description="Number of results.")
