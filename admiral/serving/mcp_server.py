"""AdMIRaL as tools of the Model Context Protocol (MCP), by the official SDK.

What loads torch is imported by the first call of a tool, so that an assistant is answered at once;
the service is opened then too. What the tools return is short enough for the context of a model.
Over HTTP, it is behind the checks of the HTTP service.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

import admiral
from admiral.io.rendering import claim_notes
from admiral.records import Claim, Hop, RetrievalResult, Sentence
from admiral.serving.request_models import (
    MAX_HOPS,
    Text,
    bad_field,
)
from proofs import Judgement, ProofStep
from proofs.judges.judgement import Conflict, ScoredVerdict

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from admiral.serving.service import Service

_INSTRUCTIONS = (
    "Find and prove evidence for claims in knowledge bases of documents. find_evidence searches in "
    "several hops, and its proof names the quoted documents; read_document shows more of one. A "
    "proof is a program's and may be wrong: read it with its evidence."
)
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
# Results that are kept for their cursors.
_KEPT = 64

Page = TypeVar("Page")
Kb = Annotated[str | None, Field(description="Name of a knowledge base; the first by default.")]
Cursor = Annotated[str | None, Field(description="next_cursor of an earlier call, for more.")]
OnHop = Callable[[Hop], Awaitable[None]]


def create_mcp(service: LateService) -> MCPServer:
    """Return the MCP server of a service; its tools share the queue with HTTP requests."""
    server = _PlainServer("admiral", version=admiral.__version__, instructions=_INSTRUCTIONS)
    tools = _Tools(service)
    for tool in (
        tools.find_evidence,
        tools.prove,
        tools.check_citation,
        tools.search_titles,
        tools.read_document,
    ):
        server.tool(annotations=_READS)(tool)
    return server


class _PlainServer(MCPServer):
    """Report errors in plain words, without those of pydantic and the SDK before them."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(bad_field(cause)[1]) from cause
            if isinstance(cause, ToolError):
                raise cause from None
            raise


