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
from admiral.protocols import Documents, OnStage, OnTiming, Stages, timed, timing_stages
from admiral.records import (
    Claim,
    Document,
    DocumentSet,
    Hop,
    ScoredTitle,
    Sentence,
    Stopped,
)
from admiral.retrieval.document_ranking import document_features, found_titles
from admiral.retrieval.first_stage import mentions_in_texts
from admiral.retrieval.state import (
    HopRecord,
    SearchState,
    boost_mentioned,
    choose_evidence,
    evidence_count,
    reweighted,
)

# Larger scores are refused, so that sums and squares of scores stay finite.
_MAX_SCORE = 1e100

Scored = TypeVar("Scored", Sentence, DocumentSet, ScoredTitle)


def checked_sentences(
    reranked: Iterable[Sequence[Sentence]], documents: Sequence[Sequence[Document]]
) -> list[Sequence[Sentence]]:
    """Return the output of the reranker, which has sentences for each claim that has documents.

    A reranker may leave sentences out. If it left out all of them, the search would end as if
    nothing had been found.

    Raises AdmiralError if there is not one list for each claim, or none of the sentences of a
    claim.
    """
    results = list(reranked)
    if len(results) != len(documents):
        raise AdmiralError(
            f"stage 'reranker': returned sentences for {len(results)} claims instead of "
            f"{len(documents)}. Return one list for each claim."
        )
    for sentences, read in zip(results, documents, strict=True):
        if not sentences and any(s.strip() for document in read for s in document.sentences):
            raise AdmiralError(
                f"stage 'reranker': returned none of the sentences of {read[0].title!r} and "
                f"{len(read) - 1} other documents. Return them with scores, or with minus infinity "
                "to leave them out."
            )
    return results


def checked_scores(stage: str, scored: Iterable[Scored]) -> list[Scored]:
    """Return the output of a stage with its scores as Python floats.

    Entries with a score of minus infinity are left out. NumPy scalars are converted, because JSON
    cannot hold them.

    Raises AdmiralError if a score is not a number, or is infinite or too large.
    """
    kept = []
    for entry in scored:
        score = float(entry.score)
        if abs(score) <= _MAX_SCORE:
            kept.append(entry if type(entry.score) is float else replace(entry, score=score))
        elif score != -math.inf:
            raise AdmiralError(
                f"stage {stage!r}: the score of {_name(entry)} is {score}. Return finite scores, "
                "or minus infinity for entries to leave out."
            )
    return kept


