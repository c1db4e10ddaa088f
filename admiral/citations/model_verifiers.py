"""Verify by models: late interaction, and classifiers of claims and evidence.

`LateInteractionVerifier` compares the tokens of the claim with those of a passage, as ColBERT does
(Khattab and Zaharia, 2020), without training.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch
from torch.nn.functional import normalize

from admiral.citations.citation_records import CitedClaim
from admiral.citations.citation_weights import log_odds
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.io.sentence_splitter import split_sentences
from admiral.retrieval.rerankers import MAX_TOKENS, MeanPoolingEncoder
from admiral.sources import Passage
from proofs.verifier import LABELS, Verifier

#: Tokens of a claim in context: the room without the special tokens.
CLAIM_TOKENS = MAX_TOKENS - 2
# Sentences in the cache: about 150 MB with states of 384 float16 numbers.
_CACHED_SENTENCES = 8_000


class SentenceStates:
    """Encodes sentences, and keeps their states for the claims that follow.

    The states of a text are those of its tokens without the special ones, scaled to length 1;
    float16, (tokens, width).
    """

    def __init__(self, encoder: MeanPoolingEncoder) -> None:
        self._encoder = encoder
        self._cache: dict[str, torch.Tensor] = {}

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a text, without special ones."""
        return self._encoder.token_count(_encodable(text))

    def of(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Return the states of texts, by text."""
        cache = self._cache if len(self._cache) < _CACHED_SENTENCES else {}
        missing = [text for text in dict.fromkeys(texts) if text not in cache]
        new = self._encoder.token_states(list(map(_encodable, missing)))
        states = (normalize(rows[1:-1], dim=-1).half() for rows in new)
        # Another dictionary, since other threads may read the one that is there.
        self._cache = cache = cache | dict(zip(missing, states, strict=True))
        return cache


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
        distinct = dict.fromkeys(chain(*sentences))
        states = self._states.of([text, *distinct])
        tokens = states[text].float()
        # For each sentence, the highest cosine of each token of the claim.
        best = {
            one: (tokens @ states[one].float().T).amax(1) for one in distinct if len(states[one])
        }
        rows = ([best[one] for one in own if one in best] for own in sentences)
        return [
            float(torch.stack(own).amax(0).mean()) if own and len(tokens) else _LOWEST
            for own in rows
        ]


_ENTAILED = LABELS.index("entailment")


class PairClassifierVerifier:
    """Score passages by the log-odds that their sentences entail the claim."""

    def __init__(self, verifier: Verifier, context: ContextForm = "claim") -> None:
        self._verifier, self._context = verifier, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        texts = [claim_in_context(claim, self._context) for claim in claims]
        pairs = [(text, each) for text, own in zip(texts, passages, strict=True) for each in own]
        evidence = [
            [(each.title, text) for text in split_sentences(each.text) or [each.text]]
            for _, each in pairs
        ]
        readings = self._verifier.read([text for text, _ in pairs], evidence)
        scores = iter(log_odds(float(reading.labels[_ENTAILED])) for reading in readings)
        return [[next(scores) for _ in own] for own in passages]
