"""The whole flow: score what a claim cites, search for other sources, and decide."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from pathlib import Path

from admiral.citations.citation_records import (
    Citation,
    CitationVerdict,
    CitedClaim,
    Finding,
    RankedSource,
    ScoredSource,
    Status,
    best_source,
    joint_finding,
)
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.claim_texts import covered_claim
from admiral.citations.decide import FAILING_TAG, UNREAD, DecisionRule
from admiral.citations.page_patch import cite_web
from admiral.citations.source_scorers import SourceJudge
from admiral.citations.source_search import (
    LoadedSources,
    SourceCollection,
    SourceSearch,
    cut_source,
    open_search,
    passage_texts,
)
from admiral.citations.term_weights import TermWeights
from admiral.errors import AdmiralError
from admiral.kb.bm25.analysis import STOP_WORDS
from admiral.sources import Passage, ScoredPassage, Source
from admiral.sources.canonical_urls import canonical, is_web
from admiral.sources.open_sources import Sources

# The sources whose passages the weights of stems come from; more change them little.
_STEM_SOURCES = 500


@dataclass(slots=True)
class _Case:
    """A claim on its way to a verdict."""

    claim: CitedClaim
    covered: CitedClaim  # the part of it that its mark covers, as a claim of its own
    found: tuple[str, ...]  # the URLs of candidates of the search
    query: str
    existing: list[ScoredSource]
    together: ScoredSource | None = None
    candidates: list[ScoredSource] = field(default_factory=list)
    beside: tuple[str, ...] = ()

    @property
    def finding(self) -> Finding | None:
        """The finding on the sources that it cites."""
        return joint_finding(self.existing, self.together)

    @property
    def read(self) -> list[str]:
        """The URLs of the sources that are read, in the order of its references."""
        rows = zip(self.claim.citations, self.existing, strict=True)
        return [citation.url for citation, source in rows if source.status == "scored"]


class Citer(AbstractContextManager["Citer"]):
    """Verify citations and suggest sources.

    `sources`: those that claims may cite. `search`: finds others; None to suggest nothing. `kb`:
    closed with the citer.
    """

    def __init__(
        self,
        sources: SourceCollection,
        stems: TermWeights,
        config: CitationConfig,
        search: SourceSearch | None = None,
        kb: Sources | None = None,
    ) -> None:
        self._judge = SourceJudge(config, stems)
        margin = config.margin
        if (calibration := self._judge.calibration) is not None:
            margin *= statistics.pstdev(calibration.quantiles)
        self._rule = DecisionRule(margin, config.paper_rule)
        self.sources, self._config, self._search = sources, config, search
        self._kb = kb

    @classmethod
    def open(cls, kb: str | Path, *, config: CitationConfig | None = None) -> Citer:
        """Open a knowledge base and a verifier; the citer is a context manager."""
        config = config or CitationConfig()
        opened = Sources.open(kb)
        try:
            search = open_search(opened, config) if config.suggest else None
            return cls(opened, _source_stems(opened), config, search, opened)
        except BaseException:
            opened.close()
            raise

    def close(self) -> None:
        """Close the knowledge base that `open` has opened."""
        if self._kb is not None:
            self._kb.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def verify(self, claim: CitedClaim) -> CitationVerdict:
        """Return the verdict on a claim's citations."""
        (verdict,) = self.verify_many([claim])
        return verdict

    def verify_many(self, claims: Iterable[CitedClaim]) -> Iterator[CitationVerdict]:
        """Yield the verdict on the citations of each claim, in order."""
        for batch in _sentence_batches(claims, self._config.batch_size):
            yield from self._verify_batch(batch)

    def audit(self, claims: Iterable[CitedClaim]) -> list[CitationVerdict]:
        """Return the verdicts on all claims, those that need an editor first (see `urgency`)."""
        return sorted(self.verify_many(claims), key=urgency)

    def suggest(
        self, statement: str, k: int | None = None, *, page: str = "", before: str = ""
    ) -> list[ScoredSource]:
        """Return sources for a statement, best first, whether good enough or not.

        `k`: number of sources; that of the settings by default. `page`, `before`: title of its page
        and the text before it, if any.
        """
        if not statement.strip():
            raise AdmiralError("statement: is empty. Give its text")
        if self._search is None:
            raise AdmiralError("nothing to search: open a knowledge base, with suggest=true")
        claim = CitedClaim("1", statement, page=page, before=before)
        (case,) = self._prepare([claim])
        self._judge_candidates([case])
        best = _ranked(case.candidates)[: self._config.k if k is None else k]
        return [self._citable(one) for one in best]

    def _verify_batch(self, claims: Sequence[CitedClaim]) -> Iterator[CitationVerdict]:
        began = time.perf_counter()
        cases = self._prepare(claims)
        self._judge_existing(cases)
        self._judge_beside(cases)
        self._judge_candidates([case for case in cases if self._needs_candidates(case)])
        seconds = (time.perf_counter() - began) / len(claims)
        for case in cases:
            yield self._verdict(case, seconds)

    def _prepare(self, claims: Sequence[CitedClaim]) -> list[_Case]:
        covered = [covered_claim(claim) for claim in claims]
        searched: list[tuple[str, list[ScoredPassage]]] = [("", [])] * len(claims)
        if self._search is not None:
            count = max(self._config.candidates, self._config.ranked)
            searched = self._search.search(covered, count)
        cases = []
        for claim, own, (query, found) in zip(claims, covered, searched, strict=True):
            urls = tuple(scored.passage.url for scored in found)
            existing = [self._unread(claim, one) for one in claim.citations]
            cases.append(_Case(claim, own, urls, query, existing))
        return cases

    def _unread(self, claim: CitedClaim, citation: Citation) -> ScoredSource:
        blocked = self._search is not None and self._search.blocks(claim, citation.url)
        source = self.sources.source(citation.url) if citation.url else None
        status = source_status(citation.url, source, self._config.min_words, is_blocked=blocked)
        return ScoredSource(citation.url, citation.title, status)

    def _judge_existing(self, cases: Sequence[_Case]) -> None:
        """Judge the sources that claims cite: each alone, and several of a claim as one."""
        places = [
            (case, number)
            for case in cases
            for number, one in enumerate(case.existing)
            if one.status == "scored"
        ]
        passages = self.sources.passages
        judged = self._judge.judge(
            [(case.covered, passages(case.existing[number].url)) for case, number in places]
        )
        for (case, number), source in zip(places, judged, strict=True):
            case.existing[number] = source
        several = [case for case in cases if len(set(map(canonical, case.read))) > 1]
        joint = self._judge.judge(
            [(case.covered, list(chain(*map(passages, case.read)))) for case in several]
        )
        for case, source in zip(several, joint, strict=True):
            case.together = source

    def _judge_beside(self, cases: Sequence[_Case]) -> None:
        """Judge claims that their own sources lack by the other sources of their sentence."""
        for case in [case for case in cases if case.finding == "not_found"]:
            own = set(map(canonical, case.read))
            others = {
                url: citation.name or url
                for mate in cases
                if _sentence(mate.claim) == _sentence(case.claim)
                and mate.claim.span != case.claim.span
                for citation in mate.claim.citations
                if (url := canonical(citation.url)) not in own and citation.url in mate.read
            }
            judged = self._judge.judge(
                [(case.covered, self.sources.passages(url)) for url in others]
            )
            names = zip(others.values(), judged, strict=True)
            case.beside = tuple(name for name, source in names if source.supports)

    def _needs_candidates(self, case: _Case) -> bool:
        always = self._config.paper_rule or self._config.ranked > 0
        return always or case.finding != "supported" or bool(case.claim.tags)

    def _judge_candidates(self, cases: Sequence[_Case]) -> None:
        """Judge the candidates that cover most of their claim."""
        places: list[tuple[_Case, Sequence[Passage]]] = []
        limit = self._config.verify_candidates
        for case in cases:
            cited = {canonical(citation.url) for citation in case.claim.citations}
            urls = (url for url in case.found if canonical(url) not in cited)
            sources = list(map(self.sources.passages, urls))
            chosen = self._judge.most_covering(case.covered, sources, limit)
            places += [(case, passages) for passages in chosen]
        judged = self._judge.judge([(case.covered, passages) for case, passages in places])
        for (case, _), source in zip(places, judged, strict=True):
            case.candidates.append(source)

    def _citable(self, scored: ScoredSource) -> ScoredSource:
        source = self.sources.source(scored.url)
        return scored if source is None else replace(scored, wikitext=cite_web(source))

    def _verdict(self, case: _Case, seconds: float) -> CitationVerdict:
        existing, candidates = tuple(case.existing), _ranked(case.candidates)
        decision = self._rule.decide(
            case.claim, existing, case.together, candidates, beside=bool(case.beside)
        )
        own = best_source(existing, case.together)
        offered = [
            self._citable(one) for one in candidates if self._rule.offers(decision, own, one)
        ]
        warnings = [
            f"{one.url or one.title or 'a reference without URL'}: {UNREAD[one.status]}"
            for one in existing
            if one.status in UNREAD
        ]
        if not existing and decision == "not_checked":
            warnings.append("cites nothing, and no candidate is good enough")
        return CitationVerdict(
            case.claim,
            decision,
            existing,
            tuple(offered[: self._config.k]),
            tuple(warnings),
            case.query,
            seconds,
            case.together,
            case.beside,
            case.found[: self._config.ranked],
            _ranking(case)[: self._config.ranked],
        )


