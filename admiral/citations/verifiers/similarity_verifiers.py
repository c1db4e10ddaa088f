"""Verify by the embeddings of all-MiniLM-L6-v2, which needs no training.

`SimilarityVerifier` compares the claim with the sentences of a passage, each as one vector.
`LateInteractionVerifier` compares their tokens, as ColBERT does (Khattab and Zaharia, 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch

from admiral.citations.citation_records import CitedClaim
from admiral.citations.claim_context import ContextForm, claim_in_context
from admiral.citations.verifiers.sentence_states import (
    CLAIM_TOKENS,
    SentenceStates,
    TextStates,
    passage_sentences,
)
from admiral.library.source_records import Passage

# The lowest cosine: the score of a passage without words.
_LOWEST = -1.0


class SimilarityVerifier:
    """Score passages by the highest cosine of the claim with one of their sentences.

    Parameters
    ----------
    states
        Encodes the texts.
    context
        How much of the claim's context is read.
    """

    def __init__(self, states: SentenceStates, context: ContextForm = "claim") -> None:
        self._states, self._context = states, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the similarity of each claim and each of its passages."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            query, sentences, states = encoded_texts(self._states, claim, self._context, own)
            cosines = {text: float(one.vector @ query.vector) for text, one in states.items()}
            scores.append(
                [max((cosines[s] for s in texts), default=_LOWEST) for texts in sentences]
            )
        return scores


class LateInteractionVerifier:
    """Score passages by the mean over the claim's tokens of their highest cosine with any token.

    Parameters
    ----------
    states
        Encodes the texts.
    context
        How much of the claim's context is read.
    """

    def __init__(self, states: SentenceStates, context: ContextForm = "claim") -> None:
        self._states, self._context = states, context

    def score(
        self, claims: Sequence[CitedClaim], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """Return the score of each passage of each claim."""
        scores = []
        for claim, own in zip(claims, passages, strict=True):
            query, sentences, states = encoded_texts(self._states, claim, self._context, own)
            tokens = query.tokens.float()
            # For each sentence, the highest cosine of each token of the claim.
            best = {
                text: (tokens @ one.tokens.float().T).amax(1)
                for text, one in states.items()
                if len(one.tokens)
            }
            scores.append(
                [_mean_of_best([best[s] for s in texts if s in best]) for texts in sentences]
            )
        return scores


def _mean_of_best(rows: Sequence[torch.Tensor]) -> float:
    if not rows or not len(rows[0]):
        return _LOWEST
    return float(torch.stack(list(rows)).amax(0).mean())


def encoded_texts(
    encoder: SentenceStates, claim: CitedClaim, context: ContextForm, passages: Sequence[Passage]
) -> tuple[TextStates, list[list[str]], dict[str, TextStates]]:
    """Return the states of a claim, the sentences of each passage, and their states by text."""
    text = claim_in_context(claim, context, max_tokens=CLAIM_TOKENS, cost=encoder.token_count)
    sentences = [passage_sentences(passage.text) for passage in passages]
    states = encoder.of([text, *dict.fromkeys(chain(*sentences))])
    query = states.pop(text) if text not in chain(*sentences) else states[text]
    return query, sentences, states
