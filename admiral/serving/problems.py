"""Errors of requests as problem records (RFC 9457): what is wrong, where, and what to do."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import torch
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException as AnyHTTPException

from admiral.errors import AdmiralError, problem_of
from admiral.kb import UnknownTitleError
from admiral.kb.store import UnusableError
from admiral.storage.atomic_files import encode_record

logger = logging.getLogger(__name__)

_RETRY = {"Retry-After": "5"}


class RecordResponse(JSONResponse):
    """A record as the command line writes it."""

    def render(self, content: Any) -> bytes:
        """Return the record as a line of JSON."""
        return encode_record(content)


class _ProblemResponse(RecordResponse):
    media_type = "application/problem+json"


class Problem(BaseModel):
    """A problem record."""

    title: str
    status: int
    detail: str
    field: str = ""
    remedy: str


#: What the OpenAPI document says of errors.
PROBLEM_RESPONSE: dict[str, Any] = {
    "description": "A problem record (RFC 9457).",
    "content": {_ProblemResponse.media_type: {"schema": Problem.model_json_schema()}},
}


class ProblemError(HTTPException):
    """An error of a request: what is wrong, what to do, and the field in error, if any."""

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
        return Problem(
            title=HTTPStatus(self.status_code).phrase,
            status=self.status_code,
            detail=str(self.detail),
            field=self.field,
            remedy=self.remedy,
        ).model_dump(exclude_defaults=True)

    def response(self) -> RecordResponse:
        """Return the response."""
        return _ProblemResponse(self.to_json(), self.status_code, self.headers)


_JSON_REMEDY = "Send a JSON object in UTF-8, as Content-Type: application/json"


def queue_full() -> ProblemError:
    """Return the problem of a queue that has no free place."""
    remedy = "Send the request again after 5 seconds"
    return ProblemError(429, "all places of the queue are taken", remedy, headers=_RETRY)


def bad_field(error: ValidationError | RequestValidationError) -> tuple[str, str]:
    """Return the first field in error, and a sentence that says what is wrong with it."""
    field, problem = problem_of(error)
    field = re.sub(r"^(body|query|path)(\.|$)", "", field)
    return field, f"field {field!r}: {problem}" if field else f"the body {problem}"


def as_problem(error: BaseException) -> ProblemError:
    """Return the problem of an error; the causes of internal errors are only logged."""
    match error:
        case ProblemError():
            return error
        case TimeoutError():
            remedy = "Ask for fewer hops, or try again later"
            return ProblemError(504, "the deadline has passed", remedy)
        case UnknownTitleError():  # without the path of the knowledge base
            detail = (
                "no document has this title; titles are matched exactly, in upper and lower case"
            )
            return ProblemError(404, detail, "List titles with GET /v1/titles?prefix=", "title")
        case RequestValidationError():
            # FastAPI leaves a body of another type as bytes.
            if error.errors()[0]["type"] == "json_invalid" or isinstance(error.body, bytes):
                return ProblemError(400, "the body is not JSON", _JSON_REMEDY)
            field, detail = bad_field(error)
            remedy = "Correct it; /openapi.json describes the fields"
            return ProblemError(422, detail, remedy, field)
        case AnyHTTPException(detail="There was an error parsing the body"):
            return ProblemError(400, "the body is not JSON in UTF-8", _JSON_REMEDY)
        case AnyHTTPException():
            remedy = "See /openapi.json for paths, methods and fields"
            return ProblemError(error.status_code, error.detail, remedy, headers=error.headers)
        case MemoryError() | torch.OutOfMemoryError():
            return ProblemError(503, "out of memory", "Try a shorter claim, or try again later")
        case UnusableError():
            logger.error("%s", error)  # with the path, which is nobody else's business
            detail = "the knowledge base is damaged or cannot be searched"
            remedy = "Try again once it is restored; the log of the service says more"
            return ProblemError(503, detail, remedy, headers=_RETRY)
        case OSError():
            logger.error("%s", error, exc_info=error)
            remedy = "Try again later; the log of the service has the cause"
            return ProblemError(503, "a file cannot be read or written", remedy)
        case AdmiralError():
            return ProblemError(422, str(error), "Correct the request")
    logger.error("internal error", exc_info=error)
    return ProblemError(500, "internal error", "Try again; the log of the service has the cause")


def part(name: str, lack: str, remedy: str) -> Callable[[Request], Awaitable[Any]]:
    """Return the dependency on a part of the application that the server may be started without."""

    async def opened(request: Request) -> Any:
        found = getattr(request.app.state, name)
        if found is None:
            raise ProblemError(404, lack, remedy)
        return found

    return opened


def handle_problems(app: FastAPI) -> None:
    """Answer every error of an application with a problem record."""

    def respond(request: Request, error: Exception) -> RecordResponse:
        return as_problem(error).response()

    for kind in (AnyHTTPException, RequestValidationError, AdmiralError, OSError):
        app.add_exception_handler(kind, respond)
