"""Retrieve sources for claims: BM25 and dense passages, fused into a ranking of pages.

`open_search` opens what the settings name: words, vectors or both. A query is the title of the page
with the claim, which SIDE (Petroni et al., 2023) found best for BM25. It can be expanded by another
title: a model writes that of the page that a claim may cite. As in SIDE, after Mao et al. (2021),
the model reads the claim in its context, and the first of 15 beams of at most 15 tokens is used. No
constraint limits the titles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from admiral.citations.citation_records import CitedClaim
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.claim_texts import ContextForm, claim_in_context
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint, choose_device, load_checkpoint
from admiral.requirements import MINILM
from admiral.retrieval.rerankers import MeanPoolingEncoder
from admiral.retrieval.stage_assembly import build_sentence_encoder
from admiral.sources import Passage, ScoredPassage, Source
from admiral.sources.canonical_urls import canonical
from admiral.sources.open_sources import Sources
from admiral.sources.passage_windows import STRIDE, WORDS, windows
from admiral.sources.source_filter import SourceFilter
from proofs.generation.proof_grammar import encode_source
from trie import SafeTokenizer, beam_search
from trie.grammar import Transitions
from trie.token_trie import Ints


class SourceCollection(Protocol):
    """Sources by URL, such as those of a knowledge base."""

    def source(self, url: str) -> Source | None:
        """Return the source with this URL, whatever its form, or None."""
        ...

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in the order of its text."""
        ...


class LoadedSources:
    """Sources in memory.

    `sources`: the sources; of several with one URL, the last counts.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {canonical(source.url): source for source in sources}

    def source(self, url: str) -> Source | None:
        """Return the source with this URL, or None."""
        return self._sources.get(canonical(url))

    def passages(self, url: str) -> tuple[Passage, ...]:
        """Return the passages of a source in the order of its text."""
        source = self.source(url)
        return () if source is None else cut_source(source)


def cut_source(source: Source, words: int = WORDS, stride: int = STRIDE) -> tuple[Passage, ...]:
    """Return the passages of a source."""
    return tuple(
        Passage(source.url, source.title, number, start, end, source.text[start:end])
        for number, (start, end) in enumerate(windows(source.text, words, stride))
    )


def passage_texts(passages: Iterable[Passage]) -> Sequence[str]:
    """Return what a passage is searched by: its title and its text."""
    return [f"{passage.title} {passage.text}" for passage in passages]


def claim_query(claim: CitedClaim) -> str:
    """Return the query of a claim: the title of its page, and the claim."""
    return _joined(claim.page, claim.claim)


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))


#: The usual constant of reciprocal rank fusion (Cormack et al., 2009).
RRF_CONSTANT = 60


def reciprocal_rank_fusion(rankings: Sequence[Sequence[ScoredPassage]]) -> list[ScoredPassage]:
    """Rank sources by the sum of ``1 / (60 + rank)`` over rankings of passages, best first.

    The rank of a source is that of its best passage. A source is represented by its passage in the
    first ranking that holds it, with the sum as the score. Sources are the same if their canonical
    URLs are. Equal sums keep the order in which the sources first occur.
    """
    scores: Counter[str] = Counter()
    passages: dict[str, Passage] = {}
    for ranking in rankings:
        urls = dict.fromkeys(canonical(scored.passage.url) for scored in ranking)
        scores.update({url: 1 / (RRF_CONSTANT + rank) for rank, url in enumerate(urls, start=1)})
        for scored in ranking:
            passages.setdefault(canonical(scored.passage.url), scored.passage)
    order = sorted(scores, key=lambda url: -scores[url])
    return [ScoredPassage(passages[url], scores[url]) for url in order]


#: Passages that each index returns for a query; as in SIDE.
PASSAGES = 100


class PassageIndex(Protocol):
    """An index of passages, sparse or dense."""

    def search(self, queries: Sequence[str], k: int) -> list[list[ScoredPassage]]:
        """Return the `k` best passages for each query, best first."""
        ...


class SourceSearch:
    """Find sources that may support claims.

    `sparse`, `dense`: indexes that are searched; None for none. `filter`: which sources are left
    out. `expander`: writes titles, which are added to the queries of the sparse index.
    """

    def __init__(
        self,
        texts: SourceCollection,
        *,
        sparse: PassageIndex | None,
        dense: PassageIndex | None = None,
        filter: SourceFilter | None = None,
        passages: int = PASSAGES,
        expander: TitleWriter | None = None,
    ) -> None:
        self._texts, self._sparse, self._dense = texts, sparse, dense
        self._filter, self._passages = filter or SourceFilter(), passages
        self._expander = expander

    def search(self, claims: Sequence[CitedClaim], k: int) -> list[tuple[str, list[ScoredPassage]]]:
        """Return the query of each claim, and a passage of each of the `k` best sources."""
        plain = list(map(claim_query, claims))
        queries = plain
        if self._expander is not None:
            queries = list(map(_joined, plain, self._expander.titles(claims)))
        rankings = [
            index.search(own, self._passages)
            for index, own in ((self._sparse, queries), (self._dense, plain))
            if index is not None
        ]
        results = []
        for claim, query, *own in zip(claims, queries, *rankings, strict=True):
            fused = reciprocal_rank_fusion(own)
            allowed = (each for each in fused if not self.blocks(claim, each.passage.url))
            results.append((query, list(islice(allowed, k))))
        return results

    def blocks(self, claim: CitedClaim, url: str) -> bool:
        """Return whether a page cannot be a source of a claim, as Wikipedia or a copy of it."""
        if self._filter.blocks_url(url):
            return True
        source = self._texts.source(url)
        context = f"{claim.before} {claim.claim} {claim.after}"
        return source is not None and self._filter.blocks(url, source.text, context)


def open_search(sources: Sources, config: CitationConfig) -> SourceSearch:
    """Return the search of the settings over a knowledge base."""
    expander = None
    if config.expander:
        try:
            checkpoint = load_checkpoint(config.expander, choose_device(config.device))
        except AdmiralError as error:
            raise AdmiralError(f"setting 'expander': {error}") from error
        expander = TitleWriter(checkpoint)
    return SourceSearch(
        sources,
        sparse=None if config.index == "dense" else sources,
        dense=None if config.index == "bm25" else sources.dense(open_encoder(config)),
        filter=SourceFilter(config.blocked_sites),
        passages=config.sparse_passages,
        expander=expander,
    )


def open_encoder(config: CitationConfig) -> MeanPoolingEncoder:
    """Return the encoder of passages of the settings."""
    runtime = RetrievalConfig(device=config.device, precision=config.precision)
    return build_sentence_encoder(runtime, config.encoder or MINILM)


#: What a model reads of a claim to write a title.
EXPANDER_CONTEXT: ContextForm = "sentence"
#: Beams, and tokens of a title; as in SIDE.
BEAMS, TITLE_TOKENS = 15, 15
_BRACKETS_AND_END = 3
_BATCH = 16


class TitleWriter:
    """Writes titles with a seq2seq model, such as the training program `retriever` trains."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._constraint = AnyTitle(self._tokens, self._model.vocab_size)

    def titles(self, claims: Sequence[CitedClaim]) -> list[str]:
        """Return the most probable title for each claim; empty if none ends in time."""
        titles = []
        longest = self._model.max_source
        for first in range(0, len(claims), _BATCH):
            texts = [
                claim_in_context(each, EXPANDER_CONTEXT) for each in claims[first : first + _BATCH]
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
