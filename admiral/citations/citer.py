"""The whole flow: score what a claim cites, search for other sources, and decide."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from admiral.citations.citation_records import (
    Citation,
    CitationVerdict,
    CitedClaim,
    JointScore,
    ScoredSource,
    Status,
    best_existing_score,
    missing_everywhere,
)
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import ScoreCalibration
from admiral.citations.coverage_verifier import TermWeights
from admiral.citations.decide import DecisionRule
from admiral.citations.open_scorer import open_scorer, open_weights
from admiral.citations.source_collections import (
    CandidateSearch,
    LoadedSources,
    SourceCollection,
    cut_source,
    passage_texts,
)
from admiral.citations.source_judging import REASONS, SourceJudge, source_status
from admiral.citations.source_search import SourceSearch
from admiral.errors import AdmiralError
from admiral.library import Library
from admiral.library.canonical_urls import canonical, is_web
from admiral.library.source_records import Passage, Source

# The sources whose passages the weights of stems come from; more change them little.
_STEM_SOURCES = 500
# What a source is that is not a single citation: all cited ones as one, or a candidate.
_ALL, _CANDIDATE = -1, -2


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A claim, the status of each of its citations, and the candidates of the search."""

    claim: CitedClaim
    statuses: tuple[Status, ...]
    candidates: tuple[str, ...]
    query: str


@dataclass(slots=True)
class _Scored:
    """The sources of a claim: existing ones, alone and as one, and candidates."""

    existing: list[ScoredSource]
    together: ScoredSource | None = None
    candidates: list[ScoredSource] = field(default_factory=list)

    def joint_score(self) -> JointScore | None:
        """Return the score of the existing sources as one, if there are several."""
        all = self.together
        if all is None or all.score is None:
            return None
        missing = missing_everywhere(self.existing)
        return JointScore(all.score, all.probability, all.percentile, missing)


