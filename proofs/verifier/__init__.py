"""The input and output of verifiers: sentences of evidence, labels, calibration and readings.

A verifier estimates how likely the evidence entails the claim, contradicts it, or does neither. It
is one of ours, any Hugging Face sequence classifier, a chat model, or a class of the user.

A calibration makes probabilities true shares. The outputs of a model are divided by a temperature:
above 1, probabilities become less extreme. A number is then added to that of neutral, since
training examples leave claims open more often, or less often, than evidence in use. Both depend on
the kind of evidence. They are in a JSON file beside the weights, which `training.calibration`
writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from proofs.logic.words import Quotation

Read = TypeVar("Read")


def encodable(text: str) -> str:
    """Return the text with ``?`` in place of lone surrogates, which have no UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


#: What evidence can do to a claim, in the order of all probabilities of the verifier.
LABELS = ("entailment", "neutral", "contradiction")
#: A sentence of evidence: the title of its document, which may be empty, and its text.
Sentence = tuple[str, str]
NEUTRAL = LABELS.index("neutral")
#: The probabilities of `LABELS` for what is not read.
NOTHING_KNOWN = np.eye(len(LABELS))[NEUTRAL]
NOTHING_KNOWN.flags.writeable = False


class VerifierError(ValueError):
    """A verifier cannot be opened or used; the message says where, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values that decide a claim, where nothing has to be guessed."""

    label: str  # ``entailment`` or ``contradiction``
    # the words of the claim and of the sentence that were compared, or two dates joined by "and"
    claimed: str
    stated: str
    sentence: int  # number of the sentence in the evidence
    reason: str  # what was compared and what follows, as a sentence for readers
    claim_span: tuple[int, int]  # characters ``[start, end)`` of the claim that are compared
    quotation: Quotation  # of what is stated; of two dates, of that of the earlier event
    second: Quotation | None = None  # of the other one of two dates


@dataclass(frozen=True, slots=True)
class Reading:
    """The output of a verifier for a claim and its evidence."""

    labels: np.ndarray  # probability of each of `LABELS` for the evidence as a whole, (3,)
    sentences: np.ndarray  # the same for each sentence alone, (sentences, 3)
    # the same for each token of the claim, (tokens, 3): whether the evidence says it, does not say
    # it, or says otherwise. Empty if the verifier does not tell.
    tokens: np.ndarray = field(default_factory=lambda: np.zeros((0, len(LABELS))))
    offsets: tuple[tuple[int, int], ...] = ()  # begin and end of each token in the claim
    # numbers of the sentences that were too long to be read to their end
    unread: tuple[int, ...] = ()
    claim_cut: bool = False  # whether the claim was too long to be read to its end
    # values that decided the claim in place of the network
    comparisons: tuple[Comparison, ...] = ()
    # of a natural-logic reader, whose `labels` follow from its operators: begin and end of each
    # span of the claim, log-probabilities of its operators, (spans, 6), and its quotations: what
    # says the same, and what excludes it
    spans: tuple[tuple[int, int], ...] = ()
    operators: np.ndarray = field(default_factory=lambda: np.zeros((0, 6)))
    quotes: tuple[tuple[Quotation | None, Quotation | None], ...] = ()


def certain_of(label: str, certainty: float) -> np.ndarray:
    """Return probabilities of `LABELS` of which one is given, and the others share the rest."""
    values = np.full(len(LABELS), (1 - certainty) / (len(LABELS) - 1))
    values[LABELS.index(label)] = certainty
    return values


def nothing_known(sentences: int) -> Reading:
    """Return the reading of an empty claim, or of no evidence: neutral throughout."""
    return Reading(NOTHING_KNOWN.copy(), np.tile(NOTHING_KNOWN, (sentences, 1)))


