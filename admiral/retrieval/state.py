"""What is known about one claim while it is processed, and the result once it has stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from types import MappingProxyType

from admiral.config import RetrievalConfig
from admiral.protocols import DocumentScorer, Stages
from admiral.records import (
    Claim,
    DocumentSet,
    Hop,
    Proximity,
    RankedDocument,
    RetrievalResult,
    ScoredTitle,
    Sentence,
    Stopped,
)
from admiral.retrieval.document_scorer import document_features
from admiral.retrieval.evidence import best_scores
from admiral.retrieval.fusion import rank_documents
from admiral.retrieval.mentions import interleaved
from proofs.judges.claim_form import form_warning
from trie import SafeTokenizer


class NextStep(Enum):
    """The next step of the hop loop for a claim that has not stopped."""

    FIRST_STAGE = auto()
    """Find candidate documents from the claim alone."""
    READ = auto()
    """Rerank the sentences of the documents, choose the evidence and judge it."""
    EXPAND = auto()
    """Find the document sets of the next hop."""


@dataclass(slots=True)
class SearchState:
    """The state of the search for one claim.

    Attributes
    ----------
    claim
        The claim.
    candidates
        The documents of the first stage, best first; None before it has run.
    claim_mentions
        The titles that the claim mentions.
    document_sets
        The document sets of each hop, best first; none from the second hop on without a generator.
    hops
        The completed hops.
    read
        The titles of the documents that each hop read, sorted by their best sentence.
    best_scores
        For each hop, the score of the best sentence of each document that it read.
    title_scores
        For each hop, the generative scores of the documents that it read: the log probability that
        the model, given the evidence of the hop before, names each of them.
    mentioned
        The titles that the evidence of each hop mentions.
    proximity
        For each hop, how close documents are in the graph to the claim and to the evidence that the
        hop has selected.
    graph_titles
        The titles of documents that are close in the graph to the evidence of the last hop.
    next_step
        What the hop loop does next, unless the claim has stopped.
    stopped
        Why the claim has stopped; None while it has not.
    """

    claim: Claim
    candidates: list[ScoredTitle] | None = None
    claim_mentions: list[str] = field(default_factory=list)
    document_sets: list[list[DocumentSet]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    read: list[list[str]] = field(default_factory=list)
    best_scores: list[dict[str, float]] = field(default_factory=list)
    title_scores: list[dict[str, float]] = field(default_factory=list)
    mentioned: list[list[str]] = field(default_factory=list)
    proximity: list[dict[str, Proximity]] = field(default_factory=list)
    graph_titles: list[str] = field(default_factory=list)
    next_step: NextStep = NextStep.FIRST_STAGE
    stopped: Stopped | None = None

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        """The evidence of the last hop."""
        return self.hops[-1].evidence if self.hops else ()

    @property
    def next_titles(self) -> list[str]:
        """The titles that the evidence of the last hop mentions."""
        return self.mentioned[-1] if self.mentioned else []

    def titles_to_read(self, count: int) -> list[str]:
        """Return the titles of the documents that the next hop reads.

        The first hop reads the candidates. Later hops read the documents of the evidence again,
        then, interleaved, the documents of the hop's sets, those that the evidence mentions, the
        candidates, and those that are close to the evidence in the graph: the claim may show only
        now that one of these matters.

        Parameters
        ----------
        count
            Maximum number of documents. There is always room for one in addition to the evidence.
        """
        candidates = [candidate.title for candidate in self.candidates or ()]
        if not self.hops:
            return candidates[:count]
        in_sets = list(dict.fromkeys(t for s in self.document_sets[-1] for t in s.titles))
        in_evidence = dict.fromkeys(sentence.title for sentence in self.evidence)
        new_titles = interleaved(in_sets, self.next_titles, candidates, self.graph_titles)
        return list(dict.fromkeys([*in_evidence, *new_titles]))[: max(count, len(in_evidence) + 1)]

    def kept_sentences(self) -> list[Sentence]:
        """Return the evidence that the next hop builds on, for the reranker to read.

        These are the best evidence sentences of the documents that the best document set keeps from
        the hop before: all of its documents but the last one, which is new. Without document sets,
        as many documents are kept, those of the best evidence.
        """
        if not self.hops:
            return []
        best = {s.title: s for s in reversed(self.evidence)}  # the first and best sentence wins
        if document_sets := self.document_sets[-1]:
            kept = document_sets[0].titles[:-1]
        else:
            kept = tuple(dict.fromkeys(s.title for s in self.evidence))[: len(self.hops)]
        return [best[title] for title in kept if title in best]

    def record_reading(
        self,
        sentences: Sequence[Sentence],
        title_scores: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Record the documents that a hop has read, with their scores.

        The first hop also defines its document sets, `D_1`: one set for each candidate, sorted by
        their best sentences; candidates that were not read come last.

        Parameters
        ----------
        sentences
            The sentences that the hop has scored, best first.
        title_scores
            The generative scores of the documents.
        """
        titles = list(dict.fromkeys(sentence.title for sentence in sentences))
        self.read.append(titles)
        self.best_scores.append(best_scores(sentences))
        self.title_scores.append(dict(title_scores))
        if not self.document_sets:
            rank = {title: number for number, title in enumerate(titles)}
            ordered = sorted(self.candidates or (), key=lambda c: rank.get(c.title, len(rank)))
            self.document_sets.append([DocumentSet((c.title,), c.score) for c in ordered])

    def with_hop(
        self,
        sentences: Sequence[Sentence],
        evidence: tuple[Sentence, ...],
        mentioned: list[str],
        title_scores: Mapping[str, float] = MappingProxyType({}),
    ) -> SearchState:
        """Return a copy that has completed one more hop, for trying out a choice of evidence.

        Parameters
        ----------
        sentences
            The sentences that the hop has scored, best first.
        evidence
            The sentences that it keeps.
        mentioned
            The titles that the evidence mentions.
        title_scores
            The generative scores of the documents that it has read.
        """
        hop = Hop(len(self.hops) + 1, (), evidence, None, False, 0.0)
        copy = replace(
            self,
            document_sets=[*self.document_sets],
            hops=[*self.hops, hop],
            read=[*self.read],
            best_scores=[*self.best_scores],
            title_scores=[*self.title_scores],
            mentioned=[*self.mentioned, mentioned],
            proximity=[*self.proximity],
            next_step=NextStep.EXPAND,
        )
        copy.record_reading(sentences, title_scores)
        return copy

    def first_hops(self, count: int) -> SearchState:
        """Return a copy that ends after the first `count` hops."""
        return replace(
            self,
            document_sets=self.document_sets[:count],
            hops=self.hops[:count],
            read=self.read[:count],
            best_scores=self.best_scores[:count],
            title_scores=self.title_scores[:count],
            mentioned=self.mentioned[:count],
            proximity=self.proximity[:count],
            next_step=NextStep.EXPAND if self.hops[:count] else self.next_step,
        )


