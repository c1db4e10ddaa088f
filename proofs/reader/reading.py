"""The natural-logic reader at work: the operator and the quotation of each span of a claim.

An exported reader runs without torch. Its directory, which `training.export_reader` writes, holds
the model (``reader.onnx``), its tokenizer (``tokenizer.json``), and ``reader.json``: the maximum
length of inputs, the special tokens, and the calibration.

The calibration is of the operators, so that the verdict stays what its proof says: their
log-probabilities are divided by a temperature, and a number is added to that of independence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proofs.logic import OPERATORS, NatOp
from proofs.logic.proof import QuotableText
from proofs.logic.words import Quotation
from proofs.reader.automaton import verdict_shares
from proofs.reader.inputs import ReaderEncoder, ReaderInput
from proofs.verifier import Calibration, Reading, Scale, Sentence
from proofs.verifier.exports import OnnxModel, read_export
from proofs.verifier.windows import WindowReader, sentence_probabilities

_INDEPENDENT = OPERATORS.index(NatOp.INDEPENDENCE)
_IMPOSSIBLE = -1e4


@dataclass(frozen=True, slots=True)
class ReaderScores:
    """What a reader says of one input."""

    operators: np.ndarray  # log-probabilities of the operators of each span, (spans, 6)
    sentences: np.ndarray  # logits of what each sentence does to the claim, (sentences, 3)
    quoted: np.ndarray  # scores of the sentences for the quotation of a span, (spans, sentences)
    # scores of all tokens as the first and the last one of the quotation, (spans, length)
    begins: np.ndarray
    ends: np.ndarray


# Runs a model on one input.
ReaderBackend = Callable[[ReaderInput], ReaderScores]


class ProofReader(WindowReader[ReaderInput]):
    """Reads claims with their evidence, span by span.

    `backend`: runs the model. Inputs run one by one, so that a reading does not depend on others.
    """

    def __init__(
        self,
        backend: ReaderBackend,
        encoder: ReaderEncoder,
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
    ) -> None:
        self._backend, self._encoder, self.calibration = backend, encoder, calibration

    def _encode(self, claim: str, window: list[Sentence]) -> ReaderInput:
        (item,) = self._encoder.encode([claim], [window])
        return item

    def _scale(self, evidence: Sequence[Sentence]) -> Scale:
        return self.calibration.of(evidence)

    def _run(self, claim: str, window: list[Sentence], item: ReaderInput, scale: Scale) -> Reading:
        scores = self._backend(item)
        places = _Places.of(window, item)
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

    @classmethod
    def of(cls, window: Sequence[Sentence], item: ReaderInput) -> _Places:
        """Return the titles' and sentences' runs of words that may be quotations."""
        quotations, rows = [], []
        for number, (marker, offsets) in enumerate(zip(item.markers, item.offsets, strict=True)):
            title, sentence = window[number]
            begins = np.array([begin for begin, _ in offsets], dtype=int)
            ends = np.array([end for _, end in offsets], dtype=int)
            moved = len(title) + 2 if title else 0
            for text, shift, in_title in ((title, 0, True), (sentence, moved, False)):
                words = QuotableText.from_text(text, title)
                # The first token that ends behind the start of a word, and the last one that
                # begins before its end.
                starts = [int(np.searchsorted(ends, w.start + shift, "right")) for w in words.words]
                stops = [int(np.searchsorted(begins, w.end + shift)) - 1 for w in words.words]
                for at, word in enumerate(words.words):
                    for last in words.span_ends(at):
                        if starts[at] <= stops[last] and word.start + shift < (ends.max(initial=0)):
                            end = words.words[last].end
                            quotations.append(Quotation(title, number, word.start, end, in_title))
                            rows.append((number, marker + 1 + starts[at], marker + 1 + stops[last]))
        table = np.array(rows, dtype=int).reshape(-1, 3)
        return cls(quotations, *table.T)

    def best(self, scores: ReaderScores) -> list[Quotation | None]:
        """Return the most probable quotation of each span; None if there is no place."""
        if not self.quotations:
            return [None] * len(scores.operators)
        total = (
            _log_shares(scores.quoted)[:, self.sentences]
            + _log_shares(scores.begins)[:, self.first]
            + _log_shares(scores.ends)[:, self.last]
        )
        return [self.quotations[at] for at in total.argmax(-1)]


def _log_shares(scores: np.ndarray) -> np.ndarray:
    shifted = scores.astype(np.float64) - scores.max(-1, keepdims=True)
    shares: np.ndarray = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return shares


#: Names of the inputs and outputs of an exported model.
INPUTS, OUTPUTS = (
    ("ids", "spans", "markers"),
    ("operators", "sentences", "quoted", "begins", "ends"),
)
#: Names of the files of an exported reader.
ONNX_FILE, SETTINGS_FILE = "reader.onnx", "reader.json"


def open_reader(directory: Path, threads: int = 1) -> ProofReader:
    """Open an exported reader.

    `threads`: number of threads that onnxruntime uses for a reading.

    Raises `VerifierError` if a file is missing, damaged, or has other content; with the file, the
    field and the remedy.
    """
    tokenizer, settings = read_export(directory, SETTINGS_FILE, "export_reader")
    model = OnnxModel(directory / ONNX_FILE, INPUTS, OUTPUTS, "export_reader", threads)

    def backend(item: ReaderInput) -> ReaderScores:
        return ReaderScores(*model([item.ids], [item.spans], [item.markers]))

    encoder = ReaderEncoder(tokenizer, settings.special_tokens, settings.max_length)
    return ProofReader(backend, encoder, settings.calibration)
