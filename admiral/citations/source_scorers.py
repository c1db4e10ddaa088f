"""From the scores of passages, and of parts of a claim, to the score of a source.

The evidence of a claim is often spread over a page, and the verifier reads few sentences at a time.
It gets those that together cover most of the claim's words: the first is the sentence that covers
most, and each further one is worth what it adds and half of what it covers itself.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import torch

from admiral.citations.citation_records import CitedClaim, ScoredPart
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import CitationWeights, FeatureWeight, log_odds
from admiral.citations.claim_context import ContextForm
from admiral.citations.claim_parts import subclaims
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
    reading: SourceReading | None = None


class FeatureExtractor:
    """Extract the features of claims and their sources.

    They are, for each verifier, its highest score of a passage and the mean over the parts of the
    claim of their highest scores (suffix ``_parts``), weighted by their shares of content words;
    `UNCOVERED`; and with a reader of the best sentences of sources, `ENTAILED`.

    `verifiers`: the verifiers by name; the parts of the claim have the scores of the first one.
    """

    def __init__(
        self,
        verifiers: Mapping[str, CitationVerifier],
        reader: SourceReader | None = None,
        *,
        with_parts: bool = True,
    ) -> None:
        self._verifiers, self._reader, self._with_parts = dict(verifiers), reader, with_parts

    def extract(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceFeatures]:
        """Return the features of each claim and its source."""
        passages = {name: each.score(claims, sources) for name, each in self._verifiers.items()}
        parts = {
            name: _score_parts(each, claims, sources) if self._with_parts else [()] * len(claims)
            for name, each in self._verifiers.items()
        }
        readings: Sequence[SourceReading | None] = [None] * len(claims)
        if self._reader is not None:
            readings = self._reader.read([claim.claim for claim in claims], sources)
        extracted = []
        for at, (claim, source, reading) in enumerate(zip(claims, sources, readings, strict=True)):
            shares = [part.share for part in subclaims(claim.claim)]
            own = {name: scores[at] for name, scores in passages.items()}
            values = {UNCOVERED: uncovered(claim.claim, source)}
            for name, scored in parts.items():
                values[name] = max(own[name])
                scores = (part.score for part in scored[at])
                mean = sum(map(operator.mul, shares, scores))
                values[name + PARTS] = mean if scored[at] else values[name]
            if reading is not None:
                values[ENTAILED] = reading.entailed
            first = next(iter(parts.values()))
            extracted.append(SourceFeatures(values, own, first[at], reading))
        return extracted


def _score_parts(
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
    rows = iter(verifier.score(variants, passages))
    return [
        tuple(
            ScoredPart(text, max(row), row.index(max(row)))
            for text, row in zip(own, rows, strict=False)
        )
        for own in texts
    ]


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
        with_parts = any(name.endswith(PARTS) for name in weights)
        self._extractor = FeatureExtractor(verifiers, reader, with_parts=with_parts)
        self._weights = dict(weights)

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
        return [self._score(features) for features in self._extractor.extract(claims, sources)]

    def _score(self, features: SourceFeatures) -> SourceScore:
        total = 0.0
        for name, weight in self._weights.items():
            total += weight.weight * (features.values[name] - weight.mean) / weight.deviation
        # What a point of a verifier is worth, for the whole claim and its parts.
        worth = [
            max(sum(map(self._worth, (name, name + PARTS))), 0.0) for name in features.passages
        ]
        rows = zip(*features.passages.values(), strict=True)
        passages = tuple(sum(map(operator.mul, worth, row)) for row in rows)
        return SourceScore(total, passages, features.parts, features.reading)

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
    """Open the verifier of the settings."""
    if config.threads:
        torch.set_num_threads(config.threads)
    factory = VerifierFactory(config, stems)
    if config.verifier != "mixed":
        whole = 1.0 if config.aggregate == "max" else WHOLE_WEIGHT
        return SourceScorer.of(
            config.verifier, factory.verifier(config.verifier, config.context), whole
        )
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


def open_weights(config: CitationConfig) -> CitationWeights:
    """Return the weights of the settings."""
    if not config.weights:
        return CitationWeights.bundled()
    try:
        return CitationWeights.read(Path(config.weights))
    except AdmiralError as error:
        raise AdmiralError(f"setting 'weights': {error}") from error
