"""Judge sources for claims: from the scores of passages and of parts of a claim to a finding.

The evidence of a claim is often spread over a page. So the claim is also cut into parts that are
scored by themselves, and the verifier of `mixed` reads the sentences that together cover most of
the claim's words: the first is the sentence that covers most, and each further one is worth what it
adds and half of what it covers itself.
"""

from __future__ import annotations

import heapq
import operator
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

import torch

from admiral.citations.citation_records import (
    CitedClaim,
    ScoredPart,
    ScoredSentence,
    ScoredSource,
)
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import CitationWeights, FeatureWeight
from admiral.citations.claim_texts import ContextForm
from admiral.citations.decide import FindingRule
from admiral.citations.passage_verifiers import (
    CascadeVerifier,
    CitationVerifier,
    CoverageVerifier,
    LateInteractionVerifier,
    PairClassifierVerifier,
    log_odds,
)
from admiral.citations.term_weights import TermWeights, passage_stems, text_stems, uncovered
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from admiral.models.checkpoint import choose_device, choose_dtype
from admiral.models.verifiers import open_named_verifier
from admiral.requirements import MINILM, minilm_directory
from admiral.retrieval.rerankers import MeanPoolingEncoder
from admiral.sources import Passage
from proofs.drafting.spans import chunk
from proofs.logic.words import LONGEST_SENTENCE, clause_ends, split_words
from proofs.verifier import LABELS, Verifier

#: Most parts of a claim.
MAX_PARTS = 8
# A part needs this many content words to be checked by itself.
_MIN_WORDS = 3
# Cuts before prepositions separate a verb from its complement, so they are not used.
_CLAUSE = re.compile(
    r",|;| (?:and|but) | (?:who|which|that|whose|where|when|while)\b| [a-z]+(?:ing|ed)\b"
)
_EDGE = " ,;"


@dataclass(frozen=True, slots=True)
class SubClaim:
    """A part of a claim."""

    text: str
    share: float  # its share of the content words of all parts


def subclaims(claim: str) -> tuple[SubClaim, ...]:
    """Return the parts of a claim in order; the whole claim if it cannot be divided.

    The parts do not overlap, and all content words are in one of them. A text without content words
    is one part; an empty text has none.
    """
    spans = [span for span in _spans(claim) if claim[span[0] : span[1]].strip()]
    counts = [content_words(claim[start:end]) for start, end in spans]
    total = sum(counts)
    return tuple(
        SubClaim(claim[start:end], count / total if total else 1 / len(spans))
        for (start, end), count in zip(spans, counts, strict=True)
    )


def content_words(text: str) -> int:
    """Return the number of content words of a text."""
    return sum(word.is_content for word in split_words(text))


def _spans(claim: str) -> list[tuple[int, int]]:
    if len(claim) > LONGEST_SENTENCE:  # the clause rules take quadratic time
        return chunk(claim, max_words=len(claim), max_chunks=MAX_PARTS)
    cuts = [at for at in clause_ends(claim) if at < len(claim) and _CLAUSE.match(claim, at)]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([0, *cuts, len(claim)]):
        # A part with too few words joins the one before it, and the first one the next.
        before = claim[slice(*spans[-1])] if spans else ""
        if spans and min(map(content_words, (before, claim[start:end]))) < _MIN_WORDS:
            start = spans.pop()[0]
        spans.append((start, end))
    while len(spans) > MAX_PARTS:
        sizes = [content_words(claim[start:end]) for start, end in spans]
        at = min(range(len(spans) - 1), key=lambda i: sizes[i] + sizes[i + 1])
        spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
    return [_trimmed(claim, *span) for span in spans]


def _trimmed(claim: str, start: int, end: int) -> tuple[int, int]:
    text = claim[start:end]
    start += len(text) - len(text.lstrip(_EDGE))
    return start, max(start, end - (len(text) - len(text.rstrip(_EDGE))))


#: Sentences of a source that are read with a claim.
SENTENCES = 5
# What a word is worth that a chosen sentence has, too.
_REPEATED = 0.5
_ENTAILED, _CONTRADICTED = LABELS.index("entailment"), LABELS.index("contradiction")


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The verifier's reading of a claim with the sentences of a source."""

    entailed: float  # log-odds that they entail the claim together
    # Probability that they contradict it and none of them entails it, and the one that does most.
    denial: float
    denied_by: str


# Probabilities below the one with these log-odds are alike.
_LEAST = -6.0
#: The reading of a source that shares no word with the claim.
NOTHING_SAID = SourceReading(_LEAST, 0.0, "")


