"""AdMIRaL as tools of the Model Context Protocol (MCP), by the official SDK.

The service is opened by the first call of a tool, so that an assistant is answered at once. What
the tools return is short enough for the context of a model.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError

import admiral
from admiral.io.rendering import claim_notes
from admiral.records import Hop, RetrievalResult, json_of
from admiral.serving.request_models import ClaimText, GivenSentence, Hops, Kb, Text
from proofs import Judgement

if TYPE_CHECKING:
    from admiral.serving.service import Service

_INSTRUCTIONS = (
    "Find and prove evidence for claims in knowledge bases of documents. find_evidence searches in "
    "several hops, and its proof names the quoted documents; read_document shows more of one. A "
    "proof is a program's and may be wrong: read it with its evidence. State a verdict in "
    "its `words`; where it is null, `warnings` say why."
)
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_LONGEST_TEXT = 1_000

Limit = Annotated[int, Field(ge=1, le=50, description="Number of documents or sentences.")]
Cursor = Annotated[int | None, Field(ge=0, description="next_cursor of an earlier call, for more.")]
Record = dict[str, Any]


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

    @tool
    async def find_evidence(
        context: Context,
        claim: ClaimText,
        hops: Hops = "dynamic",
        kb: Kb = None,
        limit: Limit = 5,
        cursor: Cursor = None,
    ) -> Record:
        """Find the sentences that support or refute a claim, with a proof and a verdict.

        The result also has the titles of the best `documents`, what the evidence leaves open
        (`missing`), and why the search `stopped`.
        """
        service = await late.get()
        queue = service.queue(kb)
        with queue.reserve():
            async for event in service.follow(queue, claim, hops):
                if isinstance(event, Hop):
                    titles = ", ".join(dict.fromkeys(each.title for each in event.evidence))
                    said = f"Hop {event.number}: {titles}"
                    await context.report_progress(event.number, None, said)
                elif isinstance(event, RetrievalResult):
                    result = event
        pairs = [(sentence.title, sentence.text) for sentence in result.evidence]
        return {
            "claim": claim,
            **_judged(result.judgement or Judgement(False, None), pairs),
            "warnings": list(result.warnings),
            "stopped": result.stopped,
            "evidence": [_found(each.title, each.index, each.text) for each in result.evidence],
            **_page("documents", [each.title for each in result.documents], cursor, limit),
        }

    @tool
    async def prove(
        claim: ClaimText,
        evidence: Annotated[list[GivenSentence], Field(description="Sentences to prove it from.")],
        kb: Kb = None,
    ) -> Record:
        """Prove or refute a claim from given sentences."""
        pairs = [(sentence.title, sentence.text) for sentence in evidence]
        service = await late.get()
        judgement = await service.use(kb, lambda system: system.prove(claim, pairs))
        return {**_judged(judgement, pairs), "warnings": list(claim_notes(claim))}

    @tool
    async def check_citation(
        claim: ClaimText,
        source_text: Annotated[Text, Field(description="Text of the source.")],
        source_title: Annotated[str, Field(description="Title of the source.")] = "",
        page: Annotated[str, Field(description="Title of the page that cites it.")] = "",
    ) -> Record:
        """Check whether a source supports a claim that cites it, and what it lacks.

        The `decision` is keep, flag, or not_checked: the source says nothing. `finding` is
        supported, partly, contradicted or not_found; null if it was not checked.
        """
        from admiral.citations.decide import summary
        from admiral.serving.retrieval_routes import checked
        from admiral.sources import Source

        source = Source("https://source.invalid/", source_title, source_text)
        verdict = await checked(await late.get(), claim, source, page)
        (found,) = verdict.existing
        return {
            "decision": verdict.decision,
            "finding": verdict.finding,
            "summary": summary(verdict),
            "status": found.status,
            "probability": found.probability,
            "passage": "" if found.passage is None else _shortened(found.passage.text),
            "missing": list(found.missing),
            "denied_by": found.denied_by,
        }

    @tool
    async def search_titles(
        query: Annotated[ClaimText, Field(description="Words, or a part of a title.")],
        kb: Kb = None,
        limit: Limit = 10,
        cursor: Cursor = None,
    ) -> Record:
        """Find documents by words of titles and texts (BM25), each with its best sentence."""
        from admiral.kb.bm25.analysis import best_sentences

        def search(system: admiral.Admiral) -> Record:
            (found,) = system.kb.search([query], (cursor or 0) + limit + 1)
            page = _page("documents", [each.title for each in found], cursor, limit)
            documents = [system.kb.document(title) for title in page["documents"]]
            best = zip(documents, best_sentences(query, documents), strict=True)
            page["documents"] = [
                _found(document.title, *((each.index, each.text) if each else (0, "")))
                for document, each in best
            ]
            return page

        return await (await late.get()).use(kb, search)

    @tool
    async def read_document(
        title: Annotated[Text, Field(description="Exact title of the document.")],
        kb: Kb = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> Record:
        """Read the sentences of a document."""
        service = await late.get()
        document = await service.use(kb, lambda system: system.document(title))
        sentences = [_found(title, *each) for each in enumerate(document.sentences)]
        return {
            "title": document.title,
            "source": document.source,
            "total_sentences": len(sentences),
            **_page("sentences", sentences, cursor, limit),
        }

    return server


def _page(name: str, rows: list[Any], cursor: int | None, limit: int) -> Record:
    """Return the rows of a page, and the cursor for more; None at the end."""
    end = (cursor or 0) + limit
    return {name: rows[cursor or 0 : end], "next_cursor": end if end < len(rows) else None}


def _found(title: str, number: int, text: str) -> Record:
    return {"title": title, "sentence_id": number, "text": _shortened(text)}


def _judged(judgement: Judgement, evidence: Sequence[tuple[str, str]]) -> Record:
    """Return a judgement as in other records, with each step of its proof also in words."""
    proof, record = judgement.proof, json_of(judgement)
    words = [] if proof is None else proof.in_words(evidence)
    questions = [] if proof is None else proof.questions()
    return {
        **{key: record.get(key) for key in ("verdict", "sufficient", "conflict")},
        "proof": [
            {**step, "words": sentence}
            for step, sentence in zip(record["proof"] or (), words, strict=True)
        ],
        "missing": [question or span for span, question in questions],
        "comparisons": [one.reason for one in judgement.comparisons],
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