def _ranking(case: _Case) -> tuple[RankedSource, ...]:
    """Return the sources that were found, those that were verified first, by their scores."""
    judged = {canonical(one.url): one.score for one in [*case.existing, *case.candidates]}
    sources = [RankedSource(url, judged.get(canonical(url))) for url in case.found]
    return tuple(sorted(sources, key=lambda one: math.inf if one.score is None else -one.score))


def _sentence(claim: CitedClaim) -> tuple[object, ...]:
    """Return what the marks of one sentence of a page have in common."""
    return claim.page, claim.section, claim.before, claim.claim


def _sentence_batches(claims: Iterable[CitedClaim], size: int) -> Iterator[list[CitedClaim]]:
    """Yield batches of at least `size` claims; the claims of one sentence are in one batch."""
    batch: list[CitedClaim] = []
    for _, own in groupby(claims, _sentence):
        batch += own
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def _ranked(sources: Iterable[ScoredSource]) -> list[ScoredSource]:
    return sorted(sources, key=lambda one: -(one.score or 0.0))


def urgency(verdict: CitationVerdict) -> tuple[int, float]:
    """Return a key that sorts verdicts by how much they need an editor, the most first.

    What editors have tagged comes first, then what a source denies, then the lowest scores, and
    what was not checked last.
    """
    score = verdict.existing_score
    if FAILING_TAG in verdict.claim.tags:
        return 0, score or 0.0
    if score is None:
        return 3, 0.0
    return (1 if verdict.finding == "contradicted" else 2), score


