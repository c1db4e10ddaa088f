"""Errors of the HTTP API as problem records (RFC 9457) with the field and the remedy."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException

from admiral.errors import AdmiralError
from admiral.kb import UnknownTitleError
from admiral.kb.store.contents import ChangedFileError
from admiral.scheduling import is_out_of_memory
from admiral.serving.claim_queue import QueueFullError
from admiral.serving.request_models import plain_problem
from admiral.storage.atomic_files import encode_record

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
    if is_out_of_memory(error):
        return ProblemError(503, "out of memory", "Try a shorter claim, or try again later")
    if isinstance(error, ChangedFileError):
        return ProblemError(
            503,
            f"the file {error.path.name} of the knowledge base was cut off or replaced while it "
            f"was open: {error.change}",
            "Try again once it is restored; the log of the service names its path",
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
