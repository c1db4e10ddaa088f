"""What verifiers read and say: sentences of evidence, labels, and readings of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


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
    """Two values that decide a claim, where nothing has to be guessed.

    Attributes
    ----------
    label
        ``entailment`` or ``contradiction``.
    claimed, stated
        The words of the claim and of the sentence that were compared.
    sentence
        Number of the sentence in the evidence.
    reason
        What was compared and what follows, as a sentence for readers.
    """

    label: str
    claimed: str
    stated: str
    sentence: int
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a verifier says of a claim and its evidence.

    Attributes
    ----------
    labels
        Probability of each of `LABELS` for the evidence as a whole, (3,).
    sentences
        The same for each sentence alone, (sentences, 3).
    tokens
        The same for each token of the claim, (tokens, 3): whether the evidence says it, does not
        say it, or says otherwise. Empty if the verifier does not tell.
    offsets
        Begin and end of each token in the claim.
    unread
        Numbers of the sentences that were too long to be read to their end.
    claim_cut
        Whether the claim was too long to be read to its end.
    comparisons
        Values that decided the claim in place of the network.
    """

    labels: np.ndarray
    sentences: np.ndarray
    tokens: np.ndarray = field(default_factory=lambda: np.zeros((0, len(LABELS))))
    offsets: tuple[tuple[int, int], ...] = ()
    unread: tuple[int, ...] = ()
    claim_cut: bool = False
    comparisons: tuple[Comparison, ...] = ()


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
