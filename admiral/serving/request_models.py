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


class SplitRequest(_Body):
    """A text of several claims."""

    text: Text = Field(
        description="The text.", examples=["Paris is in France. It is on the Seine."]
    )
