"""Contextual similarity of words: cosines of encoder states (paper, section 3.2).

"performer" and "singer" share no letters and need not be in a lexicon, but their states in "is a
performer" and "is an American singer" are close.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from proofs.logic.words import split_words
from trie import SafeTokenizer
from trie.seq2seq import Seq2Seq

_BATCH_SIZE = 16


def encode_batches(
    model: Seq2Seq, inputs: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield the positions of each batch of inputs with its encoder states and mask.

    Inputs of similar length share a batch, since padding costs as much as text.

    Yields
    ------
    hidden, mask
        As returned by `Seq2Seq.run_encoder`.
    """
    order = sorted(range(len(inputs)), key=lambda at: len(inputs[at]))
    for begin in range(0, len(order), _BATCH_SIZE):
        positions = order[begin : begin + _BATCH_SIZE]
        hidden, mask = model.run_encoder([inputs[at] for at in positions])
        yield positions, hidden, mask


# Cosines are rescaled from [low, high] to [0, max]. The maximum is below 1, the similarity of equal
# words.
_LOW_COSINE, _HIGH_COSINE = 0.3, 0.8
_MAX_SIMILARITY = 0.8


class ContextualSimilarity:
    """Compares the words of a claim with the words of evidence texts.

    `model`: a seq2seq model, whose encoder is used. Words beyond its longest input are similar to
    none.
    """

    def __init__(self, model: Seq2Seq, tokens: SafeTokenizer) -> None:
        self._model, self._tokens = model, tokens

    def compare(self, claim: str, texts: Sequence[str]) -> list[Tensor]:
        """Return the similarities of the words of the claim and of each text.

        For each text the result is float32, (words of the text, words of the claim), from 0 to 0.8.
        Words are those of `proofs.logic.words.split_words`.
        """
        claim_words, *text_words = self._word_vectors([claim, *texts])
        scale = _MAX_SIMILARITY / (_HIGH_COSINE - _LOW_COSINE)
        return [
            ((words @ claim_words.T - _LOW_COSINE) * scale).clamp(0.0, _MAX_SIMILARITY)
            for words in text_words
        ]

    def _word_vectors(self, texts: Sequence[str]) -> list[Tensor]:
        """Return unit vectors of the words of each text, (words, width); 0 for unread words."""
        encoded = [self._tokens.encode_with_offsets(text) for text in texts]
        head = self._tokens.input_head
        max_tokens = self._model.max_source - len(head) - 1
        inputs = [[*head, *ids[:max_tokens], self._tokens.eos] for ids, _ in encoded]
        vectors: dict[int, Tensor] = {}
        for positions, hidden, _ in encode_batches(self._model, inputs):
            for at, states in zip(positions, hidden.float().cpu(), strict=True):
                offsets = encoded[at][1][:max_tokens]
                states = states[len(head) : len(head) + len(offsets)]
                vectors[at] = _pool_words(texts[at], offsets, states)
        return [vectors[at] for at in range(len(texts))]


def _pool_words(text: str, offsets: Sequence[tuple[int, int]], states: Tensor) -> Tensor:
    """Return a unit vector for each word: the mean of the unit vectors of its tokens."""
    words = torch.tensor([(word.start, word.end) for word in split_words(text)]).reshape(-1, 2, 1)
    tokens = torch.tensor(offsets).reshape(-1, 2)
    begins, ends = tokens[:, 0], tokens[:, 1]
    overlaps = (begins < ends) & (begins < words[:, 1]) & (ends > words[:, 0])
    return normalize(overlaps.float() @ normalize(states, dim=-1), dim=-1)
