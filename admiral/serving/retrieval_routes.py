"""Routes: retrieve and prove, read knowledge bases, and the state of the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from admiral.citations.citation_records import CitationVerdict
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import check_source
from admiral.citations.verdict_file import verdict_record
from admiral.errors import AdmiralError
from admiral.graph import ClaimSubgraph, GraphRanker, MentionGraph, SubgraphOptions
from admiral.graph.mention_graph import sentences_at
from admiral.io.rendering import (
    judgement_record,
    ranking_record,
    search_record,
    set_record,
)
from admiral.io.sentence_splitter import sentence_spans
from admiral.kb import KnowledgeBase
from admiral.kb.bm25.analysis import best_sentences, matching_words
from admiral.records import Claim, Hop, RetrievalResult, json_of
from admiral.serving.request_models import (
    BatchRequest,
    CitationRequest,
    ClaimRequest,
    GraphRequest,
    ProblemError,
    ProofRequest,
    SplitRequest,
    as_problem,
)
from admiral.serving.service import Service
from admiral.sources import Source
from admiral.storage.atomic_files import encode_record
from proofs import Judgement
from proofs.logic.wording import contrasting_words


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


JSON = "application/json"
# Seconds between comments that keep an idle stream open, and show that its client has left.
_KEEP_ALIVE = 10.0

router = APIRouter(prefix="/v1", tags=["retrieval"])
citations = APIRouter(prefix="/v1", tags=["citations"])


@router.post("/retrieve", responses={200: {"model": RetrievalResult}})
async def retrieve(body: ClaimRequest, request: Request) -> Response:
    """Return the record of a claim, as `admiral retrieve --json` writes it."""
    service: Service = request.app.state.service
    service.limits.check_claim(body.claim)
    queue = service.queue(body.kb)
    with queue.reserve():
        future = queue.submit(Claim("1", body.claim), _hops(body.hops))
        (result,) = await _results([future], request, service.limits.deadline)
    return _answer(result)


@router.post("/retrieve/batch")
async def retrieve_batch(body: BatchRequest, request: Request) -> Response:
    """Return the records of several claims; a claim that fails has a problem record instead."""
    service: Service = request.app.state.service
    limits = service.limits
    if len(body.claims) > limits.places:
        remedy = f"Give at most {limits.places} claims in a request"
        raise ProblemError(422, f"the batch has {len(body.claims)} claims", remedy, "claims")
    for number, claim in enumerate(body.claims):
        limits.check_claim(claim, f"claims.{number}")
    queue = service.queue(body.kb)
    with queue.reserve(len(body.claims)):
        futures = [
            queue.submit(Claim(str(number), claim), _hops(body.hops))
            for number, claim in enumerate(body.claims, 1)
        ]
        results = await _results(futures, request, limits.deadline)
    records = [
        {"id": str(number), "problem": as_problem(result).to_json()}
        if isinstance(result, BaseException)
        else result.to_json()
        for number, result in enumerate(results, 1)
    ]
    return Response(encode_record({"results": records}), media_type=JSON)


@router.post(
    "/retrieve/stream",
    response_class=StreamingResponse,
    responses={200: {"description": "Events.", "content": {"text/event-stream": {}}}},
)
async def retrieve_stream(body: ClaimRequest, request: Request) -> Response:
    """Send server-sent events: `stage` and `hop` as they come, then `result` or `problem`."""
    service: Service = request.app.state.service
    service.limits.check_claim(body.claim)
    queue = service.queue(body.kb)
    events: asyncio.Queue[Hop | str | None] = asyncio.Queue()
    call = asyncio.get_running_loop().call_soon_threadsafe

    def put(event: Hop | str) -> None:
        call(events.put_nowait, event)

    with ExitStack() as stack:
        stack.enter_context(queue.reserve())
        future = queue.submit(Claim("1", body.claim), _hops(body.hops), on_hop=put, on_stage=put)
        future.add_done_callback(lambda _: call(events.put_nowait, None))
        stack.callback(future.cancel)
        return EventStream(
            _events(future, events, service.limits.deadline), reserved=stack.pop_all()
        )


@router.post("/prove", responses={200: {"model": Judgement}})
async def prove(body: ProofRequest, request: Request) -> Response:
    """Return the judgement of a claim on given sentences, as `admiral prove --json` writes it."""
    service: Service = request.app.state.service
    service.limits.check_claim(body.claim)
    evidence = [(sentence.title, sentence.text) for sentence in body.evidence]
    judgement = await service.prove(body.claim, evidence, body.kb)
    record = judgement_record(body.claim, evidence, judgement)
    return Response(encode_record(record), media_type=JSON)


@router.post("/split")
def split(body: SplitRequest) -> Response:
    """Split a text into sentences, which can be claims."""
    claims = [body.text[start:end] for start, end in sentence_spans(body.text)]
    return Response(encode_record({"claims": claims}), media_type=JSON)


def _hops(hops: int | str | None) -> str | None:
    return None if hops is None else str(hops)


def _answer(result: RetrievalResult | BaseException) -> Response:
    if isinstance(result, BaseException):
        raise as_problem(result)
    return Response(encode_record(result.to_json()), media_type=JSON)


async def _results(
    futures: Sequence[Future[RetrievalResult]], request: Request, deadline: float
) -> list[RetrievalResult | BaseException]:
    """Wait for results; claims that have not started are cancelled if the client leaves.

    Raises TimeoutError at the deadline.
    """
    waiting = asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
    leaving = asyncio.ensure_future(_disconnect(request))
    try:
        either: list[asyncio.Future[Any]] = [waiting, leaving]
        await asyncio.wait(either, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        if leaving.done():
            raise ProblemError(400, "the client has closed the connection", "Keep it open")
        raise TimeoutError
    finally:
        leaving.cancel()
        waiting.cancel()


async def _disconnect(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Server-sent events.

    `reserved`: closed when the response ends or its client leaves, even before the first event.
    """

    def __init__(self, events: AsyncIterator[bytes], reserved: ExitStack) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._reserved = reserved

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        with self._reserved:
            await super().__call__(scope, receive, send)


