"""Retrieve sources for claims: BM25 and dense passages, fused into a ranking of pages.

`open_search` opens what the settings name: words, vectors or both. A query can be expanded by a
title: a model writes that of the page that a claim may cite. As in SIDE (Petroni et al., 2023,
after Mao et al., 2021), the model reads the claim in its context, and the first of 15 beams of at
most 15 tokens is used. No constraint limits the titles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast

import numpy as np

from admiral.citations.citation_records import CitedClaim, ContextForm, claim_in_context
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.source_collections import SourceCollection
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from admiral.library import Library, ScoredPassage
from admiral.library.canonical_urls import canonical
from admiral.library.open_library import SourceFilter, blocked_sites
from admiral.models.checkpoint import Checkpoint, choose_device, load_checkpoint
from admiral.retrieval.rerankers import MeanPoolingEncoder
from admiral.retrieval.stage_assembly import build_passage_encoder
from proofs.generation.proof_grammar import encode_source
from trie import SafeTokenizer, beam_search
from trie.grammar import Transitions
from trie.token_trie import Ints


@dataclass(frozen=True, slots=True)
class QueryForm:
    """The parts of a query in addition to the claim."""

    # whether it holds the title of the page. With it alone, the query is the one that SIDE found
    # best for BM25.
    title: bool = True
    section: bool = False  # whether it holds the headings above the claim
    sentences: int | None = 0  # number of sentences before the claim; None for the whole context


#: The forms that `benchmarks.citation_retrieval` compares, by name.
QUERY_FORMS = {
    "claim": QueryForm(title=False),
    "title": QueryForm(),
    "section": QueryForm(section=True),
    "sentence": QueryForm(sentences=1),
    "context": QueryForm(sentences=None),
}


def claim_query(claim: CitedClaim, form: QueryForm) -> str:
    """Return the query of a claim: title, headings, sentences before, claim."""
    parts = [claim.page] if form.title else []
    if form.section:
        parts += claim.section
    if form.sentences is None:
        parts.append(claim.before)
    elif form.sentences:
        parts += split_sentences(claim.before)[-form.sentences :]
    return " ".join(part for part in (*parts, claim.claim) if part)


#: The usual constant of reciprocal rank fusion (Cormack et al., 2009).
RRF_CONSTANT = 60

Fusion = Literal["union", "rrf"]
#: What a generated title does to a query: nothing, it stands beside the query, or in its place.
Expansion = Literal["claim", "both", "title"]


def best_passages(found: Sequence[ScoredPassage]) -> list[ScoredPassage]:
    """Return the best passage of each source, best first: the rank of a source is that of it.

    Sources are the same if their canonical URLs are. Of equal scores, the first counts.
    """
    best: dict[str, ScoredPassage] = {}
    for scored in found:
        best.setdefault(canonical(scored.passage.url), scored)
    return list(best.values())


def union(rankings: Sequence[Sequence[ScoredPassage]]) -> list[ScoredPassage]:
    """Return the best passage of each source of all rankings, in turns: the firsts, the seconds...

    SIDE leaves the order to its verifier. Scores are those of the ranking that is first in turn.
    """
    ranked = [best_passages(ranking) for ranking in rankings]
    longest = max(map(len, ranked), default=0)
    turns = [ranking[rank] for rank in range(longest) for ranking in ranked if rank < len(ranking)]
    return best_passages(turns)


def reciprocal_rank_fusion(rankings: Sequence[Sequence[ScoredPassage]]) -> list[ScoredPassage]:
    """Rank sources by the sum of ``1 / (60 + rank)`` over rankings of passages, best first.

    A source is represented by its passage in the first ranking that holds it, with the sum as the
    score. Equal sums keep the order in which the sources first occur.
    """
    scores: dict[str, float] = {}
    passages: dict[str, ScoredPassage] = {}
    for ranking in rankings:
        for rank, scored in enumerate(best_passages(ranking), start=1):
            url = canonical(scored.passage.url)
            scores[url] = scores.get(url, 0.0) + 1 / (RRF_CONSTANT + rank)
            passages.setdefault(url, scored)
    order = sorted(scores, key=lambda url: -scores[url])
    return [ScoredPassage(passages[url].passage, scores[url]) for url in order]


#: Passages that each index returns for a query; as in SIDE.
PASSAGES = 100


class PassageIndex(Protocol):
    """An index of passages, sparse or dense."""

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages for each query, best first."""
        ...


