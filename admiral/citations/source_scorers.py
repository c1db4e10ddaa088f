"""From the scores of passages, and of parts of a claim, to the score of a source.

The evidence of a claim is often spread over a page, and the verifier reads few sentences at a time.
It gets those that together cover most of the claim's words: the first is the sentence that covers
most, and each further one is worth what it adds and half of what it covers itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol, cast

import torch

from admiral.citations.citation_records import CitedClaim, ContextForm, ScoredPart
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import CitationWeights, FeatureWeight, log_odds
from admiral.citations.coverage_verifier import (
    CascadeVerifier,
    CitationVerifier,
    CoverageVerifier,
    TermWeights,
    passage_stems,
    text_stems,
    uncovered,
)
from admiral.citations.model_verifiers import (
    LateInteractionVerifier,
    PairClassifierVerifier,
    SentenceStates,
)
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
        chosen = [
            self.sentences(claim, passages) for claim, passages in zip(claims, sources, strict=True)
        ]
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
        stems = [(text, passage_stems(text)) for text in source_sentences(tuple(passages))]
        covered = [[stem for stem in weights if stem in own] for _, own in stems]
        alone = [sum(weights[stem] for stem in own) for own in covered]
        left, chosen = set(weights), list[int]()
        while len(chosen) < SENTENCES:
            worth = [
                _REPEATED * alone[at] + sum(weights[stem] for stem in own if stem in left)
                if alone[at] and at not in chosen
                else 0.0
                for at, own in enumerate(covered)
            ]
            best = max(range(len(worth)), key=worth.__getitem__, default=None)
            if best is None or not worth[best]:
                break
            chosen.append(best)
            left.difference_update(covered[best])
        return [stems[at][0] for at in sorted(chosen)]


@lru_cache(64)
def source_sentences(passages: tuple[Passage, ...]) -> tuple[str, ...]:
    """Return the distinct sentences of the text that overlapping passages are cut from, in order.

    A line is at least one sentence: a title or heading often ends without a full stop.
    """
    pieces: list[str] = []
    last: Passage | None = None
    for passage in passages:
        same = last is not None and last.url == passage.url and passage.start <= last.end
        pieces.append(passage.text[last.end - passage.start :] if same and last else passage.text)
        if not same and last is not None:
            pieces[-2] += "\n" if last.url != passage.url else " "
        last = passage
    lines = "".join(pieces).splitlines()
    return tuple(dict.fromkeys(text for line in lines for text in split_sentences(line)))


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

    start: int
    end: int
    text: str
    share: float  # its share of the content words of all parts


def subclaims(claim: str) -> tuple[SubClaim, ...]:
    """Return the parts of a claim in order; the whole claim if it cannot be divided.

    The parts do not overlap, and all content words are in one of them. A text without content words
    is one part; an empty text has none.
    """
    spans = [span for span in _spans(claim) if claim[span[0] : span[1]].strip()]
    if not spans:
        return ()
    counts = [content_words(claim[start:end]) for start, end in spans]
    total = sum(counts)
    return tuple(
        SubClaim(start, end, claim[start:end], count / total if total else 1 / len(spans))
        for (start, end), count in zip(spans, counts, strict=True)
    )


def content_words(text: str) -> int:
    """Return the number of content words of a text."""
    return sum(word.is_content for word in split_words(text))


def _spans(claim: str) -> list[tuple[int, int]]:
    if len(claim) > LONGEST_SENTENCE:  # the clause rules take quadratic time
        return chunk(claim, max_words=len(claim), max_chunks=MAX_PARTS)
    cuts = [at for at in clause_ends(claim) if at < len(claim) and _CLAUSE.match(claim, at)]
    edges = [0, *cuts, len(claim)]
    spans = _join_small(claim, list(pairwise(edges)))
    while len(spans) > MAX_PARTS:
        sizes = [content_words(claim[a:b]) for a, b in spans]
        at = min(range(len(spans) - 1), key=lambda i: sizes[i] + sizes[i + 1])
        spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
    return [_trimmed(claim, *span) for span in spans]


def _join_small(claim: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join parts with too few content words to the part before them, the first to the next."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        is_small = content_words(claim[start:end]) < _MIN_WORDS
        if joined and (is_small or content_words(claim[slice(*joined[-1])]) < _MIN_WORDS):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _trimmed(claim: str, start: int, end: int) -> tuple[int, int]:
    text = claim[start:end]
    start += len(text) - len(text.lstrip(_EDGE))
    return start, max(start, end - (len(text) - len(text.rstrip(_EDGE))))


@dataclass(frozen=True, slots=True)
class SourceScore:
    """The score of a source for a claim."""

    score: float
    passages: tuple[float, ...]
    parts: tuple[ScoredPart, ...] = ()  # the parts of the claim, each with its best passage
    reading: SourceReading | None = None  # what the verifier says, if it reads sources

    @property
    def best(self) -> int:
        """Position of the best passage, the first of several."""
        return self.passages.index(max(self.passages))


class SourceScorer(Protocol):
    """Scores sources, each as all of its passages, for claims in context."""

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim; sources have at least one passage."""
        ...


