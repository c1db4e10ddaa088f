"""Routes that read knowledge bases, and the state of the service."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from admiral.io.rendering import document_record, search_record
from admiral.kb import KnowledgeBase
from admiral.kb.bm25.analysis import best_sentences
from admiral.serving.problems import ProblemError
from admiral.serving.service import Service
from admiral.storage.atomic_files import encode_record

JSON = "application/json"
_MAX_TITLE = 1_000
_VERSION_DIGITS = 16

KbName = Annotated[str | None, Query(description="Name of a knowledge base.")]

router = APIRouter(prefix="/v1", tags=["documents"])
health = APIRouter(tags=["health"])


@router.get("/documents/{title:path}")
def document(title: str, request: Request, kb: KbName = None) -> Response:
    """Return a document, as `admiral show --json` writes it."""
    with _service(request).queue(kb).open_system() as system:
        record = document_record(system.kb.document(title))
    return Response(encode_record(record), media_type=JSON)


@router.get("/titles")
def titles(
    request: Request,
    prefix: Annotated[str, Query(max_length=_MAX_TITLE)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    kb: KbName = None,
) -> Response:
    """Return the titles that begin with a prefix, in Unicode order; upper and lower case differ."""
    with _service(request).queue(kb).open_system() as system:
        found = [title for title, _ in islice(system.kb.complete(prefix), limit)]
    return Response(encode_record({"titles": found}), media_type=JSON)


@router.get("/search")
def search(
    request: Request,
    q: Annotated[str, Query(min_length=1)],
    k: Annotated[int, Query(ge=1, le=100)] = 10,
    kb: KbName = None,
) -> Response:
    """Return the documents that BM25 finds, as `admiral search --json` writes them."""
    service = _service(request)
    if not q.strip():
        raise ProblemError(422, "there are no words to search", "Give some words", "q")
    service.limits.check_claim(q, "q")
    with service.queue(kb).open_system() as system:
        results = search_records(system.kb, q, k)
    return Response(encode_record({"results": results}), media_type=JSON)


def search_records(kb: KnowledgeBase, query: str, k: int) -> list[dict[str, object]]:
    """Return the records of the documents that BM25 finds."""
    (found,) = kb.search([query], k)
    documents = [kb.document(scored.title) for scored in found]
    rows = zip(found, documents, best_sentences(query, documents), strict=True)
    return [search_record(rank, *row) for rank, row in enumerate(rows, 1)]


@router.get("/kbs")
def kbs(request: Request) -> Response:
    """Return the names, sizes and versions of the knowledge bases; the first is the default."""
    return Response(encode_record({"kbs": kb_records(_service(request))}), media_type=JSON)


def kb_records(service: Service) -> list[dict[str, object]]:
    """Return the records of the knowledge bases; a change gives another version."""
    records: list[dict[str, object]] = []
    for name, queue in service.queues.items():
        with queue.open_system() as system:
            version = system.kb.digest[:_VERSION_DIGITS]
            records.append({"name": name, "documents": len(system.kb), "version": version})
    return records


@health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Return 200 while the process answers."""
    return {"status": "ok"}


@health.get("/readyz")
async def readyz(request: Request) -> dict[str, str]:
    """Return 200 while claims are processed."""
    if not _service(request).ready:
        raise ProblemError(
            503,
            "claims are not being processed, or a knowledge base was damaged",
            "See the log of the service; restore the knowledge base, or restart the service",
        )
    return {"status": "ready"}


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
