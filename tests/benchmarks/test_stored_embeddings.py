"""How `benchmarks.stored_embeddings` compares two rankings."""

from __future__ import annotations

import pytest

from admiral.records import Sentence
from benchmarks.stored_embeddings import rank_agreement


def ranking(**scores: float) -> list[Sentence]:
    sentences = [Sentence(title, 0, "", score) for title, score in scores.items()]
    return sorted(sentences, key=lambda sentence: -sentence.score)


def test_rank_agreement() -> None:
    exact = ranking(a=0.9, b=0.8, c=0.7, d=0.6, e=0.5, f=0.4)
    assert rank_agreement(exact, exact) == pytest.approx(
        {"error": 0, "largest": 0, "first": 1, "five": 1, "spearman": 1}
    )
    other = ranking(a=0.7, b=0.8, c=0.65, d=0.6, e=0.4, f=0.5)
    compared = rank_agreement(exact, other)
    assert compared["error"] == pytest.approx(0.45 / 6)
    assert compared["largest"] == pytest.approx(0.2)
    assert (compared["first"], compared["five"]) == (0, 0.8)
    # Two pairs of neighbours are swapped: 1 - 6 * 4 / (6 * 35).
    assert compared["spearman"] == pytest.approx(1 - 24 / 210)