def _source_stems(sources: Sources) -> TermWeights:
    """Return the weights of stems over the first sources and the demo corpus."""
    own = TermWeights.of(
        text
        for source in islice(sources, _STEM_SOURCES)
        for text in passage_texts(cut_source(source, 100, 100))
    )
    return own + TermWeights.background()


def check_source(
    claim: str, source: Source, config: CitationConfig, page: str = ""
) -> CitationVerdict:
    """Return the verdict on a claim of a page that cites one source, without a knowledge base."""
    cited = CitedClaim("1", claim, page=page, citations=(Citation(source.url),))
    return Citer(LoadedSources([source]), TermWeights.background(), config).verify(cited)


_WORD = re.compile(r"[^\W\d_]+")
# In English prose, a third of the words are among these; in other languages, hardly any.
_ENGLISH_SHARE = 0.1
_READ_WORDS = 2000


def source_status(url: str, source: Source | None, min_words: int, *, is_blocked: bool) -> Status:
    """Return whether the source at a URL can be scored, and otherwise why not.

    `source`: the one of the knowledge base, or None.
    """
    if not url.strip():
        return "not_web"
    if is_blocked:
        return "blocked"
    if source is None:
        return "not_in_knowledge_base" if is_web(url) else "not_web"
    if not source.text.strip():
        return "no_text"
    words = _WORD.findall(source.text)
    if len(words) < min_words:
        return "too_short"
    return "scored" if _is_english(source, words) else "not_english"


def _is_english(source: Source, words: list[str]) -> bool:
    if source.language:
        return source.states_english
    read = words[:_READ_WORDS]
    common = sum(word.lower() in STOP_WORDS for word in read)
    return common >= _ENGLISH_SHARE * len(read)