class _Tools:
    """The tools; their docstrings and parameters are what a model reads."""

    def __init__(self, service: LateService) -> None:
        self._service = service
        self._results: OrderedDict[str, RetrievalResult] = OrderedDict()

    async def find_evidence(
        self,
        context: Context,
        claim: Annotated[Text, Field(description="One sentence to verify.")],
        hops: Annotated[
            Annotated[int, Field(ge=0, le=MAX_HOPS)] | Literal["dynamic"],
            Field(description="Number of hops; dynamic stops when the proof is complete."),
        ] = "dynamic",
        kb: Kb = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Documents of the ranking.")] = 5,
        cursor: Cursor = None,
    ) -> EvidencePage:
        """Find the sentences that support or refute a claim, with a proof and a verdict."""
        if cursor is not None:
            return self._next_page(cursor, limit)

        async def report(hop: Hop) -> None:
            titles = ", ".join(dict.fromkeys(sentence.title for sentence in hop.evidence))
            await context.report_progress(hop.number, None, f"Hop {hop.number}: {titles}")

        try:
            if not self._service.is_open:
                await context.report_progress(0, None, "Opening the model and the documents")
            result = await self._retrieve(claim, str(hops), kb, report)
        except Exception as error:
            raise _tool_error(error) from error
        token = secrets.token_urlsafe(6)
        self._results[token] = result
        if len(self._results) > _KEPT:
            self._results.popitem(last=False)
        return _page(token, result, 0, limit)

    async def prove(
        self,
        claim: Annotated[Text, Field(description="One sentence to verify.")],
        evidence: Annotated[list[GivenEvidence], Field(description="Sentences to prove it from.")],
        kb: Kb = None,
    ) -> ProofRecord:
        """Prove or refute a claim from given sentences."""
        pairs = [(sentence.title, sentence.text) for sentence in evidence]
        try:
            service = await self._service.get()
            service.limits.check_claim(claim)
            judgement = await service.prove(claim, pairs, kb)
        except Exception as error:
            raise _tool_error(error) from error
        notes = list(claim_notes(claim))
        return ProofRecord(**judgement_fields(judgement, pairs), warnings=notes)

    async def check_citation(
        self,
        claim: Annotated[Text, Field(description="The sentence that cites the source.")],
        source_text: Annotated[Text, Field(description="Text of the source.")],
        source_title: Annotated[str, Field(description="Title of the source.")] = "",
        page: Annotated[str, Field(description="Title of the page that cites it.")] = "",
    ) -> CitationCheck:
        """Check whether a source supports a claim that cites it, and what it lacks."""
        from admiral.citations.decide import summary
        from admiral.serving.retrieval_routes import checked
        from admiral.sources import Source

        source = Source("https://source.invalid/", source_title, source_text)
        try:
            verdict = await checked(await self._service.get(), claim, source, page)
        except Exception as error:
            raise _tool_error(error) from error
        (found,) = verdict.existing
        return CitationCheck(
            decision=verdict.decision,
            finding=verdict.finding,
            summary=summary(verdict),
            status=found.status,
            probability=found.probability,
            passage="" if found.passage is None else shortened(found.passage.text),
            missing=list(found.missing),
            denied_by=found.denied_by,
        )

    async def search_titles(
        self,
        query: Annotated[Text, Field(description="Words, or a part of a title.")],
        kb: Kb = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        cursor: Cursor = None,
    ) -> SearchPage:
        """Find documents by words of their titles and texts (BM25)."""
        start = _position(cursor)

        def search(service: Service) -> SearchPage:
            from admiral.kb.bm25.analysis import best_sentences

            service.limits.check_claim(query, "query")
            with service.queue(kb).open_system() as system:
                (found,) = system.kb.search([query], start + limit + 1)
                shown = found[start : start + limit]
                documents = [system.kb.document(each.title) for each in shown]
                best = best_sentences(query, documents)
                rows = [
                    EvidenceSentence(
                        title=document.title,
                        sentence_id=0 if sentence is None else sentence.index,
                        text="" if sentence is None else shortened(sentence.text),
                    )
                    for document, sentence in zip(documents, best, strict=True)
                ]
            more = len(found) > start + limit
            return SearchPage(documents=rows, next_cursor=str(start + limit) if more else None)

        return await self._in_thread(search)

    async def read_document(
        self,
        title: Annotated[Text, Field(description="Exact title of the document.")],
        kb: Kb = None,
        limit: Annotated[int, Field(ge=1, le=100, description="Number of sentences.")] = 20,
        cursor: Cursor = None,
    ) -> DocumentPage:
        """Read the sentences of a document."""
        start = _position(cursor)

        def read(service: Service) -> DocumentPage:
            with service.queue(kb).open_system() as system:
                document = system.kb.document(title)
            total = len(document.sentences)
            shown = list(enumerate(document.sentences))[start : start + limit]
            return DocumentPage(
                title=document.title,
                source=document.source,
                total_sentences=total,
                sentences=[
                    NumberedSentence(sentence_id=number, text=shortened(text))
                    for number, text in shown
                ],
                next_cursor=str(start + limit) if start + limit < total else None,
            )

        return await self._in_thread(read)

    async def _retrieve(
        self, claim: str, hops: str, kb: str | None, on_hop: OnHop
    ) -> RetrievalResult:
        service = await self._service.get()
        service.limits.check_claim(claim)
        queue = service.queue(kb)
        completed: asyncio.Queue[Hop | None] = asyncio.Queue()
        put = asyncio.get_running_loop().call_soon_threadsafe
        with queue.reserve():
            future = queue.submit(
                Claim("1", claim), hops, lambda hop: put(completed.put_nowait, hop)
            )
            future.add_done_callback(lambda _: put(completed.put_nowait, None))
            try:
                async with asyncio.timeout(service.limits.deadline):
                    while (hop := await completed.get()) is not None:
                        await on_hop(hop)
            finally:
                future.cancel()
            return future.result()

    async def _in_thread(self, read: Callable[[Service], Page]) -> Page:
        try:
            return await asyncio.to_thread(read, await self._service.get())
        except Exception as error:
            raise _tool_error(error) from error

    def _next_page(self, cursor: str, limit: int) -> EvidencePage:
        token, _, position = cursor.partition(".")
        result = self._results.get(token)
        if result is None or not position.isdecimal():
            raise ToolError("cursor: is unknown or has expired. Call again without a cursor")
        return _page(token, result, int(position), limit)


def _page(token: str, result: RetrievalResult, start: int, limit: int) -> EvidencePage:
    end = start + limit
    cursor = f"{token}.{end}" if end < len(result.documents) else None
    return evidence_page(result, start, limit, cursor)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 9:
        raise ToolError("cursor: is not one of this tool. Call again without a cursor")
    return int(cursor)


def _tool_error(error: Exception) -> ToolError:
    from admiral.serving.request_models import as_problem

    problem = as_problem(error)
    field = f"{problem.field}: " if problem.field else ""
    return ToolError(f"{field}{problem.detail}. {problem.remedy}")


logger = logging.getLogger(__name__)


class LateService:
    """Open a service once; after an error, the next use tries again."""

    def __init__(self, open_service: Callable[[], Service]) -> None:
        self._open_service = open_service
        self._service: Service | None = None
        self._lock = threading.Lock()

    @classmethod
    def opened(cls, service: Service) -> LateService:
        """Return a service that is open already."""
        late = cls(lambda: service)
        late._service = service
        return late

    @property
    def is_open(self) -> bool:
        """Whether it has been opened."""
        return self._service is not None

    async def get(self) -> Service:
        """Return the service; the first call opens it in another thread."""
        if self._service is not None:
            return self._service
        return await asyncio.to_thread(self._get)

    def _get(self) -> Service:
        with self._lock:
            if self._service is None:
                started = time.perf_counter()
                logger.info("opening the model and the knowledge bases")
                self._service = self._open_service()
                logger.info("opened in %.1f seconds", time.perf_counter() - started)
            return self._service

    def close(self) -> None:
        """Close the service if it was opened."""
        with self._lock:
            if self._service is not None:
                self._service.close()


_LONGEST_TEXT = 1_000