class PassageAggregator:
    """Score a source by the scores of its passages.

    The score is ``w * max_p s(c, p) + (1 - w) * sum_j share_j * max_p s(u_j, p)`` for a claim `c`
    with the parts `u_j`, passages `p` and the score `s` of a verifier. With ``w = 1``, it is that
    of SIDE. `whole_weight`: the weight `w` of the whole claim, from 0 to 1.
    """

    def __init__(self, verifier: CitationVerifier, whole_weight: float) -> None:
        self._verifier, self._whole_weight = verifier, whole_weight

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim."""
        passages = self._verifier.score(claims, sources)
        parts: list[tuple[ScoredPart, ...]] = [()] * len(claims)
        if self._whole_weight < 1:
            parts = score_parts(self._verifier, claims, sources)
        return [
            SourceScore(combine(own, texts, claim, self._whole_weight), tuple(own), texts)
            for claim, own, texts in zip(claims, passages, parts, strict=True)
        ]


def score_parts(
    verifier: CitationVerifier, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
) -> list[tuple[ScoredPart, ...]]:
    """Return the parts of each claim with the best passage of its source for each of them."""
    texts = [[part.text for part in subclaims(claim.claim)] for claim in claims]
    variants = [
        replace(claim, claim=text, span=None)
        for claim, own in zip(claims, texts, strict=True)
        for text in own
    ]
    passages = [source for source, own in zip(sources, texts, strict=True) for _ in own]
    scores = iter(verifier.score(variants, passages))
    results = []
    for own in texts:
        parts = []
        for text in own:
            row = next(scores)
            best = row.index(max(row))
            parts.append(ScoredPart(text, row[best], best))
        results.append(tuple(parts))
    return results


def combine(
    passages: Sequence[float], parts: Sequence[ScoredPart], claim: CitedClaim, whole_weight: float
) -> float:
    """Return the score of a source (see `PassageAggregator`)."""
    whole = max(passages)
    if whole_weight == 1 or not parts:
        return whole
    return whole_weight * whole + (1 - whole_weight) * mean_of_parts(claim, parts)


def mean_of_parts(claim: CitedClaim, parts: Sequence[ScoredPart]) -> float:
    """Return the mean of the scores of parts, weighted by their shares of content words."""
    shares = [part.share for part in subclaims(claim.claim)]
    return sum(share * part.score for share, part in zip(shares, parts, strict=True))


#: Suffix of the feature that is the mean score over the parts of the claim.
PARTS = "_parts"
#: The feature of the names and values that a source lacks.
UNCOVERED = "uncovered"
#: The feature of sources that are read: log-odds that their best sentences entail the claim.
ENTAILED = "entailed"


class MixedScorer:
    """Score sources by the weighted sum of standardised features.

    The features are, for each verifier, its highest score of a passage and the mean over the parts
    of the claim of their highest scores (suffix ``_parts``), and `UNCOVERED`. A passage is scored
    by the verifiers alone, with the same weights. `verifiers`: the verifiers by name; the parts of
    the claim have the scores of the first one. `weights`: the weight of each feature. `reader`:
    reads the best sentences of sources, which gives the feature `ENTAILED`; None for none.
    """

    def __init__(
        self,
        verifiers: Mapping[str, CitationVerifier],
        weights: Mapping[str, FeatureWeight],
        reader: SourceReader | None = None,
    ) -> None:
        self._extractor = MixedFeatures(verifiers, reader)
        self._weights = dict(weights)
        unknown = [name for name in weights if name not in self._extractor.names]
        if unknown:
            raise ValueError(f"no feature {unknown[0]!r} of the verifiers {', '.join(verifiers)}")

    def score_sources(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceScore]:
        """Return the score of the source of each claim."""
        extracted = self._extractor.extract(claims, sources)
        return [self._score(features) for features in extracted]

    def _score(self, extracted: ExtractedFeatures) -> SourceScore:
        total = 0.0
        for name, weight in self._weights.items():
            total += weight.weight * (extracted.values[name] - weight.mean) / weight.deviation
        scales = {name: max(self._scale(name), 0.0) for name in extracted.passages}
        rows = zip(*extracted.passages.values(), strict=True)
        passages = tuple(
            sum(scale * score for scale, score in zip(scales.values(), row, strict=True))
            for row in rows
        )
        return SourceScore(total, passages, extracted.parts, extracted.reading)

    def _scale(self, verifier: str) -> float:
        """Return what a point of a verifier is worth, for the whole claim and its parts."""
        own = (self._weights.get(verifier + suffix) for suffix in ("", PARTS))
        return sum(each.weight / each.deviation for each in own if each is not None)


@dataclass(frozen=True, slots=True)
class ExtractedFeatures:
    """The features of a claim and its source."""

    values: Mapping[str, float]
    passages: Mapping[str, Sequence[float]]
    parts: tuple[ScoredPart, ...]  # the parts of the claim with the scores of the first verifier
    reading: SourceReading | None = None


class MixedFeatures:
    """Extracts the features of `MixedScorer`."""

    def __init__(
        self, verifiers: Mapping[str, CitationVerifier], reader: SourceReader | None = None
    ) -> None:
        self._verifiers, self._reader = dict(verifiers), reader

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        own = [name + suffix for name in self._verifiers for suffix in ("", PARTS)]
        return (*own, UNCOVERED, *([ENTAILED] if self._reader else []))

    def extract(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[ExtractedFeatures]:
        """Return the features of each claim and its source."""
        passages, parts = {}, {}
        for name, verifier in self._verifiers.items():
            passages[name] = verifier.score(claims, sources)
            parts[name] = score_parts(verifier, claims, sources)
        first = next(iter(self._verifiers))
        readings: Sequence[SourceReading | None] = [None] * len(claims)
        if self._reader is not None:
            readings = self._reader.read([claim.claim for claim in claims], sources)
        extracted = []
        for at, (claim, source) in enumerate(zip(claims, sources, strict=True)):
            own = {name: scores[at] for name, scores in passages.items()}
            values = {UNCOVERED: uncovered(claim.claim, source)}
            for name in self._verifiers:
                values[name] = max(own[name])
                values[name + PARTS] = mean_of_parts(claim, parts[name][at])
            reading = readings[at]
            if reading is not None:
                values[ENTAILED] = reading.entailed
            extracted.append(ExtractedFeatures(values, own, parts[first][at], reading))
        return extracted


#: Weight of the whole claim beside its parts.
WHOLE_WEIGHT = 0.5


class VerifierFactory:
    """Makes verifiers that share a classifier."""

    def __init__(self, config: CitationConfig, stems: TermWeights) -> None:
        self._config, self._stems = config, stems
        runtime = RetrievalConfig(device=config.device, precision=config.precision)
        self._device, self._dtype = choose_device(config.device), choose_dtype(runtime)

    def verifier(self, name: str, context: ContextForm = "claim") -> CitationVerifier:
        """Return a verifier by name; all but `coverage` read the best passages only.

        Raises AdmiralError if files of it are missing or damaged.
        """
        coverage = CoverageVerifier(self._stems, context)
        if name == "coverage":
            return coverage
        # The passages are chosen by the claim alone, so that the context changes one thing only.
        cheap = CoverageVerifier(self._stems)
        return CascadeVerifier(cheap, self._close(name, context), self._config.verify_passages)

    def reader(self) -> SourceReader:
        """Return what reads sources with the model in `classifier`."""
        return SourceReader(self._classifier, self._stems)

    def _close(self, name: str, context: ContextForm) -> CitationVerifier:
        if name == "late":
            encoder = MeanPoolingEncoder(
                minilm_directory(), MINILM, device=self._device, dtype=self._dtype
            )
            return LateInteractionVerifier(SentenceStates(encoder), context)
        return PairClassifierVerifier(self._classifier, context)

    @cached_property
    def _classifier(self) -> Verifier:
        name = self._config.classifier
        threads = self._config.threads or len(os.sched_getaffinity(0))
        return open_named_verifier(
            name, "setting 'classifier'", device=self._device, threads=threads
        )


def open_scorer(
    config: CitationConfig, weights: CitationWeights, stems: TermWeights
) -> SourceScorer:
    """Open the verifier of the settings.

    Raises AdmiralError if files of it are missing or damaged.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    factory = VerifierFactory(config, stems)
    if config.verifier == "mixed":
        names = mixed_verifiers(weights.mixed)
        try:
            verifiers = {name: factory.verifier(name) for name in names}
            reader = factory.reader() if ENTAILED in weights.mixed else None
            return MixedScorer(verifiers, weights.mixed, reader)
        except ValueError as error:
            raise AdmiralError(f"setting 'weights': {error}; fit them anew") from error
    context = cast(ContextForm, config.context)
    whole = 1.0 if config.aggregate == "max" else WHOLE_WEIGHT
    return PassageAggregator(factory.verifier(config.verifier, context), whole)


def mixed_verifiers(features: Mapping[str, object] | Iterable[str]) -> list[str]:
    """Return the verifiers that features are made of; `coverage` comes first."""
    names = [name.removesuffix(PARTS) for name in features if name not in (UNCOVERED, ENTAILED)]
    return list(dict.fromkeys(["coverage", *names]))


def open_weights(config: CitationConfig) -> CitationWeights:
    """Return the weights of the settings.

    Raises AdmiralError if the file cannot be used.
    """
    if not config.weights:
        return CitationWeights.bundled()
    try:
        return CitationWeights.read(Path(config.weights))
    except AdmiralError as error:
        raise AdmiralError(f"setting 'weights': {error}") from error
