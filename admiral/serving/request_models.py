"""The bodies of requests and the shape of judgements in answers, and errors of both in plain words.

Unknown fields of requests are errors. A problem says what is wrong with which field, and what to
give instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

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


# Kind of error -> what the field is, and the remedy; braces are filled from the error's context.
_WORDS = {
    "bool_parsing": ("is not true or false", "Give true or false"),
    "bool_type": ("is not true or false", "Give true or false"),
    "dict_type": ("is not a JSON object", "Give a JSON object"),
    "extra_forbidden": ("is unknown", "Remove it"),
    "float_type": ("is not a number", "Give a number"),
    "greater_than": ("is too small", "Give more than {gt}"),
    "greater_than_equal": ("is too small", "Give {ge} or more"),
    "int_from_float": ("is not a whole number", "Give a whole number"),
    "int_parsing": ("is not a whole number", "Give a whole number"),
    "int_type": ("is not a whole number", "Give a whole number"),
    "less_than": ("is too large", "Give less than {lt}"),
    "less_than_equal": ("is too large", "Give {le} or less"),
    "list_type": ("is not a list", "Give a list"),
    "literal_error": ("is not one of its choices", "Give {expected}"),
    "missing": ("is missing", "Add it"),
    "model_attributes_type": ("is not a JSON object", "Give a JSON object"),
    "model_type": ("is not a JSON object", "Give a JSON object"),
    "string_too_long": ("is too long", "Give at most {max_length} characters"),
    "string_too_short": ("is empty", "Give a text"),
    "string_type": ("is not a text", "Give a text"),
    "string_unicode": ("is not a text in UTF-8", "Send it in UTF-8"),
    "too_long": ("is too long", "Give at most {max_length}"),
    "too_short": ("is empty", "Give at least {min_length}"),
}
_OTHER = ("has a value that is not allowed", "Give another value")
_PLACES = ("body", "query", "path")
# Parts of a place that name an alternative of a field, such as "constrained-int".
_ALTERNATIVE = re.compile(r"int|str|float|bool|.*[\[\]-].*")


def plain_problem(errors: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    """Return what is wrong with the first field in error, the remedy, and the field.

    `errors`: the errors of pydantic. Those of the same field are alternatives, of which one is
    enough.
    """
    field = _field(errors[0])
    alternatives = [error for error in errors if _field(error) == field]
    # An alternative of the right type says most: -1 is too small, rather than not `dynamic`.
    alternatives = [
        error for error in alternatives if error["type"] not in ("literal_error", "int_type")
    ] or alternatives
    words = [_words(error) for error in alternatives]
    what = words[0][0] if len(words) == 1 else _OTHER[0]
    remedies = dict.fromkeys(remedy for _, remedy in words)
    first, *others = remedies
    remedy = " or ".join((first, *(other[0].lower() + other[1:] for other in others)))
    return f"{_named(field)} {what}", remedy.replace("or give ", "or "), field


def _words(error: Mapping[str, Any]) -> tuple[str, str]:
    what, remedy = _WORDS.get(error["type"], _OTHER)
    return what, remedy.format_map(error.get("ctx", {}))


def _named(field: str) -> str:
    return f"the field {field!r}" if field else "the body"


def _field(error: Mapping[str, Any]) -> str:
    parts = [str(part) for part in error["loc"]]
    if parts and parts[0] in _PLACES:
        parts = parts[1:]
    return ".".join(part for part in parts if not _ALTERNATIVE.fullmatch(part))
