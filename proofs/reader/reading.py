"""The natural-logic reader at work: the operator and the quotation of each span of a claim.

An exported reader runs without torch. Its directory, which `training.export_reader` writes, holds
the model (``reader.onnx``), its tokenizer (``tokenizer.json``), and ``verifier.json``: the maximum
length of inputs, the special tokens, and the calibration.

The calibration is of the operators, so that the verdict stays what its proof says: their
log-probabilities are divided by a temperature, and a number is added to that of independence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proofs.logic import OPERATORS, NatOp
from proofs.logic.proof import QuotableText
from proofs.logic.words import Quotation, Word, split_words
from proofs.reader.automaton import verdict_shares
from proofs.reader.inputs import ReaderEncoder, ReaderInput
from proofs.verifier import Reading, Scale, Sentence
from proofs.verifier.exports import OnnxModel, read_export
from proofs.verifier.windows import WindowReader, sentence_probabilities

_INDEPENDENT = OPERATORS.index(NatOp.INDEPENDENCE)
_IMPOSSIBLE = -1e4
# Added to the log-probability of a quotation that has all content words of its span.
_SHARED = 6.0


@dataclass(frozen=True, slots=True)
class ReaderScores:
    """The outputs of a reader for one input."""

    operators: np.ndarray  # log-probabilities of the operators of each span, (spans, 6)
    sentences: np.ndarray  # logits of what each sentence does to the claim, (sentences, 3)
    quoted: np.ndarray  # scores of the sentences for the quotation of a span, (spans, sentences)
    # scores of all tokens as the first and the last one of the quotation, (spans, length)
    begins: np.ndarray
    ends: np.ndarray


class ProofReader(WindowReader[ReaderInput, ReaderScores]):
    """Reads claims with their evidence, span by span."""

    def _reading(
        self,
        claim: str,
        window: list[Sentence],
        item: ReaderInput,
        scores: ReaderScores,
        scale: Scale,
    ) -> Reading:
        places = _Places.of(claim, window, item)
        quotes = places.best(scores)
        operators = scaled(scores.operators, scale)
        for row, quote in zip(operators, quotes, strict=True):
            if quote is None:  # nothing can be quoted
                row[:] = _IMPOSSIBLE
                row[_INDEPENDENT] = 0.0
        return Reading(
            verdict_shares(operators),
            sentence_probabilities(scores.sentences, len(window), scale),
            unread=tuple(item.unread),
            claim_cut=item.claim_cut,
            spans=tuple(item.places),
            operators=operators,
            quotes=tuple(quotes),
        )


def scaled(operators: np.ndarray, scale: Scale) -> np.ndarray:
    """Return the calibrated log-probabilities of operators, (spans, 6)."""
    values = operators.astype(np.float64) / scale.temperature
    values[:, _INDEPENDENT] += scale.neutral
    values -= values.max(-1, keepdims=True)
    shares: np.ndarray = values - np.log(np.exp(values).sum(-1, keepdims=True))
    return shares


@dataclass(frozen=True, slots=True)
class _Places:
    """The places of an input that a span may quote."""

    quotations: list[Quotation]
    sentences: np.ndarray  # number of the sentence of each, (places,)
    first: np.ndarray  # position of its first token, (places,)
    last: np.ndarray  # position of its last token, (places,)
    shared: np.ndarray  # share of the content of each span that it has, (spans, places)

    @classmethod
    def of(cls, claim: str, window: Sequence[Sentence], item: ReaderInput) -> _Places:
        """Return the titles' and sentences' runs of words that may be quotations."""
        contents = [_content(split_words(claim[begin:end])) for begin, end in item.places]
        quotations: list[Quotation] = []
        rows: list[tuple[int, int, int]] = []
        shared: list[np.ndarray] = [np.zeros((len(contents), 0))]
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
                found = [
                    (at, last)
                    for at in range(len(words))
                    for last in quotable.span_ends(at)
                    if last < len(words) and starts[at] <= stops[last]
                ]
                rows += [(number, starts[at], stops[last]) for at, last in found]
                quotations += [
                    Quotation(title, number, words[at].start, words[last].end, in_title)
                    for at, last in found
                ]
                said = [_content([word]) for word in words]
                hits = np.array([[bool(own & one) for one in said] for own in contents])
                before = np.cumsum(np.pad(hits.reshape(len(contents), -1), ((0, 0), (1, 0))), 1)
                runs = np.array(found, dtype=int).reshape(-1, 2)
                sizes = np.array([[max(len(own), 1)] for own in contents])
                counts = before[:, runs[:, 1] + 1] - before[:, runs[:, 0]]
                shared.append(np.minimum(counts / sizes, 1.0))
        table = np.array(rows, dtype=int).reshape(-1, 3)
        sentences, first, last = table.T
        return cls(quotations, sentences, first, last, np.concatenate(shared, axis=1))

    def best(self, scores: ReaderScores) -> list[Quotation | None]:
        """Return the most probable quotation of each span; None if there is no place.

        Words of the span itself are preferred.
        """
        if not self.quotations:
            return [None] * len(scores.operators)
        total = (
            _log_shares(scores.quoted)[:, self.sentences]
            + _log_shares(scores.begins)[:, self.first]
            + _log_shares(scores.ends)[:, self.last]
            + _SHARED * self.shared
        )
        return [self.quotations[at] for at in total.argmax(-1)]


def _content(words: Iterable[Word]) -> frozenset[str]:
    return frozenset(word.norm for word in words if word.is_content)


def _log_shares(scores: np.ndarray) -> np.ndarray:
    shifted = scores.astype(np.float64) - scores.max(-1, keepdims=True)
    shares: np.ndarray = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shares


#: Names of the inputs and outputs of an exported model.
INPUTS, OUTPUTS = (
    ("ids", "spans", "markers"),
    ("operators", "sentences", "quoted", "begins", "ends"),
)
ONNX_FILE = "reader.onnx"


def open_reader(directory: Path, threads: int = 1) -> ProofReader:
    """Open an exported reader.

    `threads`: number of threads that onnxruntime uses for a reading.

    Raises `VerifierError` if a file is missing, damaged, or has other content; with the file, the
    field and the remedy.
    """
    tokenizer, settings = read_export(directory, "export_reader")
    model = OnnxModel(directory / ONNX_FILE, INPUTS, OUTPUTS, "export_reader", threads)

    def backend(item: ReaderInput) -> ReaderScores:
        return ReaderScores(*model([item.ids], [item.spans], [item.markers]))

    encoder = ReaderEncoder(tokenizer, settings.special_tokens, settings.max_length)
    return ProofReader(backend, encoder, settings.calibration)
