"""The search: find documents, read them, choose evidence, judge it, and hop again."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.protocols import OnStage, OnTiming, timed, timing_stages
from admiral.records import Claim, DocumentSet, Hop, ScoredTitle, Sentence, Stopped
from admiral.retrieval.document_ranking import document_features
from admiral.retrieval.stage_assembly import Stages
from admiral.retrieval.state import (
    SearchState,
    boost_mentioned,
    choose_evidence,
    evidence_count,
    missing_openings,
    reweighted,
)

Scored = TypeVar("Scored", Sentence, DocumentSet, ScoredTitle)


def checked_scores(stage: str, scored: Iterable[Scored]) -> list[Scored]:
    """Return the output of a stage with its scores as Python floats.

    Entries with a score of minus infinity are left out. NumPy scalars are converted, because JSON
    cannot hold them.

    Raises AdmiralError if another score is not finite.
    """
    kept = []
    for entry in scored:
        score = float(entry.score)
        if math.isfinite(score):
            kept.append(entry if type(entry.score) is float else replace(entry, score=score))
        elif score != -math.inf:
            raise AdmiralError(
                f"stage {stage!r}: a score is {score}, of {entry}. Return finite scores, or minus "
                "infinity for entries to leave out."
            )
    return kept


logger = logging.getLogger(__name__)


class Search:
    """Search for the evidence of claims, hop by hop.

    - `on_stage`: receives a short text when a stage begins, such as ``Hop 2: reading 40
      documents``, and the claims that share it.
    - `on_hop`: receives each claim with the hop that it has completed.
    - `on_timing`: receives the duration of each stage, and of ``hop``, all stages of a hop.
    """

    def __init__(
        self,
        stages: Stages,
        config: RetrievalConfig,
        on_stage: OnStage | None = None,
        on_hop: Callable[[Claim, Hop], None] | None = None,
        on_timing: OnTiming | None = None,
    ) -> None:
        self._stages, self._config = stages, config
        self._on_stage, self._on_hop, self._on_timing = on_stage, on_hop, on_timing
        self._max_hops = config.max_hops if config.hops == "dynamic" else int(config.hops)

    def run(self, claims: Sequence[Claim]) -> list[SearchState]:
        """Search for a batch of claims, which leave it as they stop; return their states."""
        states = [SearchState(claim) for claim in claims]
        with timing_stages(self._on_timing, len(states)):
            self._find_candidates(states)
        for number in range(1, self._max_hops + 1):
            if not (searching := _not_stopped(states)):
                break
            started = time.perf_counter()
            with timing_stages(self._on_timing, len(searching)), timed("hop"):
                if number > 1:
                    self._find_next(searching, number)
                    searching = _not_stopped(searching)
                if searching:
                    sentences = self._read(searching, number)
                    with timed("evidence"):
                        for state, scored in zip(searching, sentences, strict=True):
                            self._choose_evidence(state, scored)
                    self._judge(searching, number, started)
        return states

    def _find_candidates(self, batch: Sequence[SearchState]) -> None:
        """Find the titles that the claims mention, and run the first stage."""
        self._report(batch, 1, "searching for candidates")
        claims = [state.claim.text for state in batch]
        finder = self._stages.mention_finder
        with timed("mentions"):
            mentions = [finder.in_text(claim) if finder is not None else [] for claim in claims]
        with timed("first_stage"):
            candidates = self._stages.first_stage.candidates(
                claims, mentions, self._config.first_stage_documents
            )
        for state, titles, scored in zip(batch, mentions, candidates, strict=True):
            state.claim_mentions = titles
            state.candidates = checked_scores("first_stage", scored)
            if self._max_hops == 0:
                state.stopped = "max_hops"

    def _find_next(self, batch: Sequence[SearchState], number: int) -> None:
        """Find the documents of the next hop; claims for which none are generated stop.

        Without a generator, hops have no document sets and read mentions and candidates only.
        """
        self._report(batch, number, "generating documents")
        claims = [state.claim.text for state in batch]
        leading = [state.leading for state in batch]
        retriever, graph = self._stages.hop_retriever, self._stages.graph
        if retriever is not None:
            hops = [len(state.records) for state in batch]
            expanded = retriever.expand(claims, leading, hops)
            for state, scored in zip(batch, expanded, strict=True):
                state.next_sets = checked_scores("hop_retriever", scored)
                if not state.next_sets:
                    state.stopped = "dead_end"
        if graph is not None:
            with timed("graph"):
                close = graph.rank(claims, leading, self._config.rerank_documents)
            for state, titles in zip(batch, close, strict=True):
                state.graph_titles = titles

    def _read(self, batch: Sequence[SearchState], number: int) -> list[list[Sentence]]:
        """Return the scored sentences of the documents that each claim reads, best first."""
        claims = [state.claim.text for state in batch]
        kept = [state.kept_sentences() for state in batch]
        with timed("documents"):
            titles = [state.titles_to_read(self._config.rerank_documents) for state in batch]
            documents = self._stages.document_reader.read(claims, kept, titles)
        self._report(batch, number, f"reading {sum(map(len, documents))} documents")
        with timed("sentences"):
            reranked = self._stages.reranker.score(claims, documents, kept)
        return [
            boost_mentioned(checked_scores("reranker", scored), state.next_titles)
            for state, scored in zip(batch, reranked, strict=True)
        ]

    def _choose_evidence(self, state: SearchState, scored: Sequence[Sentence]) -> None:
        """Add a hop to a claim that keeps the best of the sentences."""
        state.add_hop(scored)
        self._keep_best(state, scored)
        # The features of the document scorer describe a hop with its evidence. So a first choice,
        # by the sentences alone, provides the features for the final one.
        scorer = self._stages.document_scorer
        if scorer is not None:
            features = document_features(state)
            titles = dict.fromkeys(sentence.title for sentence in scored)
            relevance = {title: scorer.score(features[title]) for title in titles}
            self._keep_best(state, reweighted(scored, relevance))

    def _keep_best(self, state: SearchState, scored: Sequence[Sentence]) -> None:
        """Make the best sentences the evidence of the last hop, with what they lead to."""
        config, stages, record = self._config, self._stages, state.records[-1]
        most = min(config.max_evidence, stages.max_evidence or config.max_evidence)
        count = evidence_count(state.claim.text, config.evidence, most)
        evidence = choose_evidence(scored, count, config.evidence_per_document)
        earlier, record.leading = record.leading, evidence[: config.evidence]
        if [s.key for s in record.leading] != [s.key for s in earlier]:
            if stages.mention_finder is not None:
                record.mentioned = stages.mention_finder.in_evidence(record.leading)
            if stages.graph is not None and stages.document_scorer is not None:
                (record.proximity,) = stages.graph.proximity(
                    [state.claim.text], [record.leading], [state.found_titles]
                )
        openings = missing_openings(scored, evidence, state.named_titles)
        record.hop = replace(record.hop, evidence=(*evidence, *openings)[: max(count, most)])

    def _judge(self, batch: Sequence[SearchState], number: int, started: float) -> None:
        """Judge the evidence of each claim, and stop the claims that it is enough for."""
        self._report(batch, number, "judging the evidence")
        claims = [state.claim.text for state in batch]
        evidence = [[(s.title, s.text) for s in state.evidence] for state in batch]
        with timed("proof"):
            judgements = self._stages.judge.judge(claims, evidence)
        seconds = (time.perf_counter() - started) / len(batch)
        for state, pairs, judgement in zip(batch, evidence, judgements, strict=True):
            record = state.records[-1]
            places = [sentence.index for sentence in state.evidence]
            record.hop = hop = record.hop.judged(
                judgement.located(state.claim.text, pairs, places),
                document_sets=tuple(record.document_sets[: self._config.beam_size]),
                seconds=seconds,
            )
            state.stopped = self._stop_reason(state)
            if self._on_hop is not None:
                self._on_hop(state.claim, hop)
            logger.debug(
                "claim %s, hop %d: read %d documents in %.2f s; evidence from %s; %s",
                *(state.claim.id, number, len(hop.read), seconds),
                ", ".join(dict.fromkeys(s.title for s in hop.evidence)) or "none",
                state.stopped or "another hop",
            )

    def _stop_reason(self, state: SearchState) -> Stopped | None:
        if not state.evidence:
            return "dead_end"
        dynamic = self._config.hops == "dynamic"
        reason = stop_reason(state.hops, self._config) if dynamic else None
        return "max_hops" if reason is None and len(state.hops) == self._max_hops else reason

    def _report(self, batch: Sequence[SearchState], number: int, stage: str) -> None:
        if self._on_stage is not None:
            who = f"Hop {number}" if len(batch) == 1 else f"{len(batch)} claims"
            self._on_stage(f"{who}: {stage}", [state.claim for state in batch])


def stop_reason(hops: Sequence[Hop], config: RetrievalConfig) -> Stopped | None:
    """Return why a dynamic search stops after hops, or None if it continues with those left.

    It stops if the evidence is sufficient, before the setting `min_hops` only if one sentence alone
    gives the verdict with the probability `stop_early_at`; or if a hop has changed nothing.
    """
    *earlier, last = hops
    if last.sufficient:
        is_early = last.number < min(config.min_hops, config.max_hops)
        if not is_early or (last.alone or 0.0) >= config.stop_early_at:
            return "sufficient"
    repeated = earlier and last.repeats(earlier[-1])
    return "dead_end" if repeated and last.number < config.max_hops else None


def _not_stopped(states: Sequence[SearchState]) -> list[SearchState]:
    return [state for state in states if state.stopped is None]
