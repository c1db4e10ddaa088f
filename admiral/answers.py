"""What the hops of a claim come to: its result, with the documents ranked."""

from __future__ import annotations

from admiral.checkpoint import Checkpoint
from admiral.config import RetrievalConfig
from admiral.progress import Progress
from admiral.records import RetrievalResult
from admiral.stages.mentions import MentionFinder
from admiral.stages.ranking import rank_documents
from trie.inputs import claim_ids


def answer(
    progress: Progress,
    config: RetrievalConfig,
    checkpoint: Checkpoint,
    mentions: MentionFinder | None,
) -> RetrievalResult:
    """Return the result of a claim that has stopped; `mentions` finds the documents it names."""
    text = progress.claim.text
    ranking = rank_documents(
        progress.sets,
        progress.candidates or (),
        config.top_k,
        read=progress.read,
        linked=progress.linked,
        named=mentions.in_text(text) if mentions else (),
        fused=config.ranking == "fused",
    )
    return RetrievalResult(
        progress.claim,
        tuple(ranking),
        progress.evidence,
        tuple(progress.hops),
        progress.stopped or "dead_end",
        _warnings(text, checkpoint),
    )


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