class GivenEvidence(BaseModel):
    """A sentence to prove a claim from."""

    title: str = Field("", description="Title of its document.")
    text: Text = Field(description="The sentence.")


class NumberedSentence(BaseModel):
    """A sentence of a document."""

    sentence_id: int = Field(description="Number of the sentence, from 0.")
    text: str


class EvidenceSentence(NumberedSentence):
    """A sentence of the evidence, or one that matches a query best."""

    title: str = Field(description="Title of its document, for read_document.")


@dataclass(frozen=True, slots=True)
class Step(ProofStep):
    """A step of a proof, also in words."""

    words: Annotated[str, Field(description="The step as a sentence.")] = ""


class ProofRecord(BaseModel):
    """What given evidence proves; the words of a program, which may be wrong."""

    verdict: ScoredVerdict | None = Field(description="Null if the text is no claim.")
    sufficient: bool = Field(description="Whether the evidence is enough for a verdict.")
    proof: list[Step] = Field(description="The steps of the proof.")
    missing: list[str] = Field(description="Questions that the evidence leaves open.")
    comparisons: list[str] = Field(description="Values compared exactly, which decided.")
    conflict: Conflict | None = Field(description="Sentences that contradict each other.")
    warnings: list[str] = Field(description="Why there is no verdict, or what was not read.")


class EvidencePage(ProofRecord):
    """The evidence for a claim, and a part of the ranking of documents."""

    claim: str
    stopped: str = Field(description="sufficient, max_hops or dead_end.")
    evidence: list[EvidenceSentence]
    documents: list[str] = Field(description="Titles, best first.")
    next_cursor: str | None = Field(description="For more documents; null at the end.")


class SearchPage(BaseModel):
    """Documents, each with the sentence that matches best."""

    documents: list[EvidenceSentence]
    next_cursor: str | None = Field(description="For more documents; null at the end.")


class DocumentPage(BaseModel):
    """Sentences of a document."""

    title: str
    source: str = Field(description="File or address that it was read from, if known.")
    total_sentences: int
    sentences: list[NumberedSentence]
    next_cursor: str | None = Field(description="For more sentences; null at the end.")


class CitationCheck(BaseModel):
    """Whether a source supports a claim."""

    decision: str = Field(description="keep, flag, or not_checked: the source says nothing.")
    finding: str | None = Field(
        description="supported, partly, contradicted or not_found; null if it was not checked."
    )
    summary: str = Field(description="The decision and its reason.")
    status: str = Field(description="scored, or why the source was not checked.")
    probability: float | None = Field(description="Estimated probability of full support.")
    passage: str = Field(description="The passage that supports the claim best.")
    missing: list[str] = Field(description="What of the claim the source surely lacks.")
    denied_by: str = Field(description="The sentence that denies the claim; empty without one.")


def evidence_page(
    result: RetrievalResult, start: int, limit: int, next_cursor: str | None
) -> EvidencePage:
    """Return a page of a result, with the documents from `start` on."""
    judged = result.judgement or Judgement(False, None)
    pairs = [(sentence.title, sentence.text) for sentence in result.evidence]
    return EvidencePage(
        **judgement_fields(judged, pairs),
        claim=result.claim.text,
        warnings=list(result.warnings),
        stopped=result.stopped,
        evidence=[evidence_sentence(sentence) for sentence in result.evidence],
        documents=[each.title for each in result.documents[start : start + limit]],
        next_cursor=next_cursor,
    )


def evidence_sentence(sentence: Sentence) -> EvidenceSentence:
    """Return a sentence; a long one is cut."""
    text = shortened(sentence.text)
    return EvidenceSentence(title=sentence.title, sentence_id=sentence.index, text=text)


def judgement_fields(judgement: Judgement, evidence: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a `ProofRecord` that a judgement has, without warnings."""
    proof = judgement.proof
    words = [] if proof is None else proof.in_words(evidence)
    questions = [] if proof is None else proof.questions()
    steps = zip(() if proof is None else proof.steps, words, strict=True)
    return {
        "verdict": judgement.scored_verdict,
        "sufficient": judgement.sufficient,
        "proof": [{**asdict(step), "words": sentence} for step, sentence in steps],
        "missing": [question or span for span, question in questions],
        "comparisons": [one.reason for one in judgement.comparisons],
        "conflict": judgement.conflict,
    }


def shortened(text: str) -> str:
    """Return a text, cut if it is long."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def http_app(
    service: Service,
    host: str,
    api_keys: Sequence[bytes],
    hosts: Collection[str] | None = None,
) -> ASGIApp:
    """Return the application for streamable HTTP at /mcp.

    `service`: the open knowledge bases. `host`: the address to listen on; on a loopback address,
    requests by other names are refused. `api_keys`: keys of which each request must give one; none
    for no check. `hosts`: as for `AccessMiddleware`.
    """
    from admiral.serving.access import AccessMiddleware, RequestMetrics

    return AccessMiddleware(
        create_mcp(LateService.opened(service)).streamable_http_app(host=host),
        api_keys=api_keys,
        limits=service.limits,
        metrics=RequestMetrics(service),
        hosts=hosts,
    )
