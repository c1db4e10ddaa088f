"""The shape of judgements in answers: of hops, of results, of given evidence and of MCP tools."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Label = Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]


class VerdictRecord(BaseModel):
    """A verdict and the probabilities that it follows from."""

    label: Label
    confidence: float | None = Field(
        None, description="Probability of the label; absent without a verifier."
    )
    probabilities: dict[Label, float] | None = Field(
        None, description="Probability of each label; absent without a verifier."
    )
    outweighed: Label | None = Field(
        None,
        description="A label that is more probable; present where `stop_at` has forced NOT ENOUGH "
        "INFO.",
    )
    stop_at: float | None = Field(
        None,
        description="What SUPPORTS and REFUTES together need; below it, the label is NOT ENOUGH "
        "INFO. Absent without a verifier.",
    )


class ProofStepRecord(BaseModel):
    """A step of a proof: a span of the claim, a quotation and the relation of the two."""

    claim: str = Field(description="The span of the claim.")
    evidence: str = Field(description="The quotation, of at most seven words; may be empty.")
    operator: Literal["=", "!", "|", "#", "<", ">"] = Field(description="The relation.")
    claim_start: int = Field(description="The first character of the span in the claim.")
    claim_end: int = Field(description="The character after the span.")
    title: str | None = Field(description="Title of the quoted document.")
    sentence_id: int | None = Field(
        description="Number of the quoted sentence in its document, or in the given evidence."
    )
    evidence_start: int | None = Field(
        description="The first character of the quotation in the sentence, or in the title."
    )
    evidence_end: int | None = Field(description="The character after the quotation.")
    in_title: bool = Field(description="Whether the quotation is from the title.")


class SentenceName(BaseModel):
    """A sentence of the evidence."""

    title: str
    sentence_id: int


class ConflictRecord(BaseModel):
    """Two sentences of the evidence that contradict each other about the claim."""

    supporting: SentenceName
    refuting: SentenceName


class JudgementRecord(BaseModel):
    """The decision of a judge on a claim and its evidence."""

    model_config = ConfigDict(extra="allow")

    sufficient: bool = Field(description="Whether the evidence is enough for a verdict.")
    verdict: VerdictRecord | None = Field(description="Null without a proof, or if it is no claim.")
    missing: list[str] | None = Field(description="Spans of the claim that are not covered.")
    proof: list[ProofStepRecord] | None = Field(description="The steps; null if there is no proof.")
    probability: float | None = Field(
        None, description="Probability that the claim is decided, either way."
    )
    conflict: ConflictRecord | None = Field(None, description="Absent if there is none.")


class HopRecord(JudgementRecord):
    """A hop; it has further fields."""

    number: int
    seconds: float


class ResultRecord(BaseModel):
    """The result for a claim; it has further fields."""

    model_config = ConfigDict(extra="allow")

    id: str
    claim: str
    stopped: Literal["sufficient", "max_hops", "dead_end"]
    verdict: VerdictRecord | None = Field(description="The verdict of the last hop.")
    hops: list[HopRecord]
