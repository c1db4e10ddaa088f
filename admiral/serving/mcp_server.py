"""AdMIRaL as tools of the Model Context Protocol (MCP), by the official SDK.

The service is opened by the first call of a tool, so that an assistant is answered at once. What
the tools return is short enough for the context of a model.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

import admiral
from admiral.io.rendering import claim_notes
from admiral.records import Hop, RetrievalResult
from admiral.serving.request_models import ClaimText, GivenSentence, Hops, Kb, Text
from proofs import Judgement, ProofStep
from proofs.judges.judgement import Conflict, ScoredVerdict

if TYPE_CHECKING:
    from admiral.serving.service import Service

_INSTRUCTIONS = (
    "Find and prove evidence for claims in knowledge bases of documents. find_evidence searches in "
    "several hops, and its proof names the quoted documents; read_document shows more of one. A "
    "proof is a program's and may be wrong: read it with its evidence. If a verdict is "
    "only `leaning`, say that it is in doubt."
)
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_LONGEST_TEXT = 1_000
# Results that are kept for further documents of their rankings.
_KEPT = 64

Limit = Annotated[int, Field(ge=1, le=50, description="Number of documents or sentences.")]
Cursor = Annotated[int | None, Field(ge=0, description="next_cursor of an earlier call, for more.")]
NextCursor = Annotated[int | None, Field(description="Cursor for more; null at the end.")]


class FoundSentence(BaseModel):
    """A sentence of a document, of the evidence, or one that matches a query best."""

    title: str = Field(description="Title of its document, for read_document.")
    sentence_id: int = Field(description="Number of the sentence, from 0.")
    text: str


@dataclass(frozen=True, slots=True)
class Step(ProofStep):
    """A step of a proof, also in words."""

    words: Annotated[str, Field(description="The step as a sentence.")] = ""


class ProofRecord(BaseModel):
    """A program's judgement of given evidence, with its proof; it may be wrong."""

    verdict: ScoredVerdict | None = Field(description="Null if the text is no claim.")
    sufficient: bool = Field(description="Whether the evidence is enough for a verdict.")
    proof: list[Step]
    missing: list[str] = Field(description="Questions that the evidence leaves open.")
    comparisons: list[str] = Field(description="Values compared exactly, which decided.")
    conflict: Conflict | None = Field(description="Sentences that contradict each other.")
    warnings: list[str] = Field(description="Why there is no verdict, or what was not read.")


class EvidencePage(ProofRecord):
    """The evidence for a claim, and a part of the ranking of documents."""

    claim: str
    stopped: str = Field(description="sufficient, max_hops or dead_end.")
    evidence: list[FoundSentence]
    documents: list[str] = Field(description="Titles, best first.")
    next_cursor: NextCursor


class SearchPage(BaseModel):
    """Documents, each with the sentence that matches best."""

    documents: list[FoundSentence]
    next_cursor: NextCursor


class DocumentPage(BaseModel):
    """Sentences of a document."""

    title: str
    source: str = Field(description="File or address that it was read from, if known.")
    total_sentences: int
    sentences: list[FoundSentence]
    next_cursor: NextCursor


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


class LateService:
    """A service that its first use opens; after an error, the next use tries again."""

    def __init__(self, open_service: Callable[[], Service]) -> None:
        self._open, self._lock = open_service, threading.Lock()
        self._service: Service | None = None

    async def get(self) -> Service:
        """Return the service."""

        def get() -> Service:
            with self._lock:
                self._service = self._service or self._open()
                return self._service

        return await asyncio.to_thread(get)

    def close(self) -> None:
        """Close the service if it was opened."""
        if self._service is not None:
            self._service.close()


