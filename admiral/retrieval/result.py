"""What the hops of a claim come to: its result, with the documents ranked."""

from __future__ import annotations

from admiral.config import RetrievalConfig
from admiral.models.checkpoint import Checkpoint
from admiral.ranking.document_scorer import Relevance
from admiral.ranking.features import document_clues
from admiral.ranking.fusion import rank_documents
from admiral.records import RankedDocument, RetrievalResult
from admiral.reranking.cross_encoder import claim_tokens
from admiral.reranking.similarity import CLAIM_TOKENS
from admiral.retrieval.state import Progress
from proofs.generation.source_input import claim_room


def answer(
    progress: Progress,
    config: RetrievalConfig,
    checkpoint: Checkpoint,
    relevance: Relevance | None,
) -> RetrievalResult:
    """Return the result of a claim that has stopped, its documents ranked as `ranked` says."""
    return RetrievalResult(
        progress.claim,
        tuple(ranked(progress, config, relevance)[: config.top_k]),
        progress.evidence,
        tuple(progress.hops),
        progress.stopped or "dead_end",
        _warnings(progress.claim.text, config, checkpoint),
    )


def ranked(
    progress: Progress, config: RetrievalConfig, relevance: Relevance | None
) -> list[RankedDocument]:
    """Rank all documents that the hops of a claim have found.

    Parameters
    ----------
    config
        Says by which rule.
    relevance
        What ranks the first of them in the end; None for the votes, or the order of the last hop.
    """
    found = rank_documents(
        progress.sets,
        progress.candidates or (),
        read=progress.read,
        linked=progress.linked,
        named=progress.named,
        fused=config.ranking != "last-hop",
    )
    return found if relevance is None else relevance.rank(found, document_clues(progress))


def _warnings(claim: str, config: RetrievalConfig, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Say which stages a claim is too long for, and which end of it not all of them read."""
    tokens = checkpoint.tokens
    reads = {"the hop retriever": claim_room(tokens, "retrieve", checkpoint.model.max_source // 2)}
    if config.reranker in ("combined", "cross-encoder"):
        reads["the cross-encoder"] = claim_tokens(checkpoint)
    if config.reranker in ("combined", "similarity"):
        # Of tokens of its own: of the same text there are about as many.
        reads["the sentence encoder"] = CLAIM_TOKENS
    _, spans = tokens.encode_with_offsets(claim)
    rooms = sorted((room, stage) for stage, room in reads.items() if room < len(spans))
    if not rooms:
        return ()
    rest = claim[spans[rooms[0][0]][0] :]
    shown = rest if len(rest) <= 60 else rest[:60] + "…"
    each = ", ".join(f"{stage} reads {room}" for room, stage in rooms)
    return (f"of the claim's {len(spans)} tokens {each}; cut from: {shown!r}",)
