"""Routes: retrieve and prove, read knowledge bases, and the state of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from admiral.citations.citation_records import CitationVerdict
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import check_source
from admiral.citations.verdict_file import verdict_record
from admiral.errors import AdmiralError
from admiral.graph import MentionGraph
from admiral.io.rendering import judgement_record, search_record
from admiral.io.sentence_splitter import sentence_spans
from admiral.kb import KnowledgeBase
from admiral.kb.bm25.analysis import best_sentences, matching_words
from admiral.records import Claim, Hop, RetrievalResult, json_of
from admiral.serving.claim_queue import ClaimQueue
from admiral.serving.problems import ProblemError, RecordResponse, as_problem
from admiral.serving.request_models import (
    CLAIM_CHARACTERS,
    BatchRequest,
    CitationRequest,
    ClaimRequest,
    GraphRequest,
    Kb,
    ProofRequest,
    SplitRequest,
)
from admiral.serving.service import Service
from admiral.sources import Source
from admiral.storage.atomic_files import encode_record
from proofs import Judgement
from proofs.logic.wording import contrasting_words

router = APIRouter(prefix="/v1", tags=["retrieval"])
citations = APIRouter(prefix="/v1", tags=["citations"])
documents = APIRouter(prefix="/v1", tags=["documents"])
health = APIRouter(tags=["health"])


# Seconds between two looks whether a client has left.
_LEFT_SECONDS = 0.5


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Opened = Annotated[Service, Depends(_service)]


async def _place(body: ClaimRequest, service: Opened) -> AsyncIterator[ClaimQueue]:
    """Hold a place of a queue until the answer has been sent, or its client has left."""
    queue = service.queue(body.kb)
    with queue.reserve():
        yield queue


Place = Annotated[ClaimQueue, Depends(_place)]


@router.post("/retrieve", responses={200: {"model": RetrievalResult}})
async def retrieve(
    body: ClaimRequest, request: Request, service: Opened, queue: Place
) -> RecordResponse:
    """Return the record of a claim, as `admiral retrieve --json` writes it."""
    futures = queue.submit([Claim("1", body.claim)], body.hops)
    (result,) = await _results(futures, request, service.deadline)
    if isinstance(result, BaseException):
        raise as_problem(result)
    return RecordResponse(result.to_json())


@router.post("/retrieve/batch")
async def retrieve_batch(body: BatchRequest, request: Request, service: Opened) -> RecordResponse:
    """Return the records of several claims; a claim that fails has a problem record instead."""
    if len(body.claims) > service.places:
        remedy = f"Give at most {service.places} claims in a request"
        raise ProblemError(422, f"the batch has {len(body.claims)} claims", remedy, "claims")
    queue = service.queue(body.kb)
    claims = [Claim(str(number), claim) for number, claim in enumerate(body.claims, 1)]
    with queue.reserve(len(claims)):
        futures = queue.submit(claims, body.hops)
        results = await _results(futures, request, service.deadline)
    records = [
        {"id": claim.id, "problem": as_problem(result).to_json()}
        if isinstance(result, BaseException)
        else result.to_json()
        for claim, result in zip(claims, results, strict=True)
    ]
    return RecordResponse({"results": records})


async def _results(
    futures: Sequence[Future[RetrievalResult]], request: Request, deadline: float
) -> list[RetrievalResult | BaseException]:
    """Wait for results; claims that have not started are cancelled if the client leaves.

    Raises TimeoutError at the deadline.
    """
    waiting = asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
    try:
        async with asyncio.timeout(deadline):
            while not waiting.done():
                await asyncio.wait([waiting], timeout=_LEFT_SECONDS)
                if await request.is_disconnected():
                    raise ProblemError(400, "the client has closed the connection", "Keep it open")
        return waiting.result()
    finally:
        waiting.cancel()


@router.post(
    "/retrieve/stream",
    response_class=EventSourceResponse,
    responses={200: {"description": "Events.", "content": {"text/event-stream": {}}}},
)
async def retrieve_stream(
    body: ClaimRequest, service: Opened, queue: Place
) -> AsyncIterator[ServerSentEvent]:
    """Send server-sent events: `stage` and `hop` as they come, then `result` or `problem`."""
    try:
        async for event in service.follow(queue, body.claim, body.hops):
            if isinstance(event, str):
                yield _event("stage", {"stage": event})
            elif isinstance(event, Hop):
                yield _event("hop", hop_event(event))
            else:
                yield _event("result", event.to_json())
    except Exception as error:
        # The status has been sent, so the stream ends with the problem.
        yield _event("problem", as_problem(error).to_json())


def _event(name: str, record: dict[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(event=name, raw_data=encode_record(record).decode().rstrip())


def hop_event(hop: Hop) -> dict[str, Any]:
    """Return a hop as a JSON object.

    It has the fields of the record of the result, and ``evidence`` with sentences and scores;
    ``contrasts``, for each step of the proof the words that contradict each other, or null; and
    ``questions``, the parts of the claim that the evidence does not cover (``span``) with a
    ``question`` or null.
    """
    questions = [] if hop.proof is None else hop.proof.questions()
    return {
        **json_of(hop),
        "evidence": [json_of(sentence) for sentence in hop.evidence],
        "contrasts": [
            contrasting_words(step.claim, step.evidence, step.operator)
            for step in (() if hop.proof is None else hop.proof.steps)
        ],
        "questions": [{"span": span, "question": question} for span, question in questions],
    }


@router.post("/prove", responses={200: {"model": Judgement}})
async def prove(body: ProofRequest, service: Opened) -> RecordResponse:
    """Return the judgement of a claim on given sentences, as `admiral prove --json` writes it."""
    evidence = [(sentence.title, sentence.text) for sentence in body.evidence]
    judgement = await service.use(body.kb, lambda system: system.prove(body.claim, evidence))
    return RecordResponse(judgement_record(body.claim, evidence, judgement))


@router.post("/split")
def split(body: SplitRequest) -> RecordResponse:
    """Split a text into sentences, which can be claims."""
    claims = [body.text[start:end] for start, end in sentence_spans(body.text)]
    return RecordResponse({"claims": claims})


@router.post("/graph")
async def graph(body: GraphRequest, service: Opened) -> RecordResponse:
    """Return the documents and sentences that the graph finds, as `admiral graph query --json`.

    If it finds none, the lists are empty.
    """
    return RecordResponse(await service.use(body.kb, lambda each: _graph_record(each.kb, body)))


def _graph_record(kb: KnowledgeBase, body: GraphRequest) -> dict[str, Any]:
    try:
        mentions = MentionGraph.open(kb)
    except AdmiralError as error:
        raise ProblemError(
            404,
            "the knowledge base has no graph, or one of another version",
            "Build it with `admiral graph build`, or name another knowledge base",
            "kb",
        ) from error
    return body.record(kb, mentions, body.claim, body.k)


@citations.post("/citations/check")
async def check_citation(body: CitationRequest, service: Opened) -> RecordResponse:
    """Return the record of `admiral verify-citation --json` for one claim and one source."""
    source = Source(body.source.url, body.source.title, body.source.text)
    return RecordResponse(verdict_record(await checked(service, body.claim, source, body.page)))


async def checked(service: Service, claim: str, source: Source, page: str) -> CitationVerdict:
    """Return the verdict on a claim and a source, within the limits of a service."""
    check = partial(check_source, claim, source, CitationConfig(suggest=False), page)
    return await service.use(None, lambda system: check())


@documents.get("/documents/{title:path}")
def document(title: str, service: Opened, kb: Kb = None) -> RecordResponse:
    """Return a document, as `admiral show --json` writes it."""
    with service.queue(kb).open_system() as system:
        return RecordResponse(json_of(system.kb.document(title)))


@documents.get("/titles")
def titles(
    service: Opened,
    prefix: Annotated[str, Query(max_length=1_000)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    kb: Kb = None,
) -> RecordResponse:
    """Return the titles that begin with a prefix, in Unicode order; upper and lower case differ."""
    with service.queue(kb).open_system() as system:
        found = [title for title, _ in islice(system.kb.complete(prefix), limit)]
    return RecordResponse({"titles": found})


@documents.get("/search")
def search(
    service: Opened,
    q: Annotated[str, Query(min_length=1, max_length=CLAIM_CHARACTERS, pattern=r"\S")],
    k: Annotated[int, Query(ge=1, le=100)] = 10,
    kb: Kb = None,
) -> RecordResponse:
    """Return the documents that BM25 finds, as `admiral search --json` writes them, with `matches`.

    These are the characters of words that match the query, in `title` and `text`: start and end.
    """
    with service.queue(kb).open_system() as system:
        (found,) = system.kb.search([q], k)
        read = [system.kb.document(scored.title) for scored in found]
    rows = zip(found, read, best_sentences(q, read), strict=True)
    records = [search_record(rank, *row) for rank, row in enumerate(rows, 1)]
    for record in records:
        texts = {field: record[field] or "" for field in ("title", "text")}
        record["matches"] = {field: matching_words(q, text) for field, text in texts.items()}
    return RecordResponse({"results": records})


# Demo claims that the page offers: true and false ones, of one, two and three documents.
_EXAMPLES = ("c-007", "c-004", "c-018", "c-021")


@documents.get("/examples")
def examples(service: Opened, kb: Kb = None) -> RecordResponse:
    """Return `claims` of the demo whose documents a knowledge base has, and four `titles`."""
    with service.queue(kb).open_system() as system:
        opened, rows = system.kb, system.kb.rows()
        claims = [
            claim
            for claim, titles in _demo_claims()
            if all(opened.row(title) is not None for title in titles)
        ]
        count = len(_EXAMPLES)
        apart = rows[:: max(1, len(rows) // count)][:count]
        titles = [opened.title(int(row)) for row in apart]
    return RecordResponse({"claims": claims, "titles": titles})


@cache
def _demo_claims() -> list[tuple[str, list[str]]]:
    """Return the claims of `_EXAMPLES`, each with the titles of the documents that decide it."""
    text = (files("admiral") / "data" / "demo" / "claims.jsonl").read_text(encoding="utf-8")
    records = {record["id"]: record for record in map(json.loads, text.splitlines())}
    chosen = [records[each] for each in _EXAMPLES]
    return [(each["claim"], [title for title, _ in each["evidence"]]) for each in chosen]


@documents.get("/kbs")
def kbs(request: Request, service: Opened) -> RecordResponse:
    """Return the names, sizes and versions of the knowledge bases; the first is the default.

    A change gives another version. `uploads` says whether files can be uploaded.
    """
    records = []
    for name, queue in service.queues.items():
        with queue.open_system() as system:
            version = system.kb.digest[:16]
            records.append({"name": name, "documents": len(system.kb), "version": version})
    return RecordResponse({"kbs": records, "uploads": request.app.state.uploads is not None})


@health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Return 200 while the process answers."""
    return {"status": "ok"}


@health.get("/readyz")
def readyz(service: Opened) -> dict[str, str]:
    """Return 200 while claims are processed."""
    if problem := service.problem:
        raise ProblemError(
            503, problem, "Restore the knowledge base, or see the log and restart the service"
        )
    return {"status": "ready"}
