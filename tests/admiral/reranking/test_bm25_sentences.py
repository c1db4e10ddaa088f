"""BM25 over the sentences of a claim's candidates."""

from __future__ import annotations

import math

import pytest

from admiral.records import Document
from admiral.reranking.bm25_sentences import BM25Reranker

DOCUMENTS = [
    Document("Emmy", ("The awards were hosted by a comedian.", "They are given each year.")),
    Document("Comedian", ("A comedian tells jokes.", "")),
]


def test_scores_equal_the_bm25_formula() -> None:
    (sentences,) = BM25Reranker().score(["Jokes by comedians"], [DOCUMENTS], [[]])
    assert (sentences[0].title, sentences[0].index) == ("Comedian", 0)
    # With their titles, the sentences have 5, 4 and 4 terms; "joke" occurs in one of the three,
    # "comedian" in two. The blank sentence is left out.
    lengths = {("Emmy", 0): 5, ("Emmy", 1): 4, ("Comedian", 0): 4}
    mean = sum(lengths.values()) / 3

    def weight(document_frequency: int, frequency: int, length: int) -> float:
        idf = math.log(1 + (3 - document_frequency + 0.5) / (document_frequency + 0.5))
        return idf * frequency / (frequency + 0.9 * (0.6 + 0.4 * length / mean))

    expected = {
        ("Emmy", 0): weight(2, 1, 5),
        ("Emmy", 1): 0.0,
        ("Comedian", 0): weight(2, 2, 4) + weight(1, 1, 4),
    }
    assert {s.key: pytest.approx(s.score, rel=1e-4) for s in sentences} == expected
    assert [s.score for s in sentences] == sorted((s.score for s in sentences), reverse=True)


def test_claims_without_shared_terms_or_without_documents() -> None:
    no_match, no_documents = BM25Reranker().score(["Zebra", "Zebra"], [DOCUMENTS, []], [[], []])
    assert [s.score for s in no_match] == [0.0] * 3
    assert [s.key for s in no_match] == sorted(s.key for s in no_match)
    assert no_documents == []


def test_documents_without_terms() -> None:
    (sentences,) = BM25Reranker().score(["the"], [[Document("The", ("", "of the"))]], [[]])
    assert [(s.index, s.score) for s in sentences] == [(1, 0.0)]
