"""The hop loop: find documents, read them, choose evidence, judge it, and hop again."""

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
    NextStep,
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


class HopLoop:
    """Run the stages on batches of claims, hop by hop.

    - `on_stage`: receives a short text when a stage begins, such as ``Hop 2: reading 40
      documents``, and the claims that share it.
    - `on_hop`: receives each claim with the hop that it has completed.
    - `on_timing`: receives the duration of each stage, and of ``hop``, a call of `advance`.
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

    def advance(self, batch: Sequence[SearchState]) -> None:
        """Advance each claim by one hop, in place, and mark the claims that stop.

        The claims may be at different hops. `SearchState.next_step` records each completed part of
        a hop, so if this method raises an error, calling it again resumes after that part.
        """
        started = time.perf_counter()
        with timing_stages(self._on_timing, len(batch)), timed("hop"):
            if new := _waiting_for(NextStep.FIRST_STAGE, batch):
                self._find_candidates(new)
            if expanding := _waiting_for(NextStep.EXPAND, batch):
                self._expand(expanding)
            if reading := _waiting_for(NextStep.READ, batch):
                self._read(reading, started)

    def _find_candidates(self, batch: Sequence[SearchState]) -> None:
        """Find the titles that the claims mention, and run the first stage.

        Without any hops, the claims stop here.
        """
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
            state.next_step = NextStep.READ
            if self._max_hops == 0:
                state.stopped = "max_hops"

    def _expand(self, batch: Sequence[SearchState]) -> None:
        """Find the document sets of the next hop; claims that get none stop.

        Without a generator, hops have no document sets and read mentions and candidates only.
        """
        self._report(batch, "generating documents")
        expanded = self._stages.hop_retriever.expand(
            [state.claim.text for state in batch],
            [state.leading for state in batch],
            [len(state.records) for state in batch],
        )
        if self._stages.graph is not None:
            with timed("graph"):
                close = self._stages.graph.rank(
                    [state.claim.text for state in batch],
                    [state.leading for state in batch],
                    self._config.rerank_documents,
                )
            for state, titles in zip(batch, close, strict=True):
                state.graph_titles = titles
        for state, scored in zip(batch, expanded, strict=True):
            document_sets = checked_scores("hop_retriever", scored)
            if document_sets or not self._config.generator:
                state.next_sets = document_sets
                state.next_step = NextStep.READ
            else:
                state.stopped = "dead_end"

    def _read(self, batch: Sequence[SearchState], started: float) -> None:
        config = self._config
        claims = [state.claim.text for state in batch]
        with timed("documents"):
            documents = self._documents_to_read(batch)
        self._report(batch, f"reading {sum(map(len, documents))} documents")
        with timed("sentences"):
            sentence_scores = self._stages.reranker.score(
                claims, documents, [state.kept_sentences() for state in batch]
            )
        reranked = checked_sentences(sentence_scores, documents)
        scored = [
            boost_mentioned(checked_scores("reranker", sentences), state.next_titles)
            for state, sentences in zip(batch, reranked, strict=True)
        ]
        with timed("evidence"):
            evidence = [self._choose(*each) for each in zip(batch, scored, strict=True)]
        records = [self._record(*each) for each in zip(batch, scored, evidence, strict=True)]
        self._report(batch, "judging the evidence")
        with timed("proof"):
            pairs = [[(s.title, s.text) for s in sentences] for sentences in evidence]
            judgements = [
                judgement.located(claim, given, [s.index for s in sentences])
                for judgement, claim, given, sentences in zip(
                    self._stages.judge.judge(claims, pairs), claims, pairs, evidence, strict=True
                )
            ]
        seconds = (time.perf_counter() - started) / len(batch)
        for state, record, judgement in zip(batch, records, judgements, strict=True):
            hop = replace(
                record.hop,
                document_sets=tuple(record.document_sets[: config.beam_size]),
                judgement=judgement,
                seconds=seconds,
            )
            state.records.append(replace(record, hop=hop))
            state.next_sets = []
            state.next_step = NextStep.EXPAND
            self._stop_if_done(state, hop)
            if self._on_hop is not None:
                self._on_hop(state.claim, hop)
            logger.debug(
                "claim %s, hop %d: read %d documents in %.2f s; evidence from %s; %s",
                *(state.claim.id, hop.number, len(hop.read), seconds),
                ", ".join(dict.fromkeys(s.title for s in hop.evidence)) or "none",
                state.stopped or "another hop",
            )

    def _report(self, batch: Sequence[SearchState], stage: str) -> None:
        if self._on_stage is not None:
            single = f"Hop {len(batch[0].records) + 1}"
            text = f"{single if len(batch) == 1 else f'{len(batch)} claims'}: {stage}"
            self._on_stage(text, [state.claim for state in batch])

    def _documents_to_read(self, batch: Sequence[SearchState]) -> list[list[Document]]:
        titles = [state.titles_to_read(self._config.rerank_documents) for state in batch]
        reader = self._stages.document_reader
        if reader is None:
            return [[self._documents.document(title) for title in own] for own in titles]
        claims = [state.claim.text for state in batch]
        return reader.read(claims, [state.kept_sentences() for state in batch], titles)

    def _choose(self, state: SearchState, scored: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """Choose the evidence of a hop among the scored sentences.

        The features of the document scorer describe a completed hop, its evidence included. So a
        first choice, by the sentences alone, provides the features for the final one.
        """
        evidence = self._best(state, scored)
        scorer = self._stages.document_scorer
        if scorer is None:
            return evidence
        record = self._record(state, scored, evidence)
        features = document_features(state.with_record(record))
        titles = dict.fromkeys(sentence.title for sentence in scored)
        relevance = {title: scorer.score(features[title]) for title in titles}
        return self._best(state, reweighted(scored, relevance))

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

    def _stop_if_done(self, state: SearchState, hop: Hop) -> None:
        reason = stop_reason(state.hops, self._config) if self._dynamic else None
        if not hop.evidence:
            state.stopped = "dead_end"
        elif reason is None and hop.number == self._max_hops:
            state.stopped = "max_hops"
        else:
            state.stopped = reason


def stop_reason(hops: Sequence[Hop], config: RetrievalConfig) -> Stopped | None:
    """Return why a dynamic search stops after hops, or None if it continues with those left.

    It stops if the evidence is sufficient, before the setting `min_hops` only if one sentence alone
    gives the verdict with the probability `stop_early_at`; or if a hop has changed nothing.
    """
    *earlier, last = hops
    if last.sufficient:
        is_early = last.number < min(config.min_hops, config.max_hops)
        if not is_early or (last.judgement.alone or 0.0) >= config.stop_early_at:
            return "sufficient"
    repeated = earlier and last.repeats(earlier[-1])
    return "dead_end" if repeated and last.number < config.max_hops else None


def _waiting_for(step: NextStep, batch: Sequence[SearchState]) -> list[SearchState]:
    return [state for state in batch if state.stopped is None and state.next_step is step]
