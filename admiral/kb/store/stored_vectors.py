"""Look up the stored vectors of sentences, for a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from admiral.kb.embeddings.quantisation import dequantise
from admiral.kb.embeddings.sentence_encoder import EncoderIdentity, embedded_text, text_checksum
from admiral.kb.store.contents import Contents
from admiral.records import Sentence


class StoredVectors:
    """Unit vectors of the sentences of a knowledge base, as an encoder made them.

    Parameters
    ----------
    contents
        Contents of the knowledge base.
    encoder
        The encoder. The vectors of others are not used.
    """

    def __init__(self, contents: Contents, encoder: EncoderIdentity) -> None:
        self._contents, self._encoder = contents, encoder

    def unit_vectors(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """Return the vectors of sentences, float32, (sentences, width).

        The vector is zero where none is stored for a sentence with this title, index and text.
        """
        quantised = np.zeros((len(sentences), self._encoder.width), np.int8)
        by_title = groupby(enumerate(sentences), key=lambda pair: pair[1].title)
        for title, group in by_title:
            row = self._contents.row(title)
            if row is None:
                continue
            stored = self._contents.embedded(row, self._encoder)
            for position, sentence in group:
                if sentence.index >= len(stored):
                    continue
                text = embedded_text(title, sentence.text)
                if stored.checksums[sentence.index] == text_checksum(text):
                    quantised[position] = stored.vectors[sentence.index]
        return dequantise(quantised)
