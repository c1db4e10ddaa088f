"""The natural-logic reader at work: the operator and the quotation of each span of a claim.

An exported reader runs without torch. Its directory, which `training.export_reader` writes, holds
the model (``reader.onnx``), its tokenizer (``tokenizer.json``), and ``verifier.json``: the maximum
length of inputs, the special tokens, and the calibration.

The verdict is the state in which the automaton of natural logic ends, over the distributions of
all operators; the calibration is of its probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proofs.logic import OPERATORS, REFUTING_OPERATORS, NatOp
from proofs.reader.automaton import verdict_shares
from proofs.reader.inputs import ReaderEncoder, ReaderInput
from proofs.reader.quotations import Places
from proofs.verifier import Reading, Scale, Sentence
from proofs.verifier.exports import OnnxModel, read_export
from proofs.verifier.windows import WindowReader, sentence_probabilities

_EXCLUDING = [OPERATORS.index(operator) for operator in REFUTING_OPERATORS]
_ENTAILING = [
    number
    for number, operator in enumerate(OPERATORS)
    if operator not in (NatOp.INDEPENDENCE, *REFUTING_OPERATORS)
]
_IMPOSSIBLE = -1e4
_SMALLEST = 1e-12  # a share of 0 has no logarithm


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

    max_sentences = 12

    def _reading(
        self,
        claim: str,
        window: list[Sentence],
        item: ReaderInput,
        scores: ReaderScores,
        scale: Scale,
    ) -> Reading:
        places = Places.of(claim, window, item)
        same, other = places.best(scores.quoted, scores.begins, scores.ends)
        operators = scores.operators.astype(np.float64)
        for row, quote, opposed in zip(operators, same, other, strict=True):
            if quote is None:
                row[_ENTAILING] = _IMPOSSIBLE
            if opposed is None:
                row[_EXCLUDING] = _IMPOSSIBLE
        operators -= np.log(np.exp(operators).sum(-1, keepdims=True))
        shares = verdict_shares(operators)
        return Reading(
            scale.probabilities(np.log(np.maximum(shares, _SMALLEST))),
            sentence_probabilities(scores.sentences, len(window), scale),
            unread=tuple(item.unread),
            claim_cut=item.claim_cut,
            spans=tuple(item.places),
            operators=operators,
            quotes=tuple(zip(same, other, strict=True)),
        )


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