class SourceSearch:
    """Find sources that may support claims.

    `sparse`, `dense`: indexes that are searched; None for none. `fusion`: how both rankings of
    pages become one: by reciprocal ranks (``rrf``), or in turns (``union``). `filter`: which
    sources are left out. `expander`, `expansion`: writes titles, and what they do to the query of
    the sparse index; the dense one is searched for the claim.
    """

    def __init__(
        self,
        texts: SourceCollection,
        *,
        sparse: PassageIndex | None,
        dense: PassageIndex | None = None,
        form: QueryForm | None = None,
        fusion: Fusion = "rrf",
        filter: SourceFilter | None = None,
        passages: int = PASSAGES,
        expander: TitleWriter | None = None,
        expansion: Expansion = "both",
    ) -> None:
        self._texts, self._sparse, self._dense = texts, sparse, dense
        self._form = form or QueryForm()
        self._fuse = union if fusion == "union" else reciprocal_rank_fusion
        self._filter, self._passages = filter or SourceFilter(), passages
        self._expander, self._expansion = expander, expansion

    def search(self, claims: Sequence[CitedClaim], k: int) -> list[list[ScoredPassage]]:
        """Return the best passage of each of the `k` best sources for each claim."""
        return [found for _, found in self._search(claims, k)]

    def candidates(self, claims: Sequence[CitedClaim], k: int) -> list[tuple[str, tuple[str, ...]]]:
        """Return the query of each claim and the URLs of at most `k` sources, best first."""
        return [
            (query, tuple(scored.passage.url for scored in found))
            for query, found in self._search(claims, k)
        ]

    def blocks(self, claim: CitedClaim, url: str) -> bool:
        """Return whether a page cannot be a source of a claim, as Wikipedia or a copy of it."""
        if self._filter.blocks_url(url):
            return True
        source = self._texts.source(url)
        return source is not None and self._filter.blocks(url, source.text, _context(claim))

    def _search(
        self, claims: Sequence[CitedClaim], k: int
    ) -> list[tuple[str, list[ScoredPassage]]]:
        plain = [claim_query(claim, self._form) for claim in claims]
        queries = self._expanded(claims, plain)
        rankings = [
            index.search(own, self._passages)
            for index, own in ((self._sparse, queries), (self._dense, plain))
            if index is not None
        ]
        return [
            (query, self._allowed(claim, self._fuse([ranking[n] for ranking in rankings]), k))
            for n, (claim, query) in enumerate(zip(claims, queries, strict=True))
        ]

    def _expanded(self, claims: Sequence[CitedClaim], queries: list[str]) -> list[str]:
        if self._expander is None or self._expansion == "claim":
            return queries
        alone = self._expansion == "title"
        rows = zip(queries, self._expander.titles(claims), strict=True)
        return [
            (title if alone else f"{query} {title}") if title else query for query, title in rows
        ]

    def _allowed(
        self, claim: CitedClaim, ranking: Sequence[ScoredPassage], k: int
    ) -> list[ScoredPassage]:
        allowed: list[ScoredPassage] = []
        for scored in ranking:
            if len(allowed) == k:
                break
            if not self.blocks(claim, scored.passage.url):
                allowed.append(scored)
        return allowed


def _context(claim: CitedClaim) -> str:
    return f"{claim.before} {claim.claim} {claim.after}"


#: What a model reads to write a title: the title of the page, the sentence before, and the claim.
EXPANDER_CONTEXT: ContextForm = "sentence"