def _name(entry: Sentence | DocumentSet | ScoredTitle) -> str:
    if isinstance(entry, DocumentSet):
        return " + ".join(map(repr, entry.titles))
    if isinstance(entry, Sentence):
        return f"sentence {entry.index} of {entry.title!r}"
    return repr(entry.title)


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
        documents: Documents,
        stages: Stages,
        config: RetrievalConfig,
        on_stage: OnStage | None = None,
        on_hop: Callable[[Claim, Hop], None] | None = None,
        on_timing: OnTiming | None = None,
    ) -> None:
        self._documents, self._stages, self._config = documents, stages, config
        self._on_stage, self._on_hop, self._on_timing = on_stage, on_hop, on_timing
        self._dynamic = config.hops == "dynamic"
        self._max_hops = config.max_hops if self._dynamic else int(config.hops)
        limit = stages.max_evidence
        self._max_evidence = (
            config.max_evidence if limit is None else min(config.max_evidence, limit)
        )

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
                    self._find_next(searching)
                    searching = _not_stopped(searching)
                if searching:
                    scored = self._read(searching)
                    records = self._choose_evidence(searching, scored)
                    self._judge(searching, records, started)
        return states

    def _find_candidates(self, batch: Sequence[SearchState]) -> None:
        """Find the titles that the claims mention, and run the first stage."""
        self._report(batch, "searching for candidates")
        claims = [state.claim.text for state in batch]
        with timed("mentions"):
            mentions = mentions_in_texts(self._stages.mention_finder, claims)
        with timed("first_stage"):
            candidates = self._stages.first_stage.candidates(
                claims, mentions, self._config.first_stage_documents
            )
        for state, titles, scored in zip(batch, mentions, candidates, strict=True):
            state.claim_mentions = titles
            state.candidates = checked_scores("first_stage", scored)
            if self._max_hops == 0:
                state.stopped = "max_hops"

    def _find_next(self, batch: Sequence[SearchState]) -> None:
        """Find the document sets of the next hop; claims that get none stop.

        Without a generator, hops have no document sets and read mentions and candidates only.
        """
        self._report(batch, "generating documents")
        claims = [state.claim.text for state in batch]
        leading = [state.leading for state in batch]
        expanded = self._stages.hop_retriever.expand(
            claims, leading, [len(state.records) for state in batch]
        )
        if self._stages.graph is not None:
            with timed("graph"):
                close = self._stages.graph.rank(claims, leading, self._config.rerank_documents)
            for state, titles in zip(batch, close, strict=True):
                state.graph_titles = titles
        for state, scored in zip(batch, expanded, strict=True):
            state.next_sets = checked_scores("hop_retriever", scored)
            if not state.next_sets and self._config.generator:
                state.stopped = "dead_end"

    def _read(self, batch: Sequence[SearchState]) -> list[list[Sentence]]:
        """Return the scored sentences of the documents that each claim reads, best first."""
        claims = [state.claim.text for state in batch]
        with timed("documents"):
            documents = self._documents_to_read(batch)
        self._report(batch, f"reading {sum(map(len, documents))} documents")
        with timed("sentences"):
            sentences = self._stages.reranker.score(
                claims, documents, [state.kept_sentences() for state in batch]
            )
        return [
            boost_mentioned(checked_scores("reranker", scored), state.next_titles)
            for state, scored in zip(batch, checked_sentences(sentences, documents), strict=True)
        ]

    def _documents_to_read(self, batch: Sequence[SearchState]) -> list[list[Document]]:
        titles = [state.titles_to_read(self._config.rerank_documents) for state in batch]
        reader = self._stages.document_reader
        if reader is None:
            return [[self._documents.document(title) for title in own] for own in titles]
        claims = [state.claim.text for state in batch]
        return reader.read(claims, [state.kept_sentences() for state in batch], titles)

    def _choose_evidence(
        self, batch: Sequence[SearchState], scored: Sequence[Sequence[Sentence]]
    ) -> list[HopRecord]:
        """Return the record of each claim's hop with the evidence that it keeps."""
        with timed("evidence"):
            return [self._chosen(*each) for each in zip(batch, scored, strict=True)]

    def _chosen(self, state: SearchState, scored: Sequence[Sentence]) -> HopRecord:
        # The features of the document scorer describe a hop with its evidence. So a first choice,
        # by the sentences alone, provides the features for the final one.
        first = self._record(state, scored, self._best(state, scored))
        scorer = self._stages.document_scorer
        if scorer is None:
            return first
        features = document_features(state.with_record(first))
        titles = dict.fromkeys(sentence.title for sentence in scored)
        relevance = {title: scorer.score(features[title]) for title in titles}
        evidence = self._best(state, reweighted(scored, relevance))
        if [s.key for s in evidence] == [s.key for s in first.hop.evidence]:
            # Only the scores differ, on which nothing else in the record depends.
            hop = replace(first.hop, evidence=evidence)
            return replace(first, hop=hop, leading=evidence[: self._config.evidence])
        return self._record(state, scored, evidence)

    def _record(
        self, state: SearchState, scored: Sequence[Sentence], evidence: tuple[Sentence, ...]
    ) -> HopRecord:
        finder = self._stages.mention_finder
        leading = evidence[: self._config.evidence]
        mentioned = finder.in_evidence(leading) if finder is not None else []
        record = state.reading(scored, evidence, mentioned, leading)
        stage = self._stages.graph_proximity
        if stage is None:
            return record
        found = found_titles(state.with_record(record))
        (close,) = stage.proximity([state.claim.text], [leading], [found])
        return replace(record, proximity=close)

    def _best(self, state: SearchState, scored: Sequence[Sentence]) -> tuple[Sentence, ...]:
        config = self._config
        count = evidence_count(state.claim.text, config.evidence, self._max_evidence)
        return choose_evidence(scored, count, config.evidence_per_document)

    def _judge(
        self, batch: Sequence[SearchState], records: Sequence[HopRecord], started: float
    ) -> None:
        """Judge the evidence of each claim, complete its hop, and stop it if that is enough."""
        self._report(batch, "judging the evidence")
        claims = [state.claim.text for state in batch]
        evidence = [record.hop.evidence for record in records]
        pairs = [[(s.title, s.text) for s in sentences] for sentences in evidence]
        with timed("proof"):
            judgements = self._stages.judge.judge(claims, pairs)
        seconds = (time.perf_counter() - started) / len(batch)
        for state, record, given, judgement in zip(batch, records, pairs, judgements, strict=True):
            numbers = [sentence.index for sentence in record.hop.evidence]
            hop = record.hop.judged(
                judgement.located(state.claim.text, given, numbers),
                document_sets=tuple(record.document_sets[: self._config.beam_size]),
                seconds=seconds,
            )
            state.records.append(replace(record, hop=hop))
            state.next_sets = []
            state.stopped = self._stop_reason(state)
            if self._on_hop is not None:
                self._on_hop(state.claim, hop)
            logger.debug(
                "claim %s, hop %d: read %d documents in %.2f s; evidence from %s; %s",
                *(state.claim.id, hop.number, len(hop.read), seconds),
                ", ".join(dict.fromkeys(s.title for s in hop.evidence)) or "none",
                state.stopped or "another hop",
            )

    def _stop_reason(self, state: SearchState) -> Stopped | None:
        reason = stop_reason(state.hops, self._config) if self._dynamic else None
        if not state.evidence:
            return "dead_end"
        if reason is None and len(state.records) == self._max_hops:
            return "max_hops"
        return reason

    def _report(self, batch: Sequence[SearchState], stage: str) -> None:
        if self._on_stage is not None:
            single = f"Hop {len(batch[0].records) + 1}"
            text = f"{single if len(batch) == 1 else f'{len(batch)} claims'}: {stage}"
            self._on_stage(text, [state.claim for state in batch])


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
