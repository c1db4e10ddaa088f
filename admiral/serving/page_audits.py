"""Audits of pages that editors send, with their routes, and the pages of the service.

Audits run one after the other in a thread; the latest are kept. The service's own pages are static
files with a strict Content-Security-Policy.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Literal, Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from admiral.citations.audit_page import SCRIPT, audit_page
from admiral.citations.citation_records import CitationVerdict
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer, urgency
from admiral.citations.extract import ReadPage, read_page
from admiral.errors import AdmiralError
from admiral.io.rendering import script_policy
from admiral.serving.jobs import Job, JobThread, State
from admiral.serving.request_models import ProblemError

#: Audits that may wait, audits that are kept once they have ended, and statements of a page.
WAITING, KEPT, STATEMENTS = 4, 32, 2_000


@dataclass(slots=True, eq=False, kw_only=True)
class PageAudit(Job):
    """The audit of a page. Its `id` cannot be guessed; anyone who has it may read the audit.

    `done` counts statements.
    """

    page: ReadPage
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    html: bytes = b""  # the audit, once it is complete

    @property
    def statements(self) -> int:
        """The number of statements of the page."""
        return len(self.page.claims)


class PageAudits:
    """Audits pages by the sources of `citer`, which is closed with this object."""

    def __init__(self, citer: Citer) -> None:
        self._citer = citer
        self._audits: OrderedDict[str, PageAudit] = OrderedDict()
        self._lock = threading.Lock()
        self._jobs = JobThread("admiral-audits", WAITING)

    @classmethod
    def open(cls, kb: Path, config: CitationConfig) -> Self:
        """Open a knowledge base and the verifier of the settings.

        Raises AdmiralError if one of them cannot be opened.
        """
        return cls(Citer.open(kb, config=config))

    def submit(self, page: ReadPage) -> PageAudit:
        """Return the audit of a page, which waits for its turn.

        Raises AdmiralError if the page has no statement with a reference, or too many; raises
        QueueFullError if too many pages wait.
        """
        if not page.claims:
            raise AdmiralError("the page has no statement with a reference. Check its format")
        if len(page.claims) > STATEMENTS:
            raise AdmiralError(
                f"the page has {len(page.claims):,} statements, more than {STATEMENTS:,}. Send its "
                "sections one by one"
            )
        audit = PageAudit(page=page)
        self._jobs.submit(audit, self._write)
        with self._lock:
            self._audits[audit.id] = audit
            ended = [each.id for each in self._audits.values() if each.has_ended]
            for id in ended[: max(0, len(ended) - KEPT)]:
                del self._audits[id]
        return audit

    def audit(self, id: str) -> PageAudit | None:
        """Return an audit; None if there is none, or no longer."""
        with self._lock:
            return self._audits.get(id)

    def close(self) -> None:
        """End the audit that runs, and close the knowledge base."""
        self._jobs.close()
        self._citer.close()

    def _write(self, audit: PageAudit) -> None:
        audit.html = "".join(self._parts(audit)).encode("utf-8", "replace")

    def _parts(self, audit: PageAudit) -> Iterator[str]:
        verdicts: list[CitationVerdict] = []
        audit.check()
        for verdict in self._citer.verify_many(each.claim for each in audit.page.claims):
            audit.check()
            verdicts.append(verdict)
            audit.done = len(verdicts)
        verdicts.sort(key=urgency)
        title = audit.page.title or "a page without a title"
        return audit_page(title, verdicts, (), self._citer.sources.source, audit.page)


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
    audits: PageAudits | None = request.app.state.audits
    if audits is None:
        raise ProblemError(
            404,
            "this service audits no pages",
            "Start it with a knowledge base of sources: `admiral serve --kb DIR`",
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


_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_PAGE = files("admiral") / "serving" / "page"
_PATHS = {"index.html": "/", "audit.html": "/audit"}

pages = APIRouter(include_in_schema=False)


def _add_file(name: str) -> str:
    """Add the route of a file, and return its path."""
    content = (_PAGE / name).read_bytes()
    path = _PATHS.get(name, f"/page/{name}")
    media_type = _TYPES[PurePath(name).suffix]

    @pages.api_route(path, methods=["GET", "HEAD"], name=name)
    def page_file() -> Response:
        return Response(content, headers=_PAGE_HEADERS, media_type=media_type)

    return path


#: The paths of the pages, which hold no data and need no key.
PAGE_PATHS = tuple(_add_file(entry.name) for entry in _PAGE.iterdir() if entry.is_file())