class _PlainServer(MCPServer):
    """Report errors in plain words, without those of pydantic and the SDK before them."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if (cause := error.__cause__) is None:
                raise
            from admiral.serving.problems import as_problem, bad_field

            if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
                raise ToolError(bad_field(cause)[1]) from cause
            problem = as_problem(cause)
            field = f"{problem.field}: " if problem.field else ""
            raise ToolError(f"{field}{problem.detail}. {problem.remedy}") from cause


def create_mcp(late: LateService) -> MCPServer:
    """Return the MCP server of a service; its tools share the queue with HTTP requests."""
    server = _PlainServer("admiral", version=admiral.__version__, instructions=_INSTRUCTIONS)
    tool = server.tool(annotations=_READS)
    results: OrderedDict[tuple[str, str, str | None], RetrievalResult] = OrderedDict()

    @tool
    async def find_evidence(
        context: Context,
        claim: ClaimText,
        hops: Hops = "dynamic",
        kb: Kb = None,
        limit: Limit = 5,
        cursor: Cursor = None,
    ) -> EvidencePage:
        """Find the sentences that support or refute a claim, with a proof and a verdict."""
        key = (claim, str(hops), kb)
        if not cursor or key not in results:
            service = await late.get()
            queue = service.queue(kb)
            with queue.reserve():
                async for event in service.follow(queue, claim, hops):
                    if isinstance(event, Hop):
                        titles = ", ".join(dict.fromkeys(each.title for each in event.evidence))
                        await context.report_progress(
                            event.number, None, f"Hop {event.number}: {titles}"
                        )
                    elif isinstance(event, RetrievalResult):
                        results[key] = event
            while len(results) > _KEPT:
                results.popitem(last=False)
        return _evidence_page(results[key], cursor or 0, limit)

    @tool
    async def prove(
        claim: ClaimText,
        evidence: Annotated[list[GivenSentence], Field(description="Sentences to prove it from.")],
        kb: Kb = None,
    ) -> ProofRecord:
        """Prove or refute a claim from given sentences."""
        pairs = [(sentence.title, sentence.text) for sentence in evidence]
        service = await late.get()
        judgement = await service.use(kb, lambda system: system.prove(claim, pairs))
        return ProofRecord(**_judgement_fields(judgement, pairs), warnings=list(claim_notes(claim)))

    @tool
    async def check_citation(
        claim: ClaimText,
        source_text: Annotated[Text, Field(description="Text of the source.")],
        source_title: Annotated[str, Field(description="Title of the source.")] = "",
        page: Annotated[str, Field(description="Title of the page that cites it.")] = "",
    ) -> CitationCheck:
        """Check whether a source supports a claim that cites it, and what it lacks."""
        from admiral.citations.decide import summary
        from admiral.serving.retrieval_routes import checked
        from admiral.sources import Source

        source = Source("https://source.invalid/", source_title, source_text)
        verdict = await checked(await late.get(), claim, source, page)
        (found,) = verdict.existing
        return CitationCheck(
            decision=verdict.decision,
            finding=verdict.finding,
            summary=summary(verdict),
            status=found.status,
            probability=found.probability,
            passage="" if found.passage is None else _shortened(found.passage.text),
            missing=list(found.missing),
            denied_by=found.denied_by,
        )

    @tool
    async def search_titles(
        query: Annotated[ClaimText, Field(description="Words, or a part of a title.")],
        kb: Kb = None,
        limit: Limit = 10,
        cursor: Cursor = None,
    ) -> SearchPage:
        """Find documents by words of their titles and texts (BM25)."""
        from admiral.kb.bm25.analysis import best_sentences

        start = cursor or 0
        end = start + limit

        def search(system: admiral.Admiral) -> SearchPage:
            (found,) = system.kb.search([query], end + 1)
            documents = [system.kb.document(each.title) for each in found[start:end]]
            best = best_sentences(query, documents)
            rows = [
                _found(document.title, *((each.index, each.text) if each else (0, "")))
                for document, each in zip(documents, best, strict=True)
            ]
            return SearchPage(documents=rows, next_cursor=end if end < len(found) else None)

        return await (await late.get()).use(kb, search)

    @tool
    async def read_document(
        title: Annotated[Text, Field(description="Exact title of the document.")],
        kb: Kb = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> DocumentPage:
        """Read the sentences of a document."""
        service = await late.get()
        document = await service.use(kb, lambda system: system.document(title))
        start, total = cursor or 0, len(document.sentences)
        end = start + limit
        shown = list(enumerate(document.sentences))[start:end]
        return DocumentPage(
            title=document.title,
            source=document.source,
            total_sentences=total,
            sentences=[_found(title, number, text) for number, text in shown],
            next_cursor=end if end < total else None,
        )

    return server


def _evidence_page(result: RetrievalResult, start: int, limit: int) -> EvidencePage:
    pairs = [(sentence.title, sentence.text) for sentence in result.evidence]
    end = start + limit
    return EvidencePage(
        **_judgement_fields(result.judgement or Judgement(False, None), pairs),
        claim=result.claim.text,
        warnings=list(result.warnings),
        stopped=result.stopped,
        evidence=[_found(each.title, each.index, each.text) for each in result.evidence],
        documents=[each.title for each in result.documents[start:end]],
        next_cursor=end if end < len(result.documents) else None,
    )


def _found(title: str, number: int, text: str) -> FoundSentence:
    return FoundSentence(title=title, sentence_id=number, text=_shortened(text))


def _judgement_fields(judgement: Judgement, evidence: Sequence[tuple[str, str]]) -> dict[str, Any]:
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


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
