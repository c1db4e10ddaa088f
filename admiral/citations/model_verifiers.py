"""Verify by models: sentence embeddings, proofs, and classifiers of claims and evidence.

`SimilarityVerifier` compares the claim with the sentences of a passage, each as one vector;
`LateInteractionVerifier` compares their tokens, as ColBERT does (Khattab and Zaharia, 2020). Both
need no training.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch.nn.functional import normalize

from admiral.citations.citation_records import CitedClaim, ContextForm, claim_in_context
from admiral.io.sentence_splitter import split_sentences
from admiral.library import Passage
from admiral.retrieval.rerankers import MAX_TOKENS, MeanPoolingEncoder
from proofs.judges.calibrated import CalibratedJudge
from proofs.judges.fitted_weights import log_odds
from proofs.verifier import LABELS, Verifier

#: Tokens of a claim in context: the room without the special tokens.
CLAIM_TOKENS = MAX_TOKENS - 2
# Tokens in the cache: 150 MB with states of 384 float16 numbers.
_CACHED_TOKENS = 200_000


@dataclass(frozen=True, slots=True)
class TextStates:
    """The states of a text."""

    vector: torch.Tensor  # the mean of all states, scaled to length 1; float32, (width,)
    # the states of the tokens without the special ones, scaled to length 1; float16, (tokens,
    # width)
    tokens: torch.Tensor


class SentenceStates:
    """Encodes sentences, and keeps the states of the most recently used ones."""

    def __init__(self, encoder: MeanPoolingEncoder) -> None:
        self._encoder = encoder
        self._cache: OrderedDict[str, TextStates] = OrderedDict()
        self._cached_tokens = 0
        self._lock = threading.Lock()

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a text, without special ones."""
        return self._encoder.token_count(_encodable(text))

    def of(self, texts: Sequence[str]) -> dict[str, TextStates]:
        """Return the states of texts, by text."""
        states: dict[str, TextStates] = {}
        with self._lock:
            for text in texts:
                if (cached := self._cache.get(text)) is not None:
                    states[text] = cached
                    self._cache.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in states]
        states_of_missing = self._encoder.token_states(list(map(_encodable, missing)))
        new = {
            text: TextStates(normalize(rows.mean(0), dim=-1), normalize(rows[1:-1], dim=-1).half())
            for text, rows in zip(missing, states_of_missing, strict=True)
        }
        with self._lock:
            for text, one in new.items():
                if text not in self._cache:
                    self._cache[text] = one
                    self._cached_tokens += len(one.tokens)
            while self._cached_tokens > _CACHED_TOKENS:
                _, oldest = self._cache.popitem(last=False)
                self._cached_tokens -= len(oldest.tokens)
        return states | new


def _encodable(text: str) -> str:
    """Replace lone surrogates, which a tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


# The lowest cosine: the score of a passage without words.
_LOWEST = -1.0


class _StateVerifier(ABC):
    """Score passages by encoder states of the claim and of their sentences."""

    def __init__(self, states: SentenceStates, context: ContextForm = "claim") -> None:
        self._states, self._context = states, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        return [
            self._scores(*encoded_texts(self._states, claim, self._context, own))
            for claim, own in zip(claims, passages, strict=True)
        ]

    @abstractmethod
    def _scores(
        self, query: TextStates, sentences: list[list[str]], states: dict[str, TextStates]
    ) -> list[float]: ...


class SimilarityVerifier(_StateVerifier):
    """Score passages by the highest cosine of the claim with one of their sentences."""

    def _scores(
        self, query: TextStates, sentences: list[list[str]], states: dict[str, TextStates]
    ) -> list[float]:
        cosines = {text: float(one.vector @ query.vector) for text, one in states.items()}
        return [max((cosines[s] for s in texts), default=_LOWEST) for texts in sentences]


class LateInteractionVerifier(_StateVerifier):
    """Score passages by the mean over the claim's tokens of their highest cosine with any token."""

    def _scores(
        self, query: TextStates, sentences: list[list[str]], states: dict[str, TextStates]
    ) -> list[float]:
        tokens = query.tokens.float()
        # For each sentence, the highest cosine of each token of the claim.
        best = {
            text: (tokens @ one.tokens.float().T).amax(1)
            for text, one in states.items()
            if len(one.tokens)
        }
        return [_mean_of_best([best[s] for s in texts if s in best]) for texts in sentences]


def _mean_of_best(rows: Sequence[torch.Tensor]) -> float:
    if not rows or not len(rows[0]):
        return _LOWEST
    return float(torch.stack(list(rows)).amax(0).mean())


def encoded_texts(
    encoder: SentenceStates, claim: CitedClaim, context: ContextForm, passages: Sequence[Passage]
) -> tuple[TextStates, list[list[str]], dict[str, TextStates]]:
    """Return the states of a claim, the sentences of each passage, and their states by text."""
    text = claim_in_context(claim, context, max_tokens=CLAIM_TOKENS, cost=encoder.token_count)
    sentences = [split_sentences(passage.text) for passage in passages]
    states = encoder.of([text, *dict.fromkeys(chain(*sentences))])
    query = states.pop(text) if text not in chain(*sentences) else states[text]
    return query, sentences, states


# The proof aligns every span of the claim with every span of the evidence.
_MAX_WORDS = 100
# The score of a passage or claim without words, below that of any proof.
_LOWEST_PROOF = -10.0


class ProofVerifier:
    """Score passages by the proof that the calibrated judge writes from their sentences.

    The score is the negative of the highest step score: that of the step that is covered least.
    """

    def __init__(self, context: ContextForm = "claim") -> None:
        self._judge, self._context = CalibratedJudge(), context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            text = claim_in_context(claim, self._context, max_tokens=_MAX_WORDS)
            scores.append([self._score(text, passage) for passage in own])
        return scores

    def _score(self, claim: str, passage: Passage) -> float:
        evidence = [(passage.title, text) for text in split_sentences(passage.text)]
        highest = self._judge.highest_score(claim, evidence)
        return _LOWEST_PROOF if highest is None else max(-highest, _LOWEST_PROOF)


_ENTAILED = LABELS.index("entailment")


class PairClassifierVerifier:
    """Score passages by the log-odds that their sentences entail the claim."""

    def __init__(self, verifier: Verifier, context: ContextForm = "claim") -> None:
        self._verifier, self._context = verifier, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        pairs = [
            (claim_in_context(claim, self._context), _sentences(passage))
            for claim, own in zip(claims, passages, strict=True)
            for passage in own
        ]
        readings = self._verifier.read([c for c, _ in pairs], [texts for _, texts in pairs])
        scores = iter(log_odds(float(reading.labels[_ENTAILED])) for reading in readings)
        return [[next(scores) for _ in own] for own in passages]


def _sentences(passage: Passage) -> list[tuple[str, str]]:
    return [(passage.title, text) for text in split_sentences(passage.text) or [passage.text]]
