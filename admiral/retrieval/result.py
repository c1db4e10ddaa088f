"""The result of a finished search: ranked documents, evidence, warnings about truncated claims."""

from __future__ import annotations

from collections.abc import Mapping

from admiral.config import RetrievalConfig
from admiral.io.claim_notes import claim_notes
from admiral.protocols import DocumentScorer, Stages
from admiral.records import RankedDocument, RetrievalResult
from admiral.retrieval.document_ranking import document_features, rank_documents
from admiral.retrieval.state import SearchState
from trie import SafeTokenizer

# Number of characters of the unread part of a claim that a warning quotes.
_QUOTED = 60


def build_result(
    state: SearchState, stages: Stages, config: RetrievalConfig, tokens: SafeTokenizer
) -> RetrievalResult:
    """Return the result of a claim that has stopped."""
    return RetrievalResult(
        state.claim,
        tuple(ranked_documents(state, config, stages.document_scorer)[: config.top_k]),
        state.evidence,
        tuple(state.hops),
        state.stopped or "dead_end",
        claim_notes(state.claim.text)
        + cut_claim_warnings(state.claim.text, stages.claim_limits, tokens),
    )


def ranked_documents(
    state: SearchState, config: RetrievalConfig, scorer: DocumentScorer | None
) -> list[RankedDocument]:
    """Rank all documents that a search has found; a scorer then ranks the first of them again.

    Without hops, these are the candidates, in the order of the first stage.
    """
    if not state.records:
        return [RankedDocument(each.title, each.score, 0) for each in state.candidates or ()]
    documents = rank_documents(
        [record.document_sets for record in state.records],
        state.candidates or (),
        read=[record.hop.read for record in state.records],
        mentioned=[record.mentioned for record in state.records],
        claim_mentions=state.claim_mentions,
        fused=config.ranking != "last-hop",
    )
    return documents if scorer is None else scorer.rank(documents, document_features(state))


def cut_claim_warnings(
    claim: str, limits: Mapping[str, int], tokens: SafeTokenizer
) -> tuple[str, ...]:
    """Return a warning if a claim is longer than some model reads.

    The limits are numbers of tokens by the name of the model. Other models than that of the
    tokenizer, which counts, split a text into about as many tokens.
    """
    if not limits:
        return ()
    _, spans = tokens.encode_with_offsets(claim)
    exceeded = sorted((limit, name) for name, limit in limits.items() if limit < len(spans))
    if not exceeded:
        return ()
    unread = claim[spans[exceeded[0][0]][0] :]
    quoted = unread if len(unread) <= _QUOTED else unread[:_QUOTED] + "…"
    readers = ", ".join(f"{name} reads {limit}" for limit, name in exceeded)
    return (f"of the claim's {len(spans)} tokens {readers}; cut from: {quoted!r}",)
