"""Recall, RR and nDCG of ir-measures against their definitions."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.evaluation.document_measures import ir_measures_scores
from admiral.evaluation.pairing import Pair
from tests.admiral.evaluation.small_runs import answer, gold


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("ABCDE"), unique=True),
            st.lists(st.frozensets(st.sampled_from("ABCDE"), min_size=1), max_size=2),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_ir_measures_scores_match_their_definitions(
    claims: list[tuple[list[str], list[frozenset[str]]]],
) -> None:
    pytest.importorskip("ir_measures", reason="the extra 'scorers' installs ir-measures")
    every = [
        Pair(
            gold(*([(t, 0) for t in sorted(one)] for one in sets), id=str(n)),
            answer(ranking="".join(ranking), id=str(n)),
        )
        for n, (ranking, sets) in enumerate(claims)
    ]
    found = {m.name: m.columns[:, 0] for m in ir_measures_scores(every, [2])}
    for n, (ranking, sets) in enumerate(claims):
        relevant = frozenset().union(*sets)
        if not relevant:
            assert all(np.isnan(column[n]) for column in found.values())
            continue
        hits = [at for at, title in enumerate(ranking) if title in relevant]
        gain = sum(1 / math.log2(at + 2) for at in hits)
        ideal = sum(1 / math.log2(at + 2) for at in range(len(relevant)))
        assert found["R@2"][n] == pytest.approx(sum(at < 2 for at in hits) / len(relevant))
        assert found["RR"][n] == pytest.approx(1 / (hits[0] + 1) if hits else 0)
        assert found["nDCG@10"][n] == pytest.approx(gain / ideal)


def test_no_scores_without_ir_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert ir_measures_scores([Pair(gold([("A", 0)]), answer(ranking="A"))], [5]) == []