def open_search(library: Library, config: CitationConfig) -> SourceSearch:
    """Return the search of the settings over a library.

    Raises AdmiralError if a model of the settings cannot be opened, or the library has no vectors
    of the encoder.
    """
    expander = None
    if config.expander:
        try:
            checkpoint = load_checkpoint(config.expander, choose_device(config.device))
        except AdmiralError as error:
            raise AdmiralError(f"setting 'expander': {error}") from error
        expander = TitleWriter(checkpoint, EXPANDER_CONTEXT)
    return SourceSearch(
        library,
        sparse=None if config.index == "dense" else library,
        dense=None if config.index == "bm25" else library.dense(open_encoder(config)),
        form=QUERY_FORMS[config.query],
        fusion=cast(Fusion, config.fusion),
        filter=SourceFilter(blocked=blocked_sites(config.blocked_sites)),
        passages=config.sparse_passages,
        expander=expander,
        expansion=cast(Expansion, config.expansion),
    )


def open_encoder(config: CitationConfig) -> MeanPoolingEncoder:
    """Return the encoder of passages of the settings.

    Raises AdmiralError if it is no encoder with mean pooling, or is not installed.
    """
    runtime = RetrievalConfig(device=config.device, precision=config.precision)
    return build_passage_encoder(runtime, Path(config.encoder) if config.encoder else None)


#: Beams, and tokens of a title; as in SIDE.
BEAMS, TITLE_TOKENS = 15, 15
_BRACKETS_AND_END = 3
_BATCH = 16


class TitleWriter:
    """Writes titles with a seq2seq model, such as `training.retriever` trains.

    `context`: how much of the context of a claim the model reads.
    """

    def __init__(self, checkpoint: Checkpoint, context: ContextForm = "sentence") -> None:
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._context = context
        self._constraint = AnyTitle(self._tokens, self._model.vocab_size)

    def titles(self, claims: Sequence[CitedClaim]) -> list[str]:
        """Return the most probable title for each claim; empty if none ends in time."""
        titles = []
        longest = self._model.max_source
        for first in range(0, len(claims), _BATCH):
            texts = [
                claim_in_context(each, self._context) for each in claims[first : first + _BATCH]
            ]
            inputs = [
                encode_source(self._tokens, "retrieve", text, (), longest, 0).ids for text in texts
            ]
            found = beam_search(
                self._model,
                inputs,
                [self._constraint] * len(inputs),
                beam_size=BEAMS,
                max_length=min(TITLE_TOKENS + _BRACKETS_AND_END, self._model.max_target),
            )
            titles += [
                self._tokens.decode(hypotheses[0].tokens[1:-2]).strip() if hypotheses else ""
                for hypotheses in found
            ]
        return titles


class AnyTitle:
    """A `trie.Constraint` that accepts any tokens in brackets.

    `vocabulary`: number of tokens of the model.
    """

    start = 0

    def __init__(self, tokens: SafeTokenizer, vocabulary: int) -> None:
        opening, closing = tokens.single_token("["), tokens.single_token("]")
        special = (closing, tokens.eos)
        ordinary = np.array([t for t in range(vocabulary) if t not in special], np.int64)
        inside = np.sort(np.append(ordinary, closing))
        after = np.where(inside == closing, 3, 2)
        self._arcs = [
            (np.array([opening]), np.array([1])),
            (ordinary, np.full(len(ordinary), 2)),
            (inside, after),
            (np.array([tokens.eos]), np.array([4])),
            (np.empty(0, np.int64), np.empty(0, np.int64)),
        ]

    def transitions(self, states: Ints) -> Transitions:
        """Return the transitions from each of `states`."""
        arcs = [self._arcs[state] for state in states.tolist()]
        return Transitions(
            np.concatenate([tokens for tokens, _ in arcs]),
            np.concatenate([following for _, following in arcs]),
            np.array([len(tokens) for tokens, _ in arcs]),
        )
