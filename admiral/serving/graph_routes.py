"""Graph retrieval for a claim over the documents that name each other."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response

from admiral.errors import AdmiralError
from admiral.graph import ClaimSubgraph, GraphRanker, MentionGraph, SubgraphOptions
from admiral.graph.graph_records import ranking_record, sentences_at, set_record
from admiral.kb import KnowledgeBase
from admiral.serving.problems import ProblemError
from admiral.serving.request_models import GraphRequest
from admiral.serving.service import Service
from admiral.storage.atomic_files import encode_record

router = APIRouter(prefix="/v1", tags=["retrieval"])


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
            return _query(system.kb, body)

    with queue.reserve():
        record = await asyncio.wait_for(asyncio.to_thread(query), service.limits.deadline)
    return Response(encode_record(record), media_type="application/json")


def _query(kb: KnowledgeBase, body: GraphRequest) -> dict[str, Any]:
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