class SourceReader:
    """Reads claims with sources, given as all of their passages."""

    def __init__(self, verifier: Verifier, stems: TermWeights) -> None:
        self._verifier, self._stems = verifier, stems

    def read(
        self, claims: Sequence[str], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceReading]:
        """Return the reading of each claim with its source."""
        chosen = list(map(self.sentences, claims, sources))
        known = [at for at, sentences in enumerate(chosen) if sentences]
        # Without titles: that of a page of the web is seldom the name of its subject.
        readings = self._verifier.read(
            [claims[at] for at in known], [[("", text) for text in chosen[at]] for at in known]
        )
        results = [NOTHING_SAID] * len(claims)
        for at, reading in zip(known, readings, strict=True):
            alone = reading.sentences[:, _ENTAILED].max()
            denial = float(reading.labels[_CONTRADICTED] * (1 - alone))
            denying = chosen[at][int(reading.sentences[:, _CONTRADICTED].argmax())]
            if reading.comparisons:  # exact reasoning names the sentence
                denying = chosen[at][reading.comparisons[0].sentence]
            entailed = max(log_odds(float(reading.labels[_ENTAILED])), _LEAST)
            results[at] = SourceReading(entailed, denial, denying)
        return results

    def sentences(self, claim: str, passages: Sequence[Passage]) -> list[str]:
        """Return the sentences of a source to read with a claim, in the order of the text."""
        weights = {stem: self._stems.weight(stem) for stem in sorted(set(text_stems(claim)))}
        texts = source_sentences(tuple(passages))
        covered = [[stem for stem in weights if stem in passage_stems(text)] for text in texts]
        alone = [sum(weights[stem] for stem in own) for own in covered]
        left, chosen = set(weights), list[int]()

        def worth(at: int) -> float:
            return _REPEATED * alone[at] + sum(weights[s] for s in covered[at] if s in left)

        candidates = [at for at in range(len(texts)) if alone[at]]
        while candidates and len(chosen) < SENTENCES:
            best = max(candidates, key=worth)
            candidates.remove(best)
            chosen.append(best)
            left.difference_update(covered[best])
        return [texts[at] for at in sorted(chosen)]


@lru_cache(64)
def source_sentences(passages: tuple[Passage, ...]) -> tuple[str, ...]:
    """Return the distinct sentences of the text that overlapping passages are cut from, in order.

    A line is at least one sentence: a title or heading often ends without a full stop.
    """
    text = ""
    last: Passage | None = None
    for passage in passages:
        if last is None or passage.url != last.url:
            text += f"\n{passage.text}"
        elif passage.start <= last.end:
            text += passage.text[last.end - passage.start :]
        else:
            text += f" {passage.text}"
        last = passage
    sentences = (each for line in text.splitlines() for each in split_sentences(line))
    return tuple(dict.fromkeys(sentences))


#: Suffix of the feature that is the mean score over the parts of the claim.
PARTS = "_parts"
#: The feature of the names and values that a source lacks.
UNCOVERED = "uncovered"
#: The feature of sources that are read: log-odds that their best sentences entail the claim.
ENTAILED = "entailed"


@dataclass(frozen=True, slots=True)
class SourceFeatures:
    """The features of a claim and its source."""

    values: Mapping[str, float]
    passages: Mapping[str, Sequence[float]]  # the scores of each verifier
    parts: tuple[ScoredPart, ...]  # the parts of the claim with the scores of the first verifier
    reading: SourceReading | None


def source_features(
    claims: Sequence[CitedClaim],
    sources: Sequence[Sequence[Passage]],
    verifiers: Mapping[str, CitationVerifier],
    reader: SourceReader | None = None,
    *,
    with_parts: bool = True,
) -> list[SourceFeatures]:
    """Return the features of each claim and its source.

    They are, for each verifier, its highest score of a passage and the mean over the parts of the
    claim of their highest scores (suffix ``_parts``), weighted by their shares of content words;
    `UNCOVERED`; and with a reader of the best sentences of sources, `ENTAILED`.
    """
    passages = {name: each.score(claims, sources) for name, each in verifiers.items()}
    cut = [subclaims(claim.claim) if with_parts else () for claim in claims]
    parts = {name: _score_parts(each, claims, cut, sources) for name, each in verifiers.items()}
    readings: Sequence[SourceReading | None] = [None] * len(claims)
    if reader is not None:
        readings = reader.read([claim.claim for claim in claims], sources)
    extracted = []
    for at, (claim, source, reading) in enumerate(zip(claims, sources, readings, strict=True)):
        own = {name: scores[at] for name, scores in passages.items()}
        values = {UNCOVERED: uncovered(claim.claim, source)}
        for name, scored in parts.items():
            values[name] = values[name + PARTS] = max(own[name])
            if scored[at]:
                scores = (part.score for part in scored[at])
                values[name + PARTS] = sum(map(operator.mul, (p.share for p in cut[at]), scores))
        if reading is not None:
            values[ENTAILED] = reading.entailed
        first = next(iter(parts.values()))
        extracted.append(SourceFeatures(values, own, first[at], reading))
    return extracted


