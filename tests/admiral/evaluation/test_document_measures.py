"""Measures of documents, and the pairs of gold claims and answers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral import AdmiralError
from admiral.evaluation.document_measures import ir_measures_scores, ranking_measures
from admiral.evaluation.measures import best_overlap, exact_match, multiset_f1, recall_at_k
from admiral.evaluation.pairing import Pair, pair_claims
from admiral.evaluation.predictions import Prediction
from tests.admiral.evaluation.small_runs import answer, gold

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


SETS = [frozenset("AB"), frozenset("C")]
titles = st.lists(st.sampled_from("ABCD"), unique=True)
sets = st.lists(st.frozensets(st.sampled_from("ABCD"), min_size=1), max_size=3)


def test_recall_needs_one_complete_set():
    assert recall_at_k(SETS, "ADB", 3)
    assert not recall_at_k(SETS, "ADB", 2)
    assert recall_at_k(SETS, "DC", 2)
    assert not recall_at_k(SETS, "DC", 1)
    assert recall_at_k(SETS, "C", 100)
    assert not recall_at_k([], "ABC", 3)


def test_multiset_f1_counts_repetitions():
    assert multiset_f1("AAB", "AB") == pytest.approx(0.8)
    assert multiset_f1("AB", "AAB") == pytest.approx(0.8)
    assert multiset_f1("", "") == 1
    assert multiset_f1("A", "") == multiset_f1("", "A") == 0


@given(sets, titles, st.integers(1, 5))
def test_recall_and_exact_match_agree_with_counting(gold, ranking, k):
    whole = any(sum(title in one for title in ranking[:k]) == len(one) for one in gold)
    assert recall_at_k(gold, ranking, k) == whole
    first = any(sorted(ranking[: len(one)]) == sorted(one) for one in gold)
    assert exact_match(gold, ranking) == first


@given(sets, titles)
def test_best_overlap_agrees_with_its_definition(gold, found):
    overlap = best_overlap(gold, found)
    scores = []
    for one in gold:
        right = [title for title in found if title in one]
        precision, recall = len(right) / max(len(found), 1), len(right) / len(one)
        scores.append(2 * precision * recall / (precision + recall) if right else 0.0)
    assert overlap.f1 == pytest.approx(max(scores, default=0.0))
    if overlap.f1:
        mean = 2 / (1 / overlap.precision + 1 / overlap.recall)
        assert overlap.f1 == pytest.approx(mean)


def test_missing_and_unknown_ids_are_noted():
    claims = [gold([("A", 0)], id=id) for id in "123"]
    found = pair_claims(claims, {id: answer(("A", 0), ranking="A", id=id) for id in "2xyzw"})
    assert [pair.prediction is None for pair in found.pairs] == [True, False, True]
    assert found.missing_ids == ("1", "3")
    assert found.unknown_ids == ("x", "y", "z", "w")
    assert found.notes() == [
        "2 claims ('1', '3') without an answer, counted as wrong",
        "4 answers ('w', 'x', 'y', ...) to claims that are not in the gold file",
    ]
    assert pair_claims(claims[:1], {"1": answer()}).notes() == []


def test_files_of_different_data_sets_are_rejected():
    with pytest.raises(
        AdmiralError, match=r"its ids are such as '1', those of the predictions such as '8', '9'"
    ):
        pair_claims([gold([("A", 0)])], {"8": answer(id="8"), "9": answer(id="9")})
    other = Prediction("1", (), claim="Another claim.")
    with pytest.raises(AdmiralError, match=r"claim '1': .*another claim \('Another claim.'\) than"):
        pair_claims([gold([("A", 0)])], {"1": other})
    pair_claims([gold([("A", 0)])], {"1": Prediction("1", (), claim=" c\n")})
