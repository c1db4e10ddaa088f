"""The sentences and words of documents that match a query, by the terms they share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from admiral.kb.bm25 import analysis
from admiral.kb.bm25.parameters import clean_index_text
from admiral.records import Document, Sentence


def best_sentences(query: str, documents: Sequence[Document]) -> list[Sentence | None]:
    """Return the sentence of each document that shares most with a query; None without sentences.

    Rare words count more, by how many of the documents' sentences contain them. The first of equal
    sentences is returned.
    """
    wanted = set(_terms(query))
    shared = [[wanted.intersection(_terms(text)) for text in d.sentences] for d in documents]
    counts = Counter(term for document in shared for sentence in document for term in sentence)
    total = sum(map(len, shared))
    weights = {term: math.log(1 + total / count) for term, count in counts.items()}
    best: list[Sentence | None] = []
    for document, of_sentences in zip(documents, shared, strict=True):
        scores = [sum(weights[term] for term in of_sentence) for of_sentence in of_sentences]
        index = max(range(len(scores)), key=scores.__getitem__, default=None)
        best.append(
            None if index is None else Sentence(document.title, index, document.sentences[index])
        )
    return best


def matching_words(query: str, text: str) -> list[tuple[int, int]]:
    """Return the characters of each word of a text that has a term of a query: start and end."""
    wanted = set(_terms(query))
    spans, end = [], 0
    for word in analysis.words(text):
        start = text.index(word, end)
        end = start + len(word)
        if wanted.intersection(_terms(word)):
            spans.append((start, end))
    return spans


def _terms(text: str) -> list[str]:
    return analysis.terms(clean_index_text(text))
