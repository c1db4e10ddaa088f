"""The quotations of a reader: which words of the evidence a span of the claim may be joined to.

The reader scores every run of words, and rules say which of them an operator may join to a span.
What says the same states no other value: "£9.7 million" is not "£4.2 million". What excludes a
value is another value of its kind, where the evidence states one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proofs.logic.proof import QuotableText
from proofs.logic.words import Quotation, content_stems, split_words, stems
from proofs.reader.inputs import ReaderInput
from proofs.verifier import Sentence
from proofs.verifier.stated_values import Token, decide, tokens

# Added to the log-probability of a quotation that has all content words of its span.
_SHARED = 10.0
# Added to that of one that has the value of its span.
_AGREES = 6.0
_FORBIDDEN = -1e4


@dataclass(frozen=True, slots=True)
class Places:
    """The places of an input that a span may quote."""

    quotations: list[Quotation]
    sentences: np.ndarray  # number of the sentence of each, (places,)
    first: np.ndarray  # position of its first token, (places,)
    last: np.ndarray  # position of its last token, (places,)
    shared: np.ndarray  # share of the content of each span that it has, (spans, places)
    agrees: np.ndarray  # whether it states a value of the span, (spans, places)
    differs: np.ndarray  # whether it states another value of the same kind alone, (spans, places)

    @classmethod
    def of(cls, claim: str, window: Sequence[Sentence], item: ReaderInput) -> Places:
        """Return the titles' and sentences' runs of words that may be quotations."""
        spans = [claim[begin:end] for begin, end in item.places]
        contents = [content_stems(span) for span in spans]
        sizes = [[max(sum(w.is_content for w in split_words(span)), 1)] for span in spans]
        values = [stated_values(span) for span in spans]
        quotations: list[Quotation] = []
        rows: list[tuple[int, int, int]] = []
        shared = [np.zeros((len(spans), 0))]
        agrees, differs = [np.zeros((len(spans), 0), bool)], [np.zeros((len(spans), 0), bool)]
        for number, (marker, offsets) in enumerate(zip(item.markers, item.offsets, strict=True)):
            title, sentence = window[number]
            begins, ends = np.array(offsets, dtype=int).reshape(-1, 2).T
            moved = len(title) + 2 if title else 0
            for text, shift, in_title in ((title, 0, True), (sentence, moved, False)):
                quotable = QuotableText.from_text(text, title)
                words = [w for w in quotable.words if w.start + shift < ends.max(initial=0)]
                # The first token that ends behind the start of a word, and the last one that
                # begins before its end.
                starts = (
                    marker + 1 + np.searchsorted(ends, [w.start + shift for w in words], "right")
                )
                stops = marker + np.searchsorted(begins, [w.end + shift for w in words])
                stated = stated_values(text)
                # No quotation cuts a value in two.
                inside = {edge for _, begin, end, _ in stated for edge in range(begin + 1, end)}
                found = [
                    (at, last)
                    for at in range(len(words))
                    for last in quotable.span_ends(at)
                    if last < len(words)
                    and starts[at] <= stops[last]
                    and inside.isdisjoint((words[at].start, words[last].end))
                ]
                rows += [(number, starts[at], stops[last]) for at, last in found]
                placed = [
                    Quotation(title, number, words[at].start, words[last].end, in_title)
                    for at, last in found
                ]
                quotations += placed
                said = [stems(w.norm) if w.is_content else frozenset[str]() for w in words]
                hits = np.array([[bool(content & one) for one in said] for content in contents])
                before = np.cumsum(np.pad(hits.reshape(len(spans), -1), ((0, 0), (1, 0))), 1)
                runs = np.array(found, dtype=int).reshape(-1, 2)
                counts = before[:, runs[:, 1] + 1] - before[:, runs[:, 0]]
                shared.append(np.minimum(counts / sizes, 1.0))
                same, other = _compared(values, stated, placed)
                agrees.append(same)
                differs.append(other & ~same)
        sentences, first, last = np.array(rows, dtype=int).reshape(-1, 3).T
        return cls(
            quotations,
            sentences,
            first,
            last,
            np.concatenate(shared, axis=1),
            np.concatenate(agrees, axis=1),
            np.concatenate(differs, axis=1),
        )

    def best(
        self, quoted: np.ndarray, begins: np.ndarray, ends: np.ndarray
    ) -> tuple[list[Quotation | None], list[Quotation | None]]:
        """Return the best quotations of spans: what says the same of each, and what excludes it.

        None where no place may be quoted. `quoted`, `begins`, `ends`: see `ReaderScores`.
        """
        if not self.quotations:
            nothing: list[Quotation | None] = [None] * len(quoted)
            return nothing, nothing
        total = (
            _log_shares(quoted)[:, self.sentences]
            + _log_shares(begins)[:, self.first]
            + _log_shares(ends)[:, self.last]
            + _SHARED * self.shared
        )
        # Where the best words state another value, and none state that of the span, they do not
        # say the same.
        same = total + _AGREES * self.agrees
        best = np.eye(total.shape[1], dtype=bool)[same.argmax(-1)]
        denied = (best & self.differs).any(1) & ~self.agrees.any(1)
        same = np.where(self.differs | denied[:, None], _FORBIDDEN, same)
        allowed = np.where(self.differs.any(1, keepdims=True), self.differs, ~self.agrees)
        return self._chosen(same), self._chosen(np.where(allowed, total, _FORBIDDEN))

    def _chosen(self, total: np.ndarray) -> list[Quotation | None]:
        best = total.argmax(-1)
        return [
            self.quotations[at] if row[at] > _FORBIDDEN / 2 else None
            for row, at in zip(total, best, strict=True)
        ]


def stated_values(text: str) -> list[Token]:
    """Return the values of a text."""
    return [token for token in tokens(text) if token.value is not None]


def _compared(
    values: Sequence[Sequence[Token]],
    stated: Sequence[Token],
    places: Sequence[Quotation],
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether places state a value of each span, and whether they state another of its kind.

    Both (spans, places).
    """
    same, other = np.zeros((2, len(values), len(places)), bool)
    inside = np.array(
        [[p.start <= begin and end <= p.end for p in places] for _, begin, end, _ in stated], bool
    ).reshape(len(stated), len(places))
    for row, own in enumerate(values):
        for claimed in own:
            for at, token in enumerate(stated):
                if claimed.value and token.value and token.value.kind == claimed.value.kind:
                    differs = decide(claimed.value, token.value) == "contradiction"
                    (other if differs else same)[row] |= inside[at]
    return same, other


def _log_shares(scores: np.ndarray) -> np.ndarray:
    shifted = scores.astype(np.float64) - scores.max(-1, keepdims=True)
    shares: np.ndarray = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shares
