"""How alike words are where they stand: by the states of a model's encoder (paper, section 3.2).

"performer" and "singer" share no letter and need not be in a lexicon; their states in "is a
performer" and "is an American singer" are near each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from proofs.drafting.encoder_states import encoded_batches
from proofs.logic.words import pieces
from trie import SafeTokenizer, Seq2Seq

# Cosines of states up to the lower one say nothing, from the upper one on they say the most that
# context can say: not quite what the same word says.
_NOTHING, _ALL = 0.3, 0.8
_MOST = 0.8


class ContextualLikeness:
    """Compares words of a claim with words of evidence texts.

    Parameters
    ----------
    model, tokens
        A seq2seq model, of which the encoder is used, and its tokenizer. What is beyond the
        model's longest input is like nothing.
    """

    def __init__(self, model: Seq2Seq, tokens: SafeTokenizer) -> None:
        self._model, self._tokens = model, tokens

    def compare(self, claim: str, texts: Sequence[str]) -> list[Tensor]:
        """Return how alike the words of the claim and of each text are.

        Returns
        -------
        list of Tensor
            For each text float32, (words of the text, words of the claim), from 0 to 0.8; the
            words are those of `proofs.logic.words.pieces`.
        """
        asked, *others = self._vectors([claim, *texts])
        scale = _MOST / (_ALL - _NOTHING)
        return [((other @ asked.T - _NOTHING) * scale).clamp(0.0, _MOST) for other in others]

    def _vectors(self, texts: Sequence[str]) -> list[Tensor]:
        """Return for each text unit vectors of its words, (words, width); 0 for unread words."""
        encoded = [self._tokens.encode_with_offsets(text) for text in texts]
        room = self._model.max_source - 2
        inputs = [[self._tokens.bos, *ids[:room], self._tokens.eos] for ids, _ in encoded]
        found: dict[int, Tensor] = {}
        for places, hidden, _ in encoded_batches(self._model, inputs):
            for at, states in zip(places, hidden.float().cpu(), strict=True):
                spans = encoded[at][1][:room]
                found[at] = _by_word(texts[at], spans, states[1 : 1 + len(spans)])
        return [found[at] for at in range(len(texts))]


def _by_word(text: str, spans: Sequence[tuple[int, int]], states: Tensor) -> Tensor:
    """Return a unit vector for each word: the mean over the unit vectors of its tokens."""
    words = torch.tensor([(word.start, word.end) for word in pieces(text)]).reshape(-1, 2, 1)
    tokens = torch.tensor(spans).reshape(-1, 2)
    begins, ends = tokens[:, 0], tokens[:, 1]
    owner = (begins < ends) & (begins < words[:, 1]) & (ends > words[:, 0])
    normalise = torch.nn.functional.normalize
    return normalise(owner.float() @ normalise(states, dim=-1), dim=-1)
