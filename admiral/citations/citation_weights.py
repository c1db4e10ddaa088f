"""The file of fitted weights: the mixed verifier, the meaning of scores, and missing words.

`training.citations` writes it; every number has a name. The parts of a claim that its source lacks
are found as spans: each word gets a score by few features, whether the best passage or the whole
source contains it, and how much of its surroundings. Neighbouring words above the threshold make a
span.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import accumulate, groupby
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from scipy.special import expit

from admiral.citations.term_weights import passage_stems, text_stems
from admiral.errors import AdmiralError
from admiral.records import json_of, read_record
from admiral.sources import Passage
from proofs.drafting.spans import chunk
from proofs.logic.words import has_content, word_spans

_SEVERAL = 3  # words

#: The features of a word, each with its meaning.
WORD_FEATURES = {
    "content": "whether it is more than a stop word or punctuation",
    "passage_lacks": "whether the best passage does not contain it",
    "source_lacks": "whether the whole source does not contain it",
    "name": "whether it has a capital, and the best passage does not contain it",
    "previous": "whether the best passage lacks the content word before it",
    "next": "whether the best passage lacks the content word after it",
    "between": "whether it is no content word, and the passage lacks those around it",
    "span": "share of the content words of its chunk that the best passage lacks",
    "position": "its position in the claim, from 0 to 1",
}


#: A number in a file; not so large that sums of products overflow.
Number = Annotated[float, Field(strict=True, ge=-1_000_000, le=1_000_000, allow_inf_nan=False)]
Deviation = Annotated[Number, Field(gt=0)]


def _of_all_features(weights: dict[str, float]) -> dict[str, float]:
    if weights.keys() != WORD_FEATURES.keys():
        raise ValueError(f"expected a weight of each of {', '.join(WORD_FEATURES)}")
    return weights


def _ascending(quantiles: tuple[float, ...]) -> tuple[float, ...]:
    if list(quantiles) != sorted(quantiles):
        raise ValueError("expected ascending numbers")
    return quantiles


class _Weights:
    __pydantic_config__ = ConfigDict(extra="forbid")
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MissingWords(_Weights):
    """Weights of the features of words."""

    # the weight of each of `WORD_FEATURES`
    weights: Annotated[dict[str, Number], AfterValidator(_of_all_features)]
    threshold: Number  # words with a higher sum are missing

    def score(self, values: Sequence[float]) -> float:
        """Return how much a word with these values of `WORD_FEATURES` is above the threshold."""
        order = [self.weights[name] for name in WORD_FEATURES]
        total = sum(weight * value for weight, value in zip(order, values, strict=True))
        return total - self.threshold

    def spans(self, claim: str, passages: Sequence[Passage], best: int) -> tuple[str, ...]:
        """Return the parts of a claim that its source lacks, surest first, without punctuation.

        One or two common words are no part: sources often have others for them.

        `best`: position of the best passage.
        """
        words = word_spans(claim)
        scores = list(map(self.score, word_features(claim, words, passages, best)))
        found: list[tuple[float, str]] = []
        for run in marked_runs(scores):
            text = claim[words[run[0]][0] : words[run[-1]][1]].strip(" ,.;:()")
            if has_content(text) and _is_telling(text, begins=not run[0]):
                found.append((max(scores[at] for at in run), text))
        return tuple(text for _, text in sorted(found, key=lambda one: -one[0]))


def _is_telling(text: str, *, begins: bool) -> bool:
    """Return whether a text has a name or a number, or else several words.

    `begins`: whether it begins its claim, where any word has a capital.
    """
    words = text.split()
    names = [word for word in words[begins:] if word[0].isupper()]
    return len(words) >= _SEVERAL or bool(names) or any(map(str.isdigit, text))


def marked_runs(scores: Sequence[float]) -> list[range]:
    """Return the runs of successive words whose scores are above 0."""
    runs = (
        list(run) for over, run in groupby(range(len(scores)), lambda at: scores[at] > 0) if over
    )
    return [range(run[0], run[-1] + 1) for run in runs]


def word_features(
    claim: str, words: Sequence[tuple[int, int]], passages: Sequence[Passage], best: int
) -> list[tuple[float, ...]]:
    """Return the values of `WORD_FEATURES` for each word of a claim.

    `best`: position of the best passage.
    """
    in_passage = passage_stems(passages[best].text)
    in_source = frozenset[str]().union(*(passage_stems(passage.text) for passage in passages))
    stems = [text_stems(claim[start:end]) for start, end in words]
    # Whether the passage lacks each word; None for those that are no content words.
    lacks = [not in_passage.issuperset(own) if own else None for own in stems]
    previous, following = _last_known(lacks), _last_known(lacks[::-1])[::-1]
    shares = _span_shares(claim, words, lacks)
    rows = []
    for at, (start, _) in enumerate(words):
        values = {
            "content": bool(stems[at]),
            "passage_lacks": lacks[at] or False,
            "source_lacks": bool(stems[at]) and not in_source.issuperset(stems[at]),
            "name": bool(lacks[at]) and claim[start].isupper(),
            "previous": previous[at],
            "next": following[at],
            "between": previous[at] and following[at] and not stems[at],
            "span": shares[at],
            "position": at / len(words),
        }
        rows.append(tuple(float(values[name]) for name in WORD_FEATURES))
    return rows


def _last_known(values: Sequence[bool | None]) -> list[bool]:
    """Return the last known value before each."""
    known = accumulate(values, lambda last, each: last if each is None else each, initial=False)
    return list(map(bool, known))[:-1]


def _span_shares(
    claim: str, words: Sequence[tuple[int, int]], lacks: Sequence[bool | None]
) -> list[float]:
    """Return the share of lacking content words in the span of each word; one half without any."""
    shares: list[float] = []
    for _, end in chunk(claim):
        last = bisect_left(words, end, key=lambda word: word[0])
        content = [each for each in lacks[len(shares) : last] if each is not None]
        share = sum(content) / len(content) if content else 0.5
        shares += [share] * (last - len(shares))
    return shares + [0.5] * (len(words) - len(shares))


_STEPS = 100


@dataclass(frozen=True, slots=True)
class ScoreCalibration(_Weights):
    """The meaning of scores."""

    # slope, intercept: the probability of support is ``1 / (1 + exp(-(slope * score +
    # intercept)))`` (Platt, 1999)
    slope: Number
    intercept: Number
    reference: str  # citations whose scores the percentiles refer to, in words
    # the 0th to the 100th percentile of their scores, in ascending order
    quantiles: Annotated[
        tuple[Number, ...],
        Field(min_length=_STEPS + 1, max_length=_STEPS + 1),
        AfterValidator(_ascending),
    ]

    def probability(self, score: float) -> float:
        """Return the probability that a source with this score supports its claim."""
        return float(expit(self.slope * score + self.intercept))

    def percentile(self, score: float) -> float:
        """Return the share, from 0 to 100, of the reference citations with a lower score."""
        at = bisect_left(self.quantiles, score)
        if at == 0:
            return 0.0
        if at > _STEPS:
            return 100.0
        low, high = self.quantiles[at - 1], self.quantiles[at]
        return 100.0 / _STEPS * (at - 1 + (score - low) / (high - low))


@dataclass(frozen=True, slots=True)
class FeatureWeight(_Weights):
    """The weight of a feature after its mean is subtracted and it is divided by its deviation."""

    mean: Number
    deviation: Deviation
    weight: Number


@dataclass(frozen=True, slots=True)
class CitationWeights(_Weights):
    """Fitted weights of the verification of citations."""

    # the weight of each feature of the mixed verifier, by name
    mixed: Annotated[dict[str, FeatureWeight], Field(min_length=1)]
    # the meaning of the scores of verifiers, by name
    calibrations: Annotated[dict[str, ScoreCalibration], Field(min_length=1)]
    missing: MissingWords

    @classmethod
    def read(cls, path: Path) -> CitationWeights:
        """Read a file of weights."""
        try:
            record = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise AdmiralError(f"{path}: not a file of weights ({error}); fit it anew") from error
        return read_record(cls, record, str(path), "Fit it anew")

    @classmethod
    @cache
    def bundled(cls) -> CitationWeights:
        """Return the bundled weights."""
        with resources.as_file(resources.files("admiral") / "data" / "citations.json") as path:
            return cls.read(path)

    def to_json(self) -> str:
        """Return the text of a file that `read` reads."""
        return json.dumps(json_of(self), indent=1) + "\n"