class Citer:
    """Verify citations and suggest sources.

    `search`: finds other sources; None to suggest nothing.
    """

    def __init__(
        self,
        sources: SourceCollection,
        judge: SourceJudge,
        rule: DecisionRule,
        config: CitationConfig,
        search: CandidateSearch | None = None,
    ) -> None:
        self._sources, self._judge, self._rule = sources, judge, rule
        self._config, self._search = config, search
        self._library: Library | None = None

    @classmethod
    def open(
        cls,
        library: str | Path,
        verifier: str | None = None,
        *,
        config: CitationConfig | None = None,
    ) -> Citer:
        """Open a library and a verifier; the citer is a context manager.

        `verifier`: name of the verifier; that of the settings by default. Raises AdmiralError if
        the library cannot be opened, a setting is invalid, or a file that it names cannot be used.
        """
        config = config or CitationConfig()
        if verifier is not None:
            config = replace(config, verifier=verifier)
        config.validate()
        opened = Library.open(library)
        try:
            search = None
            if config.suggest:
                search = SourceSearch(opened, sparse=opened, passages=config.sparse_passages)
            citer = cls.over(opened, library_stems(opened), config, search)
        except BaseException:
            opened.close()
            raise
        citer._library = opened
        return citer

    def close(self) -> None:
        """Close the library that `open` has opened."""
        if self._library is not None:
            self._library.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @classmethod
    def over(
        cls,
        sources: SourceCollection,
        stems: TermWeights,
        config: CitationConfig,
        search: CandidateSearch | None = None,
    ) -> Citer:
        """Return a citer over sources, with the verifier of the settings.

        Raises AdmiralError if a setting is invalid, or a file that it names cannot be used.
        """
        config.validate()
        weights = open_weights(config)
        calibration = weights.calibrations.get(config.verifier)
        judge = SourceJudge(open_scorer(config, weights, stems), stems, weights, calibration)
        return cls(sources, judge, decision_rule(config, calibration), config, search)

    def verify(self, claim: CitedClaim) -> CitationVerdict:
        """Return the verdict on a claim's citations."""
        (verdict,) = self.verify_many([claim])
        return verdict

    def verify_many(self, claims: Iterable[CitedClaim]) -> Iterator[CitationVerdict]:
        """Yield the verdict on the citations of each claim, in order."""
        stream = iter(claims)
        while batch := list(islice(stream, self._config.batch_size)):
            yield from self._verify_batch(batch)

    def audit(self, claims: Iterable[CitedClaim]) -> list[CitationVerdict]:
        """Return the verdicts on all claims: lowest scores first, claims without a score last."""

        def order(verdict: CitationVerdict) -> float:
            score = verdict.existing_score
            return math.inf if score is None else score

        return sorted(self.verify_many(claims), key=order)

    def suggest(
        self, statement: str, k: int | None = None, *, page: str = "", before: str = ""
    ) -> list[ScoredSource]:
        """Return sources for a statement, best first, whether good enough or not.

        `k`: number of sources; that of the settings by default. `page`, `before`: title of its page
        and the text before it, if any. Raises AdmiralError if the statement is empty, or there is
        nothing to search.
        """
        if not statement.strip():
            raise AdmiralError("statement: is empty. Give its text")
        if self._search is None:
            raise AdmiralError("nothing to search: open a library, with the setting suggest=true")
        claim = CitedClaim("1", statement, page=page, before=before)
        (scored,) = self._score(self._prepare([claim]))
        return ranked(scored.candidates)[: self._config.k if k is None else k]

    def _verify_batch(self, claims: Sequence[CitedClaim]) -> Iterator[CitationVerdict]:
        began = time.perf_counter()
        prepared = self._prepare(claims)
        scored = self._score(prepared)
        seconds = (time.perf_counter() - began) / len(claims)
        for one, sources in zip(prepared, scored, strict=True):
            yield self._verdict(one, sources, seconds)

    def _prepare(self, claims: Sequence[CitedClaim]) -> list[_Prepared]:
        searched: list[tuple[str, tuple[str, ...]]] = [("", ())] * len(claims)
        if self._search is not None:
            searched = self._search.candidates(claims, self._config.candidates)
        return [
            _Prepared(claim, tuple(self._status(claim, one) for one in claim.citations), urls, q)
            for claim, (q, urls) in zip(claims, searched, strict=True)
        ]

    def _status(self, claim: CitedClaim, citation: Citation) -> Status:
        blocked = self._search is not None and self._search.blocks(claim, citation.url)
        return source_status(
            self._sources.source(citation.url) if citation.url else None,
            citation,
            is_web=is_web(citation.url),
            is_blocked=blocked,
            min_words=self._config.min_words,
        )

    def _score(self, prepared: Sequence[_Prepared]) -> list[_Scored]:
        """Return the scored existing sources, and candidates, of each claim."""
        claims: list[CitedClaim] = []
        sources: list[Sequence[Passage]] = []
        # Claim, and number of the citation, or what else the source is.
        places: list[tuple[int, int]] = []
        for at, one in enumerate(prepared):
            cited = {canonical(citation.url) for citation in one.claim.citations}
            urls = [
                (number, citation.url)
                for number, (citation, status) in enumerate(
                    zip(one.claim.citations, one.statuses, strict=True)
                )
                if status == "scored"
            ]
            texts: list[tuple[int, Sequence[Passage]]] = [
                (number, self._sources.passages(url)) for number, url in urls
            ]
            if len({canonical(url) for _, url in urls}) > 1:
                texts.append((_ALL, [passage for _, own in texts for passage in own]))
            texts += [
                (_CANDIDATE, self._sources.passages(url))
                for url in one.candidates
                if canonical(url) not in cited
            ]
            for number, passages in texts:
                claims.append(one.claim)
                sources.append(passages)
                places.append((at, number))
        judged = self._judge.judge(claims, sources)
        scored = [
            _Scored(
                [
                    ScoredSource(citation.url, citation.title, status)
                    for citation, status in zip(one.claim.citations, one.statuses, strict=True)
                ]
            )
            for one in prepared
        ]
        for (at, number), source in zip(places, judged, strict=True):
            if number == _CANDIDATE:
                scored[at].candidates.append(source)
            elif number == _ALL:
                scored[at].together = source
            else:
                scored[at].existing[number] = source
        return scored

    def _verdict(self, prepared: _Prepared, scored: _Scored, seconds: float) -> CitationVerdict:
        existing, candidates, together = scored.existing, scored.candidates, scored.joint_score()
        own = best_existing_score(existing, together)
        decision = self._rule.decide(
            own,
            best_score(candidates),
            cites=bool(existing),
            unread=any(one.status != "scored" for one in existing),
        )
        offered = [
            one
            for one in ranked(candidates)[: self._config.k]
            if one.score is not None and self._rule.offers(own, one.score)
        ]
        warnings = [
            f"{one.url or one.title or 'a reference without URL'}: {REASONS[one.status]}"
            for one in existing
            if REASONS[one.status]
        ]
        if not existing and decision == "not_checked":
            warnings.append("cites nothing, and no candidate is good enough")
        return CitationVerdict(
            prepared.claim,
            decision,
            tuple(existing),
            tuple(offered),
            tuple(warnings),
            prepared.query,
            seconds,
            together,
        )


def best_score(sources: Iterable[ScoredSource]) -> float | None:
    """Return the highest score of sources; None if none is scored."""
    return max((one.score for one in sources if one.score is not None), default=None)


def ranked(sources: Iterable[ScoredSource]) -> list[ScoredSource]:
    """Return scored sources, best first; ties keep their order."""
    return sorted(sources, key=lambda one: -(one.score or 0.0))


def decision_rule(config: CitationConfig, calibration: ScoreCalibration | None) -> DecisionRule:
    """Return the rule of the settings, with thresholds in scores."""
    if calibration is None:
        return DecisionRule(
            config.fail_below, config.accept_above, config.margin, config.paper_rule
        )
    fail = calibration.score_at_percentile(config.fail_percentile)
    if config.fail_probability:
        fail = calibration.score_at_probability(config.fail_probability)
    accept = calibration.score_at_probability(config.accept)
    margin = config.margin * statistics.pstdev(calibration.quantiles)
    return DecisionRule(fail, accept, margin, config.paper_rule)


def library_stems(library: Library) -> TermWeights:
    """Return the weights of stems over the first sources of a library and the demo corpus."""
    sources = islice(library.sources(), _STEM_SOURCES)
    own = TermWeights.of(
        text for source in sources for text in passage_texts(cut_source(source, 100, 100))
    )
    return own + TermWeights.background()


def check_source(
    claim: str, source: Source, config: CitationConfig, page: str = ""
) -> CitationVerdict:
    """Return the verdict on a claim of a page that cites one source, without a library."""
    cited = CitedClaim("1", claim, page=page, citations=(Citation(source.url),))
    return Citer.over(LoadedSources([source]), TermWeights.background(), config).verify(cited)
