"""Verify by models: late interaction, and classifiers of claims and evidence.

`LateInteractionVerifier` compares the tokens of the claim with those of a passage, as ColBERT does
(Khattab and Zaharia, 2020), without training.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import chain

import torch
from torch.nn.functional import normalize

from admiral.citations.citation_records import CitedClaim, ContextForm, claim_in_context
from admiral.citations.citation_weights import log_odds
from admiral.io.sentence_splitter import split_sentences
from admiral.retrieval.rerankers import MAX_TOKENS, MeanPoolingEncoder
from admiral.sources import Passage
from proofs.verifier import LABELS, Verifier

#: Tokens of a claim in context: the room without the special tokens.
CLAIM_TOKENS = MAX_TOKENS - 2
# Tokens in the cache: 150 MB with states of 384 float16 numbers.
_CACHED_TOKENS = 200_000


class SentenceStates:
    """Encodes sentences, and keeps the states of the most recently used ones.

    The states of a text are those of its tokens without the special ones, scaled to length 1;
    float16, (tokens, width).
    """

    def __init__(self, encoder: MeanPoolingEncoder) -> None:
        self._encoder = encoder
        self._cache: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._cached_tokens = 0
        self._lock = threading.Lock()

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a text, without special ones."""
        return self._encoder.token_count(_encodable(text))

    def of(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Return the states of texts, by text."""
        states: dict[str, torch.Tensor] = {}
        with self._lock:
            for text in texts:
                if (cached := self._cache.get(text)) is not None:
                    states[text] = cached
                    self._cache.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in states]
        states_of_missing = self._encoder.token_states(list(map(_encodable, missing)))
        new = {
            text: normalize(rows[1:-1], dim=-1).half()
            for text, rows in zip(missing, states_of_missing, strict=True)
        }
        with self._lock:
            for text, one in new.items():
                if text not in self._cache:
                    self._cache[text] = one
                    self._cached_tokens += len(one)
            while self._cached_tokens > _CACHED_TOKENS:
                _, oldest = self._cache.popitem(last=False)
                self._cached_tokens -= len(oldest)
        return states | new


def _encodable(text: str) -> str:
    """Replace lone surrogates, which a tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


# The lowest cosine: the score of a passage without words.
_LOWEST = -1.0


class LateInteractionVerifier:
    """Score passages by the mean over the claim's tokens of their highest cosine with any token."""

    def __init__(self, states: SentenceStates, context: ContextForm = "claim") -> None:
        self._states, self._context = states, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        return [self._scores(claim, own) for claim, own in zip(claims, passages, strict=True)]

    def _scores(self, claim: CitedClaim, passages: Sequence[Passage]) -> list[float]:
        text = claim_in_context(
            claim, self._context, max_tokens=CLAIM_TOKENS, cost=self._states.token_count
        )
        sentences = [split_sentences(passage.text) for passage in passages]
        states = self._states.of([text, *dict.fromkeys(chain(*sentences))])
        tokens = states[text].float()
        # For each sentence, the highest cosine of each token of the claim.
        best = {
            one: (tokens @ states[one].float().T).amax(1)
            for one in dict.fromkeys(chain(*sentences))
            if len(states[one])
        }
        return [_mean_of_best([best[s] for s in texts if s in best]) for texts in sentences]


def _mean_of_best(rows: Sequence[torch.Tensor]) -> float:
    if not rows or not len(rows[0]):
        return _LOWEST
    return float(torch.stack(list(rows)).amax(0).mean())


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
