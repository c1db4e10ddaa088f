"""Reciprocal rank fusion of BM25 and generated titles."""

from __future__ import annotations

import pytest

from admiral.stages.first_stage import fuse


def test_fusion_adds_reciprocal_ranks() -> None:
    found = fuse([["a", "b"], ["b", "c"]])
    assert [f.title for f in found] == ["b", "a", "c"]
    assert found[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert found[2].score == pytest.approx(1 / 62)


def test_ties_go_to_the_title_met_first() -> None:
    assert [f.title for f in fuse([["x"], ["a"]])] == ["x", "a"]
    assert fuse([[], []]) == []
