"""Rerank sentences by cosine similarity of embeddings (all-MiniLM-L6-v2): needs no training."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import torch

from admiral.kb.embeddings import embedded_text
from admiral.protocols import SentenceVectors
from admiral.records import Document, Sentence
from admiral.reranking.mean_pooling import MAX_TOKENS, MeanPoolingEncoder
from admiral.reranking.sentence_scores import non_blank_sentences, with_scores

# Tokens of a claim without the two special tokens. Evidence gets the remaining room.
MAX_CLAIM_TOKENS = MAX_TOKENS - 2
# Number of cached embeddings: 50 MB at 1.5 kB each. A claim reads about 400 sentences.
_CACHE_SIZE = 1 << 15


class SimilarityReranker:
    """Score sentences, each with its title, by the cosine of their embeddings with the claim's.

    From hop 2 on, the claim is embedded together with the evidence chosen so far. The embeddings of
    sentences do not depend on the claim, so the most recently used ones are cached for later hops,
    which read mostly the same sentences, and for other claims. Vectors that are stored with the
    documents are not computed at all; they are rounded, so that scores differ by about 0.0004.

    Parameters
    ----------
    encoder
        The sentence encoder.
    stored
        Stored vectors of sentences by the same encoder; None to compute all.
    """

    def __init__(self, encoder: MeanPoolingEncoder, stored: SentenceVectors | None = None) -> None:
        self._encoder, self._stored = encoder, stored
        self._cache: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()
        self.claim_limits = {"the sentence encoder": MAX_CLAIM_TOKENS}

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with cosine similarities, best first."""
        sentences = [non_blank_sentences(docs) for docs in documents]
        texts = [
            [embedded_text(s.title, s.text) for s in claim_sentences]
            for claim_sentences in sentences
        ]
        queries = [
            " ".join([claim, *(s.text for s in chosen)])
            for claim, chosen in zip(claims, evidence, strict=True)
        ]
        pairs = zip(chain(*texts), chain(*sentences), strict=True)
        stored = self._stored_vectors(dict(pairs))
        missing = dict.fromkeys(text for text in chain(*texts) if text not in stored)
        query_vectors, text_vectors = self._vectors(queries, missing)
        text_vectors |= stored
        results = []
        for query, claim_sentences, own in zip(query_vectors, sentences, texts, strict=True):
            vectors = torch.stack([text_vectors[text] for text in own]) if own else query[None][:0]
            results.append(with_scores(claim_sentences, (vectors @ query).tolist()))
        return results

    def _stored_vectors(self, sentences: Mapping[str, Sentence]) -> dict[str, torch.Tensor]:
        """Return the stored unit vectors, (width,), by text, of sentences by text."""
        if self._stored is None or not sentences:
            return {}
        vectors = torch.from_numpy(self._stored.unit_vectors(list(sentences.values())))
        is_stored = vectors.any(1).tolist()
        return {t: v for t, v, known in zip(sentences, vectors, is_stored, strict=True) if known}

    def _vectors(
        self, queries: Sequence[str], texts: Iterable[str]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return the unit vectors of queries, (queries, width), and of each text, (width,)."""
        with self._lock:
            cached = {text: self._cache.get(text) for text in texts}
        missing = [text for text, vector in cached.items() if vector is None]
        embedded = self._encoder.unit_vectors([*queries, *missing])
        query_vectors, new = embedded[: len(queries)], embedded[len(queries) :]
        # Cloned, because a cached view would keep the tensor of the whole batch in memory.
        cached |= {text: vector.clone() for text, vector in zip(missing, new, strict=True)}
        vectors = {text: vector for text, vector in cached.items() if vector is not None}
        with self._lock:
            for text, vector in vectors.items():
                self._cache[text] = vector
                self._cache.move_to_end(text)
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)
        return query_vectors, vectors
