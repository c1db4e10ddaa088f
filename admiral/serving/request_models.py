"""The bodies of requests, the shape of judgements in answers, and errors in plain words.

Unknown fields of requests are errors. Errors are problem records (RFC 9457), which say what is
wrong with which field, and what to give instead.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Literal

import torch
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.exceptions import HTTPException as AnyHTTPException

from admiral.errors import AdmiralError, problem_of
from admiral.kb import UnknownTitleError
from admiral.kb.store import UnusableError
from admiral.serving.claim_queue import QueueFullError
from admiral.storage.atomic_files import encode_record

#: Larger values of `ServiceLimits` than these have no effect.
MAX_HOPS = 20

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Hops = Annotated[int, Field(ge=0, le=MAX_HOPS)] | Literal["dynamic"]
_Claim = Annotated[Text, Field(description="The claim.", examples=["Paris is in France."])]
_Kb = Annotated[str | None, Field(description="Name of a knowledge base; the first by default.")]
_HopsOrNone = Annotated[
    Hops | None, Field(description="Number of hops, or `dynamic`.", examples=[2])
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ClaimRequest(_Body):
    """A claim to retrieve for."""

    claim: _Claim
    kb: _Kb = None
    hops: _HopsOrNone = None


class BatchRequest(_Body):
    """Claims to retrieve for."""

    claims: Annotated[list[Text], Field(min_length=1)] = Field(
        description="The claims; their ids are their numbers, from 1.",
        examples=[["Paris is in France.", "Paris is in Texas."]],
    )
    kb: _Kb = None
    hops: _HopsOrNone = None


class GivenSentence(_Body):
    """A sentence to prove a claim from."""

    title: str = Field("", description="Title of its document.", examples=["Paris"])
    text: Text = Field(description="The sentence.", examples=["Paris is the capital of France."])


class ProofRequest(_Body):
    """A claim with the sentences to prove it from."""

    claim: _Claim
    evidence: list[GivenSentence] = Field(description="The evidence.")
    kb: _Kb = None


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

    claim: _Claim
    source: GivenSource = Field(description="The source.")
    page: str = Field("", description="Title of the page that makes the claim.")


class SplitRequest(_Body):
    """A text of several claims."""

    text: Text = Field(
        description="The text.", examples=["Paris is in France. It is on the Seine."]
    )


class GraphRequest(_Body):
    """A claim for graph retrieval; the fields are the options of `admiral graph query`."""

    claim: _Claim
    kb: _Kb = None
    method: Literal["pagerank", "graph", "entity", "mention", "entity+mention"] = Field(
        "pagerank", description="The ranking, or a set of sentences."
    )
    hops: Annotated[int, Field(ge=1, le=2)] = Field(2, description="Longest path, for `graph`.")
    variant: Literal["induced", "paths"] = Field(
        "induced", description="All sentences between the documents on such paths, or of a path."
    )
    owner: bool = Field(True, description="Whether sentences mention the title of their document.")
    readings: Annotated[int, Field(ge=1, le=4)] = Field(
        4, description="Documents that an ambiguous name stands for; not for `pagerank`."
    )
    max_mentions: Annotated[int, Field(ge=0)] = Field(
        0, description="Most mentions of a named document, 0 for no limit; not for `pagerank`."
    )
    k: Annotated[int, Field(ge=1, le=1000)] = Field(10, description="Number of results.")


def bad_field(error: ValidationError | RequestValidationError) -> tuple[str, str]:
    """Return the first field in error, and a sentence that says what is wrong with it."""
    field, problem = problem_of(error)
    field = re.sub(r"^(body|query|path)(\.|$)", "", field)
    return field, f"field {field!r}: {problem}" if field else f"the body {problem}"


logger = logging.getLogger(__name__)

PROBLEM = "application/problem+json"
_RETRY_SECONDS = 5
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}

#: What the OpenAPI document says of answers that are problem records.
PROBLEM_RESPONSE: dict[str, Any] = {
    "description": "A problem record (RFC 9457).",
    "content": {
        PROBLEM: {
            "schema": {
                "type": "object",
                "required": ["type", "title", "status", "detail", "remedy"],
                "properties": {
                    **dict.fromkeys(("type", "title", "detail", "field", "remedy"), _TEXT),
                    "status": _NUMBER,
                },
            }
        }
    },
}


class ProblemError(HTTPException):
    """An error of a request.

    `status`: the HTTP status. `detail`: what is wrong. `remedy`: what the client can do. `field`:
    the field in error, such as ``claims.3``; empty if there is none. `headers`: further headers of
    the response.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        remedy: str,
        field: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.remedy, self.field = remedy, field

    def to_json(self) -> dict[str, Any]:
        """Return the problem record."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status_code).phrase,
            "status": self.status_code,
            "detail": self.detail,
            **({"field": self.field} if self.field else {}),
            "remedy": self.remedy,
        }

    def response(self) -> Response:
        """Return the response."""
        return Response(
            encode_record(self.to_json()), self.status_code, self.headers, media_type=PROBLEM
        )


def as_problem(error: BaseException) -> ProblemError:
    """Return the problem of an error; the causes of internal errors are only logged."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, QueueFullError):
        return ProblemError(
            429,
            "all places of the queue are taken",
            f"Send the request again after {_RETRY_SECONDS} seconds",
            headers={"Retry-After": str(_RETRY_SECONDS)},
        )
    if isinstance(error, TimeoutError):
        return ProblemError(
            504, "the deadline has passed", "Ask for fewer hops, or try again later"
        )
    if isinstance(error, UnknownTitleError):
        # Without the path of the knowledge base, which is nobody else's business.
        detail = "no document has this title; titles are matched exactly, in upper and lower case"
        return ProblemError(404, detail, "List titles with GET /v1/titles?prefix=", "title")
    if isinstance(error, RequestValidationError):
        if error.errors()[0]["type"] == "json_invalid":
            return ProblemError(400, "the body is not JSON", "Send a JSON object in UTF-8")
        field, detail = bad_field(error)
        return ProblemError(422, detail, "Correct it; /openapi.json describes the fields", field)
    if isinstance(error, AnyHTTPException):
        remedy = "See /openapi.json for paths, methods and fields"
        return ProblemError(error.status_code, str(error.detail), remedy, headers=error.headers)
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return ProblemError(503, "out of memory", "Try a shorter claim, or try again later")
    if isinstance(error, UnusableError):
        logger.error("%s", error)  # with the path, which is nobody else's business
        return ProblemError(
            503,
            "the knowledge base is damaged or cannot be searched",
            "Try again once it is restored; the log of the service says more",
            headers={"Retry-After": str(_RETRY_SECONDS)},
        )
    if isinstance(error, AdmiralError):
        return ProblemError(422, str(error), "Correct the request")
    logger.error("internal error", exc_info=error)
    return ProblemError(500, "internal error", "Try again; the log of the service has the cause")


def handle_problems(app: FastAPI) -> None:
    """Answer every error of an application with a problem record."""

    def respond(request: Request, error: Exception) -> Response:
        return as_problem(error).response()

    kinds = (AnyHTTPException, RequestValidationError, QueueFullError, AdmiralError, TimeoutError)
    for kind in (*kinds, Exception):
        app.add_exception_handler(kind, respond)
