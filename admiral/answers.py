"""What the hops of a claim come to: its result, with the documents ranked."""

from __future__ import annotations

from admiral.checkpoint import Checkpoint
from admiral.config import RetrievalConfig
from admiral.progress import Progress
from admiral.records import RankedDocument, RetrievalResult
from admiral.stages.clues import document_clues
from admiral.stages.ranking import rank_documents
from admiral.stages.relevance import Relevance
from trie.inputs import claim_ids


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
        _warnings(progress.claim.text, checkpoint),
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
        What ranks them in the end; None for the votes, or the order of the last hop.
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


def _warnings(claim: str, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Say which end of a claim the model did not see."""
    tokens = checkpoint.tokens
    ids, cut = claim_ids(tokens, "retrieve", claim, checkpoint.model.max_source // 2)
    if not cut:
        return ()
    seen = len(ids) - 2 - (tokens.task("retrieve") is not None)
    _, spans = tokens.encode_with_offsets(claim)
    rest = claim[spans[seen][0] :]
    shown = rest if len(rest) <= 60 else rest[:60] + "…"
    return (
        f"the claim has {len(spans)} tokens, the model reads {seen} of them beside evidence; "
        f"cut from: {shown!r}",
    )
