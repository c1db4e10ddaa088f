"""Routes of audits: send a page, ask how far its audit is, and read it."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from admiral.citations.audit_page import SCRIPT
from admiral.citations.extract import read_page
from admiral.io.rendering import script_policy
from admiral.serving.page_audits import PageAudit, PageAudits, State
from admiral.serving.problems import ProblemError

#: Where audits are shown. Their ids cannot be guessed, so that browsers need no key.
AUDIT_PAGES = "/audits/"
#: Where pages are sent to.
AUDITS = "/v1/audits"

router = APIRouter(tags=["citations"])


class AuditRequest(BaseModel):
    """A page to audit."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(
        min_length=1,
        description="The page: its wikitext, or its HTML as MediaWiki writes it.",
        examples=["The mill burned in 1900.<ref>https://example.org/mill</ref>"],
    )
    title: str = Field(
        "", max_length=1_000, description="Its title; HTML states one.", examples=["Orr"]
    )
    format: Literal["auto", "wikitext", "html"] = Field(
        "auto", description="Its format; `auto` tells it by the beginning."
    )


class AuditRecord(BaseModel):
    """The progress of an audit."""

    id: str = Field(description="Name of the audit, which nobody can guess.")
    state: State = Field(description="What has become of it.")
    statements: int = Field(description="Statements of the page.")
    done: int = Field(description="Statements that were checked.")
    problem: str = Field(description="Why it failed; empty otherwise.")
    address: str = Field(description="Path of the page that shows it, once it is complete.")


@router.post(AUDITS, status_code=202)
def start_audit(body: AuditRequest, request: Request) -> AuditRecord:
    """Begin the audit of a page."""
    audits = _audits(request)
    return _record(audits.submit(read_page(body.text, body.title, format=body.format)))


@router.get(AUDITS + "/{id}")
def audit_state(id: str, request: Request) -> AuditRecord:
    """Return how far an audit is."""
    return _record(_audit(request, id))


@router.get(AUDIT_PAGES + "{id}", include_in_schema=False)
def show_audit(id: str, request: Request) -> Response:
    """Return the page of an audit."""
    audit = _audit(request, id)
    if audit.state != "complete":
        detail = audit.problem or "the audit is not complete"
        raise ProblemError(409, detail, f"See GET /v1/audits/{id}")
    policy = f"{script_policy(SCRIPT)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return Response(audit.html, headers=headers, media_type="text/html")


def _audits(request: Request) -> PageAudits:
    audits: PageAudits | None = getattr(request.app.state, "audits", None)
    if audits is None:
        raise ProblemError(
            404,
            "this service audits no pages",
            "Start it with a library of sources: `admiral serve --library DIR`",
        )
    return audits


def _audit(request: Request, id: str) -> PageAudit:
    audit = _audits(request).audit(id)
    if audit is None:
        raise ProblemError(404, "there is no such audit, or no longer", "Send the page again", "id")
    return audit


def _record(audit: PageAudit) -> AuditRecord:
    return AuditRecord(
        id=audit.id,
        state=audit.state,
        statements=audit.statements,
        done=audit.done,
        problem=audit.problem,
        address=AUDIT_PAGES + audit.id,
    )
