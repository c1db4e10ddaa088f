"""The default verifier: several verifiers and counts of uncovered words, with readable weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from admiral.citations.aggregate import SourceScore, mean_of_parts, score_parts
from admiral.citations.citation_records import CitedClaim, ScoredPart
from admiral.citations.citation_weights import FeatureWeight
from admiral.citations.verifiers.lexical_features import LEXICAL_FEATURES, lexical_features
from admiral.citations.verifiers.term_weights import TermWeights
from admiral.citations.verifiers.verifier_protocol import CitationVerifier
from admiral.library.source_records import Passage

#: Suffix of the feature that is the mean score over the parts of the claim.
PARTS = "_parts"


class MixedScorer:
    """Score sources by the weighted sum of standardised features.

    The features are, for each verifier, its highest score of a passage and the mean over the parts
    of the claim of their highest scores (suffix ``_parts``), and `LEXICAL_FEATURES`. A passage is
    scored by the verifiers alone, with the same weights.

    Parameters
    ----------
    verifiers
        The verifiers by name; the first one chooses the best passage for the lexical features.
    stems
        Weights of stems.
    weights
        The weight of each feature; verifiers that it does not name are not asked for scores.
    """

    def __init__(
        self,
        verifiers: Mapping[str, CitationVerifier],
        stems: TermWeights,
        weights: Mapping[str, FeatureWeight],
    ) -> None:
        self._extractor = MixedFeatures(verifiers, stems)
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
        return SourceScore(total, passages, extracted.parts)

    def _scale(self, verifier: str) -> float:
        """Return what a point of a verifier is worth, for the whole claim and its parts."""
        own = (self._weights.get(verifier + suffix) for suffix in ("", PARTS))
        return sum(each.weight / each.deviation for each in own if each is not None)


@dataclass(frozen=True, slots=True)
class ExtractedFeatures:
    """The features of a claim and its source.

    Attributes
    ----------
    values
        The value of each feature, by name.
    passages
        The scores of the passages, by verifier.
    parts
        The parts of the claim with the scores of the first verifier.
    """

    values: Mapping[str, float]
    passages: Mapping[str, Sequence[float]]
    parts: tuple[ScoredPart, ...]


class MixedFeatures:
    """Extracts the features of `MixedScorer`.

    Parameters
    ----------
    verifiers, stems
        See `MixedScorer`.
    """

    def __init__(self, verifiers: Mapping[str, CitationVerifier], stems: TermWeights) -> None:
        self._verifiers, self._stems = dict(verifiers), stems

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        own = [name + suffix for name in self._verifiers for suffix in ("", PARTS)]
        return (*own, *LEXICAL_FEATURES)

    def extract(
        self, claims: Sequence[CitedClaim], sources: Sequence[Sequence[Passage]]
    ) -> list[ExtractedFeatures]:
        """Return the features of each claim and its source."""
        passages, parts = {}, {}
        for name, verifier in self._verifiers.items():
            passages[name] = verifier.score(claims, sources)
            parts[name] = score_parts(verifier, claims, sources)
        first = next(iter(self._verifiers))
        extracted = []
        for at, (claim, source) in enumerate(zip(claims, sources, strict=True)):
            own = {name: scores[at] for name, scores in passages.items()}
            best = own[first].index(max(own[first]))
            values = lexical_features(claim, source, best, self._stems)
            for name in self._verifiers:
                values[name] = max(own[name])
                values[name + PARTS] = mean_of_parts(claim, parts[name][at])
            extracted.append(ExtractedFeatures(values, own, parts[first][at]))
        return extracted