async def _events(
    future: Future[RetrievalResult], events: asyncio.Queue[Hop | str | None], deadline: float
) -> AsyncIterator[bytes]:
    """Yield the events of a claim; None in `events` means that the result is there."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline
    try:
        while True:
            patience = min(_KEEP_ALIVE, end - loop.time())
            try:
                event = await asyncio.wait_for(events.get(), max(patience, 0))
            except TimeoutError:
                if loop.time() >= end:
                    raise
                yield b": keep-alive\n\n"
                continue
            if event is None:
                break
            if isinstance(event, str):
                yield _event("stage", {"stage": event})
            else:
                yield _event("hop", hop_event(event))
        yield _event("result", future.result().to_json())
    except Exception as error:
        # The status has been sent, so the stream ends with the problem.
        yield _event("problem", as_problem(error).to_json())


def _event(name: str, record: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encode_record(record) + b"\n"


@router.post("/graph")
async def graph(body: GraphRequest, request: Request) -> Response:
    """Return the documents and sentences that the graph finds, as `admiral graph query --json`.

    If it finds none, the lists are empty.
    """
    service: Service = request.app.state.service
    service.limits.check_claim(body.claim)
    queue = service.queue(body.kb)

    def query() -> dict[str, Any]:
        with queue.open_system() as system:
            return _graph_record(system.kb, body)

    with queue.reserve():
        record = await asyncio.wait_for(asyncio.to_thread(query), service.limits.deadline)
    return Response(encode_record(record), media_type="application/json")


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
    if body.method == "pagerank":
        ranking = GraphRanker(kb, mentions).rank(body.claim, body.k)
        return ranking_record(ranking.documents, ranking.sentences)
    options = SubgraphOptions(body.hops, body.variant, body.owner)
    subgraph = ClaimSubgraph(
        kb, mentions, options, max_mentions=body.max_mentions, readings=body.readings
    )
    entities = subgraph.entities(body.claim)
    frames = subgraph.retrieve(entities, body.method)
    summary = {
        "entities": [entity.title for entity in entities],
        "sentences": len(frames),
        "documents": len(set(mentions.page_of(frames).tolist())),
    }
    return set_record(summary, sentences_at(kb, mentions.sentences(frames[: body.k])))


@citations.post("/citations/check")
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


_MAX_TITLE = 1_000
_VERSION_DIGITS = 16

KbName = Annotated[str | None, Query(description="Name of a knowledge base.")]

documents = APIRouter(prefix="/v1", tags=["documents"])
health = APIRouter(tags=["health"])


@documents.get("/documents/{title:path}")
def document(title: str, request: Request, kb: KbName = None) -> Response:
    """Return a document, as `admiral show --json` writes it."""
    with _service(request).queue(kb).open_system() as system:
        record = json_of(system.kb.document(title))
    return Response(encode_record(record), media_type=JSON)


@documents.get("/titles")
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


@documents.get("/search")
def search(
    request: Request,
    q: Annotated[str, Query(min_length=1)],
    k: Annotated[int, Query(ge=1, le=100)] = 10,
    kb: KbName = None,
) -> Response:
    """Return the documents that BM25 finds, as `admiral search --json` writes them, with `matches`.

    These are the characters of words that match the query, in `title` and `text`: start and end.
    """
    service = _service(request)
    if not q.strip():
        raise ProblemError(422, "there are no words to search", "Give some words", "q")
    service.limits.check_claim(q, "q")
    with service.queue(kb).open_system() as system:
        results = search_records(system.kb, q, k)
    return Response(encode_record({"results": results}), media_type=JSON)


def search_records(kb: KnowledgeBase, query: str, k: int) -> list[dict[str, Any]]:
    """Return the records of the documents that BM25 finds."""
    (found,) = kb.search([query], k)
    documents = [kb.document(scored.title) for scored in found]
    rows = zip(found, documents, best_sentences(query, documents), strict=True)
    records = [search_record(rank, *row) for rank, row in enumerate(rows, 1)]
    for record in records:
        fields = ("title", "text")
        record["matches"] = {each: matching_words(query, record[each] or "") for each in fields}
    return records


# Demo claims that the page offers: true and false ones, of one, two and three documents.
_EXAMPLES = ("c-007", "c-004", "c-018", "c-021")


@documents.get("/examples")
def examples(request: Request, kb: KbName = None) -> Response:
    """Return `claims` of the demo whose documents a knowledge base has, and four `titles`."""
    with _service(request).queue(kb).open_system() as system:
        opened, rows = system.kb, system.kb.rows()
        claims = [
            claim
            for claim, titles in _demo_claims()
            if all(opened.row(title) is not None for title in titles)
        ]
        count = len(_EXAMPLES)
        apart = rows[:: max(1, len(rows) // count)][:count]
        record = {"claims": claims, "titles": [opened.title(int(row)) for row in apart]}
    return Response(encode_record(record), media_type=JSON)


@cache
def _demo_claims() -> list[tuple[str, list[str]]]:
    """Return the claims of `_EXAMPLES`, each with the titles of the documents that decide it."""
    text = (files("admiral") / "data" / "demo" / "claims.jsonl").read_text(encoding="utf-8")
    records = {record["id"]: record for record in map(json.loads, text.splitlines())}
    chosen = [records[each] for each in _EXAMPLES]
    return [(each["claim"], [title for title, _ in each["evidence"]]) for each in chosen]


@documents.get("/kbs")
def kbs(request: Request) -> Response:
    """Return the names, sizes and versions of the knowledge bases; the first is the default.

    `uploads` says whether files can be uploaded.
    """
    uploads = request.app.state.uploads is not None
    record = {"kbs": kb_records(_service(request)), "uploads": uploads}
    return Response(encode_record(record), media_type=JSON)


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
def readyz(request: Request) -> dict[str, str]:
    """Return 200 while claims are processed."""
    if problem := _service(request).problem:
        raise ProblemError(
            503, problem, "Restore the knowledge base, or see the log and restart the service"
        )
    return {"status": "ready"}


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
