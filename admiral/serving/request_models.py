"""The bodies of requests, the shape of judgements in answers, and errors in plain words.

Unknown fields of requests are errors. Errors are problem records (RFC 9457), which say what is
wrong with which field, and what to give instead.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal

import torch
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.exceptions import HTTPException as AnyHTTPException

from admiral.errors import AdmiralError
from admiral.kb import UnknownTitleError
from admiral.kb.store import UnusableError
from admiral.serving.claim_queue import QueueFullError
from admiral.storage.atomic_files import encode_record

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


def problem_of(error: BaseException) -> ProblemError:
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
        return _validation_problem(error.errors())
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
    kinds: Sequence[type[Exception]] = (
        *(AnyHTTPException, RequestValidationError),
        *(QueueFullError, AdmiralError, TimeoutError, Exception),
    )
    for kind in kinds:
        app.add_exception_handler(kind, _respond)


def _respond(request: Request, error: Exception) -> Response:
    return problem_of(error).response()


def _validation_problem(errors: Sequence[Any]) -> ProblemError:
    if errors[0]["type"] == "json_invalid":
        return ProblemError(400, "the body is not JSON", "Send a JSON object in UTF-8")
    detail, remedy, field = plain_problem(errors)
    return ProblemError(422, detail, f"{remedy}; /openapi.json describes the fields", field)
