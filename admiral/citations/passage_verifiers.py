"""Verifiers of passages: words that are counted, late interaction, and classifiers of pairs.

`CoverageVerifier` needs no training and is the baseline that the others have to beat.
`LateInteractionVerifier` compares the tokens of the claim with those of a passage, as ColBERT does
(Khattab and Zaharia, 2020), without training.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

import torch
from scipy.special import logit
from torch.nn.functional import normalize

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_texts import ContextForm, claim_in_context
from admiral.citations.term_weights import TermWeights, passage_stems, text_stems
from admiral.io.sentence_splitter import split_sentences
from admiral.retrieval.rerankers import MAX_TOKENS, MeanPoolingEncoder
from admiral.sources import Passage
from proofs.verifier import LABELS, Verifier


class CitationVerifier(Protocol):
    """Scores passages of sources for claims in context.

    A claim gets the same scores in any batch. Scores are finite; a higher one means more support.
    """

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        ...


class CascadeVerifier:
    """Score the passages that a cheap verifier ranks best by a close one.

    The other passages of a claim get the lowest score of those that the close verifier read.
    `limit`: number of passages of each source that `close` reads; 0 for all.
    """

    def __init__(self, cheap: CitationVerifier, close: CitationVerifier, limit: int) -> None:
        self._cheap, self._close, self._limit = cheap, close, limit

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        if not self._limit:
            return self._close.score(claims, passages)
        chosen = [
            sorted(sorted(range(len(row)), key=lambda at: -row[at])[: self._limit])
            for row in self._cheap.score(claims, passages)
        ]
        read = [[own[at] for at in ats] for own, ats in zip(passages, chosen, strict=True)]
        results = []
        for own, ats, scores in zip(passages, chosen, self._close.score(claims, read), strict=True):
            row = [min(scores, default=0.0)] * len(own)
            for at, score in zip(ats, scores, strict=True):
                row[at] = score
            results.append(row)
        return results


_NO_LIMIT = 1 << 30


class CoverageVerifier:
    """Score passages by the share of the claim's stems in them, weighted by rarity, from 0 to 1.

    The title of the source is not counted as part of a passage. `context`: whose words must be
    covered; those of the claim alone by default.
    """

    def __init__(self, weights: TermWeights, context: ContextForm = "claim") -> None:
        self._weights, self._context = weights, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the coverage of each claim by each of its passages."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            text = claim_in_context(claim, self._context, max_tokens=_NO_LIMIT)
            stems = sorted(set(text_stems(text)))  # sorted: sums do not depend on the hash seed
            scores.append(
                [self._weights.coverage(stems, passage_stems(passage.text)) for passage in own]
            )
        return scores


# The lowest cosine: the score of a passage without words.
_LOWEST = -1.0
_CLAIM_TOKENS = MAX_TOKENS - 2  # the room without the special tokens
# Sentences whose states are kept: about 150 MB of 384 float16 numbers a token.
_CACHED_SENTENCES = 8_000


class LateInteractionVerifier:
    """Score passages by the mean over the claim's tokens of their highest cosine with any token."""

    def __init__(self, encoder: MeanPoolingEncoder, context: ContextForm = "claim") -> None:
        self._encoder, self._context = encoder, context
        self._cache: dict[str, torch.Tensor] = {}

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        return [self._scores(claim, own) for claim, own in zip(claims, passages, strict=True)]

    def _scores(self, claim: CitedClaim, passages: Sequence[Passage]) -> list[float]:
        text = claim_in_context(
            claim, self._context, max_tokens=_CLAIM_TOKENS, cost=self._token_count
        )
        sentences = [split_sentences(passage.text) for passage in passages]
        distinct = dict.fromkeys(chain(*sentences))
        states = self._states([text, *distinct])
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

    def _token_count(self, text: str) -> int:
        return self._encoder.token_count(_encodable(text))

    def _states(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Return the states of texts: of each token but the special ones, scaled to length 1."""
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


# Probabilities closer to 0 or 1 are rounded, so that their log-odds are finite.
_SMALLEST = 1e-6


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability, rounded so that they are finite."""
    return float(logit(min(max(probability, _SMALLEST), 1 - _SMALLEST)))


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
