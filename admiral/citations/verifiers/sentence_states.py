"""Encoder states of claims and of the sentences of passages, computed once per sentence.

Overlapping passages share most of their sentences, so passages are never encoded as a whole.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import normalize

from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.reranking.mean_pooling import MAX_TOKENS, MeanPoolingEncoder

#: Tokens of a claim in context: the room without the special tokens.
CLAIM_TOKENS = MAX_TOKENS - 2
# Tokens in the cache: 150 MB with states of 384 float16 numbers.
_CACHED_TOKENS = 200_000


@dataclass(frozen=True, slots=True)
class TextStates:
    """The states of a text.

    Attributes
    ----------
    vector
        The mean of all states, scaled to length 1; float32, (width,).
    tokens
        The states of the tokens without the special ones, scaled to length 1; float16,
        (tokens, width).
    """

    vector: torch.Tensor
    tokens: torch.Tensor


class SentenceStates:
    """Encodes sentences, and keeps the states of the most recently used ones.

    Parameters
    ----------
    encoder
        The sentence encoder.
    """

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


def passage_sentences(text: str) -> list[str]:
    """Return the sentences of a passage; at its ends they may be parts of sentences."""
    return split_sentences(text)
