"""Check a claim against the source that it cites."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from admiral.citations.citation_records import CitationVerdict
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.single_source import check_source
from admiral.citations.verdict_json import verdict_record
from admiral.library.source_records import Source
from admiral.serving.request_models import CitationRequest
from admiral.serving.service import Service
from admiral.storage.atomic_files import encode_record

router = APIRouter(prefix="/v1", tags=["citations"])


@router.post("/citations/check")
async def check_citation(body: CitationRequest, request: Request) -> Response:
    """Return the record of `admiral verify-citation --json` for one claim and one source."""
    source = Source(body.source.url, body.source.title, body.source.text)
    verdict = await checked(request.app.state.service, body.claim, source, body.page)
    return Response(encode_record(verdict_record(verdict)), media_type="application/json")


async def checked(service: Service, claim: str, source: Source, page: str) -> CitationVerdict:
    """Return the verdict on a claim and a source, within the limits of a service."""
    service.limits.check_claim(claim)
    config = CitationConfig(suggest=False)
    with service.queue(None).reserve():
        return await asyncio.wait_for(
            asyncio.to_thread(check_source, claim, source, config, page), service.limits.deadline
        )