def _score_parts(
    verifier: CitationVerifier,
    claims: Sequence[CitedClaim],
    parts: Sequence[Sequence[SubClaim]],
    sources: Sequence[Sequence[Passage]],
) -> list[tuple[ScoredPart, ...]]:
    """Return the parts of each claim with the best passage of its source for each of them."""
    variants = [
        replace(claim, claim=part.text, span=None)
        for claim, own in zip(claims, parts, strict=True)
        for part in own
    ]
    passages = [source for source, own in zip(sources, parts, strict=True) for _ in own]
    rows = iter(verifier.score(variants, passages) if variants else ())
    return [
        tuple(
            ScoredPart(part.text, max(row), row.index(max(row)))
            for part, row in zip(own, rows, strict=False)
        )
        for own in parts
    ]


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The score of a source for a claim, and of its passages."""

    score: float
    passages: tuple[float, ...]
    features: SourceFeatures

    @property
    def best(self) -> int:
        """Position of the best passage, the first of several."""
        return self.passages.index(max(self.passages))


class SourceScorer:
    """Score sources by the weighted sum of standardised features.

    A passage is scored by the verifiers alone, with the same weights.
    """

    def __init__(
        self,
        verifiers: Mapping[str, CitationVerifier],
        weights: Mapping[str, FeatureWeight],
        reader: SourceReader | None = None,
    ) -> None:
        self._verifiers, self._weights, self._reader = verifiers, weights, reader

    @classmethod
    def of(cls, name: str, verifier: CitationVerifier, whole: float) -> SourceScorer:
        """Return the scorer of one verifier.

        `whole`: weight of the whole claim beside its parts. With 1, the score is that of the best
        passage, as in SIDE.
        """
        weights = {name: whole, name + PARTS: 1 - whole}
        return cls({name: verifier}, {n: FeatureWeight(0, 1, w) for n, w in weights.items() if w})

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim; sources have at least one passage."""
        with_parts = any(name.endswith(PARTS) for name in self._weights)
        features = source_features(
            claims, sources, self._verifiers, self._reader, with_parts=with_parts
        )
        return list(map(self._score, features))

    def _score(self, features: SourceFeatures) -> SourceScore:
        total = 0.0
        for name, weight in self._weights.items():
            total += weight.weight * (features.values[name] - weight.mean) / weight.deviation
        # What a point of a verifier is worth, for the whole claim and its parts.
        worth = [self._worth(name) + self._worth(name + PARTS) for name in features.passages]
        rows = zip(*features.passages.values(), strict=True)
        passages = (sum(max(w, 0.0) * s for w, s in zip(worth, row, strict=True)) for row in rows)
        return SourceScore(total, tuple(passages), features)

    def _worth(self, feature: str) -> float:
        weight = self._weights.get(feature)
        return weight.weight / weight.deviation if weight is not None else 0.0


#: Weight of the whole claim beside its parts.
WHOLE_WEIGHT = 0.5


class VerifierFactory:
    """Makes verifiers that share a classifier."""

    def __init__(self, config: CitationConfig, stems: TermWeights) -> None:
        self._config, self._stems = config, stems
        runtime = RetrievalConfig(device=config.device, precision=config.precision)
        self._device, self._dtype = choose_device(config.device), choose_dtype(runtime)

    def verifier(self, name: str, context: ContextForm = "claim") -> CitationVerifier:
        """Return a verifier by name; all but `coverage` read the best passages only."""
        close: CitationVerifier
        if name == "coverage":
            return CoverageVerifier(self._stems, context)
        if name == "late":
            encoder = MeanPoolingEncoder(
                minilm_directory(), MINILM, device=self._device, dtype=self._dtype
            )
            close = LateInteractionVerifier(encoder, context)
        else:
            close = PairClassifierVerifier(self._classifier, context)
        # The passages are chosen by the claim alone, so that the context changes one thing only.
        return CascadeVerifier(CoverageVerifier(self._stems), close, self._config.verify_passages)

    def reader(self) -> SourceReader:
        """Return what reads sources with the model in `classifier`."""
        return SourceReader(self._classifier, self._stems)

    @cached_property
    def _classifier(self) -> Verifier:
        threads = self._config.threads or len(os.sched_getaffinity(0))
        return open_named_verifier(
            self._config.classifier, "setting 'classifier'", device=self._device, threads=threads
        )


