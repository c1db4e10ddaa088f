"""Find the parts of a claim that its source lacks, as spans of the claim.

Each word gets a score by few features: whether the best passage or the whole source contains it,
and how much of its surroundings. Neighbouring words above the threshold make a span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.citations.coverage_verifier import passage_stems, text_stems
from admiral.library.source_records import Passage
from proofs.drafting.chunking import chunk
from proofs.judges.fitted_weights import fields, number, numbers
from proofs.logic.words import has_content, word_spans

_SEVERAL = 3  # words

#: The features of a word. Each is explained where it is computed.
WORD_FEATURES = (
    "content",
    "passage_lacks",
    "source_lacks",
    "name",
    "previous",
    "next",
    "between",
    "span",
    "position",
)


@dataclass(frozen=True, slots=True)
class MissingWords:
    """Weights of the features of words."""

    weights: Mapping[str, float]  # the weight of each of `WORD_FEATURES`
    threshold: float  # words with a higher sum are missing

    @classmethod
    def parse(cls, path: Path, where: str, record: Any) -> MissingWords:
        """Read weights from a field of a file.

        Raises ValueError if a field is missing, unknown or not a number, with the file and the
        field.
        """
        values = fields(path, where, record, ("weights", "threshold"))
        weights = numbers(path, f"{where}.weights", values["weights"], WORD_FEATURES)
        return cls(weights, number(path, f"{where}.threshold", values["threshold"]))

    def to_json(self) -> dict[str, Any]:
        """Return the record that `parse` reads."""
        return asdict(self)

    def scores(
        self, claim: str, words: Sequence[tuple[int, int]], passages: Sequence[Passage], best: int
    ) -> list[float]:
        """Return how much each word of a claim is above the threshold (see `word_features`)."""
        return list(map(self.score, word_features(claim, words, passages, best)))

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
        scores = self.scores(claim, words, passages, best)
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
    runs: list[range] = []
    for at, score in enumerate(scores):
        if score > 0:
            begin = runs.pop().start if runs and runs[-1].stop == at else at
            runs.append(range(begin, at + 1))
    return runs


def word_features(
    claim: str, words: Sequence[tuple[int, int]], passages: Sequence[Passage], best: int
) -> list[tuple[float, ...]]:
    """Return the values of `WORD_FEATURES` for each word of a claim.

    `best`: position of the best passage.
    """
    in_passage = passage_stems(passages[best].text)
    in_source = frozenset[str]().union(*(passage_stems(passage.text) for passage in passages))
    stems = [text_stems(claim[start:end]) for start, end in words]
    lacking = [bool(own) and not in_passage.issuperset(own) for own in stems]
    previous, following = _neighbours(stems, lacking)
    shares = _span_shares(claim, words, stems, lacking)
    rows = []
    for at, (start, _) in enumerate(words):
        values = {
            # Whether it is more than a stop word or punctuation.
            "content": bool(stems[at]),
            # Whether the best passage, and the whole source, do not contain it.
            "passage_lacks": lacking[at],
            "source_lacks": bool(stems[at]) and not in_source.issuperset(stems[at]),
            "name": lacking[at] and claim[start].isupper(),
            # Whether the best passage lacks the content word before it, after it, and both.
            "previous": previous[at],
            "next": following[at],
            "between": previous[at] and following[at] and not stems[at],
            # Share of the content words around it that the best passage lacks.
            "span": shares[at],
            # Its position in the claim, from 0 to 1.
            "position": at / len(words),
        }
        rows.append(tuple(float(values[name]) for name in WORD_FEATURES))
    return rows


def _neighbours(
    stems: Sequence[Sequence[str]], lacking: Sequence[bool]
) -> tuple[list[bool], list[bool]]:
    """Return whether the content word before, and after, each word is lacking."""

    def scan(order: Sequence[int]) -> dict[int, bool]:
        last, found = False, {}
        for at in order:
            found[at] = last
            if stems[at]:
                last = lacking[at]
        return found

    before, after = scan(range(len(stems))), scan(range(len(stems) - 1, -1, -1))
    return [before[at] for at in range(len(stems))], [after[at] for at in range(len(stems))]


def _span_shares(
    claim: str,
    words: Sequence[tuple[int, int]],
    stems: Sequence[Sequence[str]],
    lacking: Sequence[bool],
) -> list[float]:
    """Return the share of lacking content words in the span of each word; one half without any."""
    shares = [0.5] * len(words)
    first = 0
    for _, end in chunk(claim):
        last = first
        while last < len(words) and words[last][0] < end:
            last += 1
        content = [at for at in range(first, last) if stems[at]]
        if content:
            share = sum(lacking[at] for at in content) / len(content)
            shares[first:last] = [share] * (last - first)
        first = last
    return shares
