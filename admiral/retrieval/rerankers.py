"""Stage 2: score sentences against the claim by rerankers that need no training."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import torch

from admiral.kb.bm25 import analysis
from admiral.kb.bm25.bm25s_build import import_bm25s
from admiral.kb.embeddings import embedded_text
from admiral.protocols import SentenceReranker, SentenceVectors, claim_limits
from admiral.records import Document, Sentence
from admiral.retrieval.evidence import non_blank_sentences, with_scores, z_scores
from admiral.retrieval.mean_pooling import MAX_TOKENS, MeanPoolingEncoder

# Sentences vary little in length, and a second occurrence of a term adds little to the first.
_K1, _B = 0.9, 0.4


class BM25Reranker:
    """Score sentences, each with its title, by BM25 with the claim as the query.

    Document frequencies are counted over the sentences to be ranked, so that terms which all
    candidates share have little weight. The evidence chosen so far is not part of the query.
    """

    def __init__(self) -> None:
        self._terms = analysis.terms

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with BM25 scores, best first."""
        return [self._rank(claim, docs) for claim, docs in zip(claims, documents, strict=True)]

    def _rank(self, claim: str, documents: Sequence[Document]) -> list[Sentence]:
        sentences = non_blank_sentences(documents)
        terms = [self._terms(f"{s.title} {s.text}") for s in sentences]
        return with_scores(sentences, self._scores(terms, self._terms(claim)))

    def _scores(self, sentences: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
        vocabulary = {term for terms in sentences for term in terms}
        query_terms = [term for term in dict.fromkeys(query) if term in vocabulary]
        if not query_terms:
            return [0.0] * len(sentences)
        index = import_bm25s().BM25(k1=_K1, b=_B)
        index.index(list(map(list, sentences)), show_progress=False)
        scores: list[float] = index.get_scores(query_terms).tolist()
        return scores


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


_Key = tuple[str, int]  # title and index of a sentence


class CombinedReranker:
    """Score each sentence by the mean of its z-scores from several rerankers.

    A trained cross-encoder and the similarity of sentence embeddings err on different sentences.
    Since their scales differ, the scores of each reranker are standardised over the sentences of a
    claim that it reads. A sentence that a reranker leaves out gets its lowest score.

    Parameters
    ----------
    rerankers
        At least one; they read all documents.
    closer
        A slower reranker that only reads the documents whose sentences the others rank highest.
        The sentences of other documents get its mean score.
    closer_documents
        Number of documents for each claim that `closer` reads.
    """

    def __init__(
        self,
        rerankers: Sequence[SentenceReranker],
        closer: SentenceReranker | None = None,
        closer_documents: int = 0,
    ) -> None:
        if not rerankers:
            raise ValueError("no rerankers to combine")
        self._rerankers = tuple(rerankers)
        self._closer, self._closer_documents = closer, closer_documents
        self.claim_limits = {
            name: limit
            for reranker in (*self._rerankers, closer)
            for name, limit in claim_limits(reranker).items()
        }

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return the sentences of each claim's documents with mean z-scores, best first."""
        results = [reranker.score(claims, documents, evidence) for reranker in self._rerankers]
        scores = [list(map(_standardise, claim)) for claim in zip(*results, strict=True)]
        if self._closer is not None:
            best = [self._best(*pair) for pair in zip(documents, scores, strict=True)]
            closer_results = self._closer.score(claims, best, evidence)
            for claim_scores, sentences, read in zip(scores, closer_results, best, strict=True):
                claim_scores.append(_standardise(sentences, {document.title for document in read}))
        return list(map(_combine, scores))

    def _best(
        self, documents: Sequence[Document], scores: Sequence[_StandardScores]
    ) -> list[Document]:
        by_title = {document.title: document for document in documents}
        titles = dict.fromkeys(sentence.title for sentence in _combine(scores))
        return [by_title[title] for title in list(titles)[: self._closer_documents]]


class _StandardScores(NamedTuple):
    """The z-scores of one reranker for the sentences of a claim.

    `read` holds the titles that the reranker read; None if it read all.
    """

    sentences: dict[_Key, Sentence]
    scores: dict[_Key, float]
    lowest: float
    read: Collection[str] | None

    def score(self, key: _Key) -> float:
        if self.read is not None and key[0] not in self.read:
            return 0.0  # the mean
        return self.scores.get(key, self.lowest)


def _standardise(
    scored: Sequence[Sentence], read: Collection[str] | None = None
) -> _StandardScores:
    sentences = {(s.title, s.index): s for s in scored}
    scores = z_scores({key: s.score for key, s in sentences.items()})
    return _StandardScores(sentences, scores, min(scores.values(), default=0.0), read)


def _combine(scores: Sequence[_StandardScores]) -> list[Sentence]:
    sentences = {key: s for reranker in scores for key, s in reranker.sentences.items()}
    means = [sum(reranker.score(key) / len(scores) for reranker in scores) for key in sentences]
    return with_scores(list(sentences.values()), means)
