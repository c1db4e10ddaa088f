"""Audits of pages that editors send, with their routes; the latest are kept."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import Field

from admiral.citations.audit_page import SCRIPT, audit_page
from admiral.citations.citation_records import CitationVerdict
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer, urgency
from admiral.citations.extract import ReadPage, read_page
from admiral.errors import AdmiralError
from admiral.io.rendering import script_policy
from admiral.serving.jobs import Job, Jobs
from admiral.serving.problems import ProblemError, part
from admiral.serving.request_models import AuditRequest

#: Where pages are sent to, and the length of one.
AUDITS, PAGE_BYTES = "/v1/audits", 8_000_000
#: Where audits are shown. Their ids cannot be guessed, so that browsers need no key.
AUDIT_PAGES = "/audits/"
# Audits that are kept, and statements of a page.
_KEPT, _STATEMENTS = 32, 2_000


class PageAudit(Job):
    """The audit of a page; anyone who has its id may read it."""

    id: str
    statements: int
    address: str = Field(description="Path of the page that shows it, once it is complete.")
    html: Annotated[bytes, Field(exclude=True)] = b""


class PageAudits:
    """Audits pages by the sources of a knowledge base, in `jobs`; AdmiralError if it is none."""

    def __init__(self, kb: Path, config: CitationConfig, jobs: Jobs) -> None:
        self._citer = Citer.open(kb, config=config)
        self.jobs = jobs

    def submit(self, page: ReadPage) -> PageAudit:
        """Return the audit of a page, which waits for its turn."""
        if not page.claims:
            raise AdmiralError("the page has no statement with a reference. Check its format")
        if len(page.claims) > _STATEMENTS:
            raise AdmiralError(
                f"the page has {len(page.claims):,} statements, more than {_STATEMENTS:,}. Send "
                "its sections one by one"
            )
        id = secrets.token_urlsafe(16)
        audit = PageAudit(id=id, statements=len(page.claims), address=AUDIT_PAGES + id)
        self.jobs.submit(id, audit, partial(self._write, audit, page))
        for former in list(self.jobs.all(PageAudit))[:-_KEPT]:
            self.jobs.table.pop(former, None)
        return audit

    def close(self) -> None:
        """Close the knowledge base; its jobs have ended."""
        self._citer.close()

    def _write(self, audit: PageAudit, page: ReadPage) -> None:
        verdicts: list[CitationVerdict] = []
        for verdict in self._citer.verify_many(each.claim for each in page.claims):
            audit.check()
            verdicts.append(verdict)
            audit.done = len(verdicts)
        verdicts.sort(key=urgency)
        title = page.title or "a page without a title"
        parts = audit_page(title, verdicts, (), self._citer.sources.source, page)
        audit.html = "".join(parts).encode("utf-8", "replace")


_REMEDY = "Start it with a knowledge base of sources: `admiral serve --kb KB`"
_audits = part("audits", "this service audits no pages", _REMEDY)
_Opened = Annotated[PageAudits, Depends(_audits)]

router = APIRouter(tags=["citations"])


@router.post(AUDITS, status_code=202)
def start_audit(body: AuditRequest, audits: _Opened) -> PageAudit:
    """Begin the audit of a page."""
    return audits.submit(read_page(body.text, body.title, format=body.format))


@router.get(AUDITS + "/{id}")
def audit_state(id: str, audits: _Opened) -> PageAudit:
    """Return how far an audit is."""
    return audits.jobs.get(PageAudit, id)


@router.get(AUDIT_PAGES + "{id}", include_in_schema=False)
def show_audit(id: str, audits: _Opened) -> Response:
    """Return the page of an audit."""
    audit = audits.jobs.get(PageAudit, id)
    if audit.state != "complete":
        detail = audit.problem or "the audit is not complete"
        raise ProblemError(409, detail, f"See GET {AUDITS}/{id}")
    policy = f"{script_policy(SCRIPT)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return Response(audit.html, headers=headers, media_type="text/html")
