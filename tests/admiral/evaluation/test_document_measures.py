"""R@k, RR and nDCG of ir-measures against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.evaluation.document_measures import ir_measures_scores, ranking_measures
from admiral.evaluation.pairing import Pair
from tests.admiral.evaluation.small_runs import answer, gold

Claims = list[tuple[list[str], list[frozenset[str]]]]
# Rankings, each with the alternative sets of gold documents.
CLAIMS = st.lists(
    st.tuples(
        st.lists(st.sampled_from("ABCDE"), unique=True),
        st.lists(st.frozensets(st.sampled_from("ABCDE"), min_size=1), max_size=2),
    ),
    min_size=1,
    max_size=4,
)


def every_pair(claims):
    return [
        Pair(
            gold(*([(t, 0) for t in sorted(one)] for one in sets), id=str(n)),
            answer(ranking="".join(ranking), id=str(n)),
        )
        for n, (ranking, sets) in enumerate(claims)
    ]


@settings(max_examples=50, deadline=None)
@given(CLAIMS)
def test_ir_measures_scores_match_their_definitions(claims):
    measures = ir_measures_scores("s", ["RR", "nDCG@10", "R@2"], every_pair(claims))
    found = {m.name: m.columns[:, 0] for m in measures}
    for n, (ranking, sets) in enumerate(claims):
        relevant = frozenset().union(*sets)
        if not relevant:
            assert all(np.isnan(column[n]) for column in found.values())
            continue
        hits = [at for at, title in enumerate(ranking) if title in relevant]
        gain = sum(1 / math.log2(at + 2) for at in hits)
        ideal = sum(1 / math.log2(at + 2) for at in range(len(relevant)))
        assert found["RR"][n] == pytest.approx(1 / (hits[0] + 1) if hits else 0)
        assert found["nDCG@10"][n] == pytest.approx(gain / ideal)
        assert found["R@2"][n] == len(relevant.intersection(ranking[:2])) / len(relevant)


def test_r_at_k_is_the_share_and_recall_at_k_all_or_nothing():
    pair = Pair(gold([("A", 0), ("B", 1), ("C", 0), ("D", 0)]), answer(ranking="AXBC"))
    found = {m.name: m.columns[0, 0] for m in ranking_measures([pair], [2, 5])}
    assert (found["R@2"], found["R@5"]) == (0.25, 0.75)
    assert (found["recall@2"], found["recall@5"]) == (0, 0)
