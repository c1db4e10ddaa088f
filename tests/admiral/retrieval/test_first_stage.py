"""The fusion of BM25 with generated titles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.retrieval.first_stage import fuse


def titles(**probabilities: float) -> list[tuple[str, float]]:
    return list(probabilities.items())


def test_a_certain_title_counts_as_a_first_place() -> None:
    found = fuse(["a", "b"], titles(b=1.0))
    assert [f.title for f in found] == ["b", "a"]
    assert found[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert found[1].score == pytest.approx(1 / 61)


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8))
def test_an_unsure_model_moves_nothing(ranking: list[str]) -> None:
    found = [f.title for f in fuse(ranking, titles(a=1e-9, z=1e-9))]
    rest = [t for t in ("a", "z") if t not in ranking]
    assert found == [*ranking, *rest]


def test_ties_go_to_the_title_met_first() -> None:
    assert [f.title for f in fuse(["x"], titles(a=1.0))] == ["x", "a"]
    assert fuse([], []) == []