# Number of characters of the unread part of a claim that a warning quotes.
_QUOTED = 60


def build_result(
    state: SearchState, stages: Stages, config: RetrievalConfig, tokens: SafeTokenizer
) -> RetrievalResult:
    """Return the result of a claim that has stopped.

    Parameters
    ----------
    state
        The search state of the claim.
    stages
        The stages; they state how much of a claim they read, and may score documents.
    config
        The settings.
    tokens
        The tokenizer of the checkpoint, which counts the tokens of the claim.
    """
    return RetrievalResult(
        state.claim,
        tuple(ranked_documents(state, config, stages.document_scorer)[: config.top_k]),
        state.evidence,
        tuple(state.hops),
        state.stopped or "dead_end",
        tuple(filter(None, [form_warning(state.claim.text)]))
        + cut_claim_warnings(state.claim.text, stages.claim_limits, tokens),
    )


def ranked_documents(
    state: SearchState, config: RetrievalConfig, scorer: DocumentScorer | None
) -> list[RankedDocument]:
    """Rank all documents that a search has found.

    Without hops, these are the candidates, in the order of the first stage.

    Parameters
    ----------
    state
        The search state of a claim.
    config
        The settings; `ranking` selects the rule.
    scorer
        Ranks the first documents again by their features; None to skip this.
    """
    if not state.hops:
        return [RankedDocument(each.title, each.score, 0) for each in state.candidates or ()]
    documents = rank_documents(
        state.document_sets,
        state.candidates or (),
        read=state.read,
        mentioned=state.mentioned,
        claim_mentions=state.claim_mentions,
        fused=config.ranking != "last-hop",
    )
    return documents if scorer is None else scorer.rank(documents, document_features(state))


def cut_claim_warnings(
    claim: str, limits: Mapping[str, int], tokens: SafeTokenizer
) -> tuple[str, ...]:
    """Return a warning if a claim is longer than some model reads.

    Parameters
    ----------
    claim
        The text of the claim.
    limits
        Number of tokens of a claim that each model reads, by the name of the model.
    tokens
        The tokenizer that counts. Those of other models split a text into about as many tokens.
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