class Verifier(Protocol):
    """Reads claims with their evidence."""

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the sentences of evidence of each claim do to it."""
        ...


def sentence_text(sentence: Sentence) -> str:
    """Return a sentence with the title of its document before it, if there is one."""
    title, text = sentence
    return f"{title}: {text}" if title else text


def document_texts(sentences: Iterable[Sentence]) -> list[str]:
    """Return the text of each document of evidence: its title, then its sentences.

    Documents are in the order of their first sentence.
    """
    documents: dict[str, list[str]] = {}
    for title, text in sentences:
        documents.setdefault(title, []).append(text)
    return [sentence_text((title, " ".join(texts))) for title, texts in documents.items()]


def evidence_text(sentences: Iterable[Sentence]) -> str:
    """Return evidence as one text (see `document_texts`)."""
    return " ".join(document_texts(sentences))


#: Name of the file in the directory of a verifier.
CALIBRATION = "calibration.json"
#: Lowest and highest values that a file may hold.
BOUNDS = {"temperature": (0.01, 100.0), "neutral": (-10.0, 10.0)}
_REMEDY = "fit it anew with training.calibration, or delete the file"


def _bounded(name: str) -> Any:
    low, high = BOUNDS[name]
    return Field(ge=low, le=high, strict=True)


@dataclass(frozen=True, slots=True)
class Scale:
    """The calibration of logits for one kind of evidence."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    # what logits are divided by
    temperature: Annotated[float, _bounded("temperature")] = 1.0
    # what is then added to the logit of neutral for the evidence as a whole
    neutral: Annotated[float, _bounded("neutral")] = 0.0

    def probabilities(self, logits: np.ndarray, *, whole: bool = True) -> np.ndarray:
        """Return the probabilities of `LABELS` for logits, both (..., 3)."""
        scaled = logits.astype(np.float64) / self.temperature
        if whole:
            scaled = scaled + self.neutral * np.eye(len(LABELS))[NEUTRAL]
        shares = np.exp(scaled - scaled.max(-1, keepdims=True))
        values: np.ndarray = shares / shares.sum(-1, keepdims=True)
        return values


@dataclass(frozen=True, slots=True)
class Calibration:
    """A scale for each kind of evidence."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    bare: Scale = Scale()  # of sentences without titles
    sentence: Scale = Scale()  # of a sentence with its title
    document: Scale = Scale()  # of several sentences of one document
    documents: Scale = Scale()  # of sentences of several documents

    def of(self, evidence: Sequence[Sentence]) -> Scale:
        """Return the scale of evidence, pairs of title and sentence."""
        scale: Scale = getattr(self, kind_of_evidence(evidence))
        return scale


#: The kinds of evidence.
KINDS = tuple(field.name for field in fields(Calibration))


def kind_of_evidence(evidence: Sequence[Sentence]) -> str:
    """Return which of `KINDS` some evidence is."""
    if not any(title for title, _ in evidence):
        return "bare"
    if len(evidence) < 2:
        return "sentence"
    return "document" if len({title for title, _ in evidence}) == 1 else "documents"


def validated(kind: type[Read], text: bytes, where: str, remedy: str) -> Read:
    """Return what a JSON text holds of a kind.

    Raises `ValueError` if it holds anything else, with the field and the remedy.
    """
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = f" field '{'.'.join(map(str, first['loc']))}':" if first["loc"] else ""
        raise ValueError(f"{where}:{field} {first['msg']}; {remedy}") from None


def read_calibration(directory: Path) -> Calibration:
    """Return the calibration of the verifier in a directory; a neutral one if none was fitted.

    Raises `ValueError` if the file holds anything else, with the file, the field and the remedy.
    """
    path = directory / CALIBRATION
    if not path.exists():
        return Calibration()
    return validated(Calibration, path.read_bytes(), str(path), _REMEDY)


def calibration_json(calibration: Calibration) -> str:
    """Return the text of a file that `read_calibration` reads."""
    return json.dumps(asdict(calibration), indent=2) + "\n"