def _open_scorer(
    config: CitationConfig, weights: CitationWeights, stems: TermWeights
) -> SourceScorer:
    if config.threads:
        torch.set_num_threads(config.threads)
    factory = VerifierFactory(config, stems)
    if config.verifier != "mixed":
        whole = 1.0 if config.aggregate == "max" else WHOLE_WEIGHT
        verifier = factory.verifier(config.verifier, config.context)
        return SourceScorer.of(config.verifier, verifier, whole)
    names = mixed_verifiers(weights.mixed)
    if unknown := sorted({*names} - {"coverage", "late", "cross-encoder"}):
        raise AdmiralError(f"setting 'weights': no feature {unknown[0]!r}; fit them anew")
    verifiers = {name: factory.verifier(name) for name in names}
    reader = factory.reader() if ENTAILED in weights.mixed else None
    return SourceScorer(verifiers, weights.mixed, reader)


def mixed_verifiers(features: Iterable[str]) -> list[str]:
    """Return the verifiers that features are made of; `coverage` comes first."""
    names = [name.removesuffix(PARTS) for name in features if name not in (UNCOVERED, ENTAILED)]
    return list(dict.fromkeys(["coverage", *names]))


# Sentences of a passage that are shown.
_SHOWN = 2


class SourceJudge:
    """Scores sources by the verifier of the settings, and says what supports the score."""

    def __init__(self, config: CitationConfig, stems: TermWeights) -> None:
        try:
            weights = CitationWeights.read(Path(config.weights)) if config.weights else None
        except AdmiralError as error:
            raise AdmiralError(f"setting 'weights': {error}") from error
        weights = weights or CitationWeights.bundled()
        #: The meaning of the scores; None if it is unknown.
        self.calibration = weights.calibrations.get(config.verifier)
        self._missing, self._missing_below = weights.missing, config.missing_below
        self._scorer, self._stems = _open_scorer(config, weights, stems), stems
        thresholds = (config.not_found, config.supported)  # of probabilities
        if self.calibration is None:
            thresholds = (config.fail_below, config.accept_above)  # of scores
        self._rule = FindingRule(*thresholds, config.contradicted)

    def judge(self, pairs: Sequence[tuple[CitedClaim, Sequence[Passage]]]) -> list[ScoredSource]:
        """Return the scored source of each claim, which is given as all of its passages."""
        claims, sources = [claim for claim, _ in pairs], [source for _, source in pairs]
        return list(map(self._scored, claims, sources, self._scorer.score_sources(claims, sources)))

    def _scored(
        self, claim: CitedClaim, passages: Sequence[Passage], score: SourceScore
    ) -> ScoredSource:
        best = passages[score.best]
        calibration, reading = self.calibration, score.features.reading
        denial = None if reading is None else reading.denial
        probability = None if calibration is None else calibration.probability(score.score)
        if probability is not None and denial is not None:
            probability = min(probability, 1 - denial)  # it cannot support what it denies
        support = score.score if probability is None else probability
        finding = self._rule.finding(support, denial)
        missing: tuple[str, ...] = ()
        if finding == "partly" and (probability is None or probability < self._missing_below):
            missing = self._missing.spans(claim.claim, passages, score.best)[:1]  # the surest one
        return ScoredSource(
            best.url,
            best.title,
            "scored",
            score.score,
            probability,
            None if calibration is None else calibration.percentile(score.score),
            best,
            self._best_sentences(claim, best),
            score.features.parts,
            missing,
            finding=finding,
            denial=denial,
            denied_by=reading.denied_by if reading and finding == "contradicted" else "",
        )

    def most_covering(
        self, claim: CitedClaim, sources: Sequence[Sequence[Passage]], limit: int
    ) -> list[Sequence[Passage]]:
        """Return the sources whose best passages cover most of a claim, in the given order.

        `limit`: how many; 0 for all.
        """
        if not limit:
            return list(sources)
        coverage = CoverageVerifier(self._stems)
        best = [max(row) for row in coverage.score([claim] * len(sources), sources)]
        chosen = heapq.nlargest(limit, range(len(sources)), key=best.__getitem__)
        return [sources[at] for at in sorted(chosen)]

    def _best_sentences(self, claim: CitedClaim, passage: Passage) -> tuple[ScoredSentence, ...]:
        """Return the sentences of a passage that cover most of the claim, in order."""
        stems = sorted(set(text_stems(claim.claim)))
        # A title or heading is a line of its own, which often ends without a full stop.
        texts = [text for line in passage.text.splitlines() for text in split_sentences(line)]
        scores = [self._stems.coverage(stems, set(text_stems(text))) for text in texts]
        chosen = heapq.nlargest(_SHOWN, range(len(texts)), key=scores.__getitem__)
        return tuple(
            ScoredSentence(texts[at], scores[at]) for at in sorted(chosen) if scores[at] > 0
        )
