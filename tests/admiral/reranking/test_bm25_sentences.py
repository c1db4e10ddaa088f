"""BM25 over the sentences of a claim's candidates."""

from __future__ import annotations

import math

import pytest

from admiral.records import Document
from admiral.reranking.bm25_sentences import TermReranker

DOCUMENTS = [
    Document("Emmy", ("The awards were hosted by a comedian.", "They are given each year.")),
    Document("Comedian", ("A comedian tells jokes.", "")),
]


def test_scores_are_those_of_the_formula() -> None:
    (found,) = TermReranker().score(["Jokes by comedians"], [DOCUMENTS], [[]])
    assert (found[0].title, found[0].index) == ("Comedian", 0)
    # Read with their titles the sentences have 5, 4 and 4 terms; "joke" is in one of the three,
    # "comedian" in two. A blank one cannot be evidence.
    lengths = {("Emmy", 0): 5, ("Emmy", 1): 4, ("Comedian", 0): 4}
    mean = sum(lengths.values()) / 3

    def weight(holders: int, times: int, length: int) -> float:
        rarity = math.log(1 + (3 - holders + 0.5) / (holders + 0.5))
        return rarity * times / (times + 0.9 * (0.6 + 0.4 * length / mean))

    expected = {
        ("Emmy", 0): weight(2, 1, 5),
        ("Emmy", 1): 0.0,
        ("Comedian", 0): weight(2, 2, 4) + weight(1, 1, 4),
    }
    assert {s.key: pytest.approx(s.score, rel=1e-4) for s in found} == expected
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)


def test_a_claim_that_shares_no_term_and_no_documents() -> None:
    unknown, nothing = TermReranker().score(["Zebra", "Zebra"], [DOCUMENTS, []], [[], []])
    assert [s.score for s in unknown] == [0.0] * 3
    assert [s.key for s in unknown] == sorted(s.key for s in unknown)
    assert nothing == []


def test_documents_without_terms() -> None:
    (found,) = TermReranker().score(["the"], [[Document("The", ("", "of the"))]], [[]])
    assert [(s.index, s.score) for s in found] == [(1, 0.0)]
