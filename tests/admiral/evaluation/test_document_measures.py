"""Measures of documents, and the pairs of gold claims and answers."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from admiral import AdmiralError
from admiral.evaluation import Pair, Prediction, measures, pair_claims
from admiral.evaluation.measures import (
    Measure,
    best_overlap,
    exact_match,
    harmonic_mean_measure,
    ir_measures_scores,
    multiset_f1,
    paired_comparison,
    ranking_measures,
    recall_at_k,
)
from admiral.gold import Label
from proofs import Verdict
from tests.admiral.evaluation.small_runs import answer, gold, pairs, values

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


titles = st.lists(st.sampled_from("ABCD"), unique=True)
sets = st.lists(st.frozensets(st.sampled_from("ABCD"), min_size=1), max_size=3)


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


A0, A1, A2, B0, C0, D0, X0 = (("A", 0), ("A", 1), ("A", 2), ("B", 0), ("C", 0), ("D", 0), ("X", 0))


def test_scored_facts_are_two_from_each_of_the_first_documents():
    ranked = [A0, A1, B0, A2, C0, D0, ("B", 1), ("D", 1)]
    assert measures.scored_facts(ranked, 2) == [A0, A1, B0, ("B", 1), C0]
    assert measures.scored_facts(ranked, 1) == [A0, A1, B0, ("B", 1)]
    assert measures.scored_facts(ranked, 4) == [A0, A1, B0, ("B", 1), C0, D0, ("D", 1)]
    assert measures.scored_facts([], 2) == []


@pytest.mark.parametrize(
    ("found", "enough"),
    [
        ([A0, B0], True),
        ([B0, X0, A0], True),  # three documents count for two hops
        ([X0, ("Y", 0), B0, A0], False),  # A is the fourth
        ([A1, A2, A0, B0], False),  # only two sentences of A count, and neither is gold
        ([A1, A0, B0], True),
        ([A0], False),
        ([("A", 9), B0], False),  # the right document, the wrong sentence
        ([], False),
    ],
)
def test_every_gold_document_needs_one_gold_fact(found, enough):
    every = pairs((gold([A0, B0, ("B", 3)], hops=2), answer(*found)))
    assert measures.covers_gold_documents(every.pairs[0]) is enough


def test_annotated_hops_set_the_number_of_scored_documents():
    claim = gold([A0, B0], hops=3)
    every = pairs((claim, answer(X0, ("Y", 0), B0, A0)))
    assert measures.covers_gold_documents(every.pairs[0])


def test_fact_score_and_group_values():
    other = Label.NOT_SUPPORTED
    every = pairs(
        (gold([A0, B0], hops=2), answer(B0, A0, ranking="AB")),
        (gold([A0, B0], hops=2, label=other), answer(A0, B0, X0, verdict=Verdict.NOT_ENOUGH_INFO)),
        (gold([A0, B0, C0], hops=3), answer(A0, A1)),  # the right label alone
        (gold([A0, B0, C0], hops=3, label=other), answer(verdict=None)),
        (gold([A0, B0], hops=2, label=other), None),
    )
    found = values(measures.supporting_fact_measures(every.pairs))
    assert found["exact match"] == [1, 0, 0, 0, 0]
    assert found["F1"] == pytest.approx([1, 0.8, 0.4, 0, 0])
    found = values(measures.score_measures(every.pairs, with_verdicts=True))
    assert found["facts found"] == [1, 1, 0, 0, 0]
    assert found["label accuracy"] == [1, 1, 1, 0, 0]  # no verdict is no NOT_SUPPORTED
    assert found["HoVer score"] == [1, 1, 0, 0, 0]
    groups = {group.name: group.members.tolist() for group in measures.hover_groups(every.pairs)}
    assert groups["all"] == [True] * 5
    assert groups["3 hops"] == [False, False, True, True, False]
    assert groups["supported"] == [True, False, True, False, False]
    assert groups["supported, 2 hops"] == [True, False, False, False, False]


def test_repeated_facts_count_as_in_the_official_script():
    every = pairs((gold([A0, B0]), answer(A0, A0, B0)), (gold([A0, B0]), answer(A0, A0)))
    found = values(measures.supporting_fact_measures(every.pairs))
    assert found["exact match"] == [0, 0]
    assert found["F1"] == pytest.approx([0.8, 0.5])


def test_alternative_evidence_sets_are_rejected():
    with pytest.raises(AdmiralError, match="claim '1' has 2 alternative sets of evidence"):
        measures.hover_measures(pairs((gold([A0], [B0]), answer())), [5])


numbers = st.one_of(st.just(float("nan")), st.integers(0, 4).map(lambda n: n / 4))
nan = float("nan")


def measure(*values):
    return Measure("s", "m", np.array(values, dtype=np.float64).reshape(-1, 1))


def slow(columns, rows):
    means = []
    for column in columns.T:
        kept = [column[row] for row in rows if not np.isnan(column[row])]
        if not kept:
            return nan
        means.append(sum(kept) / len(kept))
    if len(means) == 1:
        return means[0]
    return 2 * means[0] * means[1] / sum(means) if sum(means) else 0.0


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 2)), elements=numbers))
def test_value_is_the_mean_over_counted_claims(columns):
    columns[np.isnan(columns).any(1)] = nan  # a claim counts in both columns or in none
    one = Measure("s", "m", columns)
    members = np.arange(len(columns)) % 2 == 0
    for group in (members, ~members, members | True):
        expected = slow(columns, np.flatnonzero(group).tolist())
        assert one.value(group) == pytest.approx(expected, nan_ok=True)
        assert one.count(group) == (~np.isnan(columns[group, 0])).sum()


@pytest.mark.parametrize(("values", "expected"), [([], (nan, nan)), ([0.5], (0.5, 0.5))])
def test_intervals_of_hardly_any_claims(values, expected):
    one = measure(*values, nan)
    found = one.interval(np.ones(len(values) + 1, dtype=bool), 0)
    assert found == pytest.approx(expected, nan_ok=True)


def test_intervals_are_those_of_the_normal_distribution():
    column = np.random.default_rng(5).normal(size=400)
    low, high = measure(*column).interval(np.ones(400, dtype=bool), 3)
    error = column.std() / 20
    assert (column.mean() - low) / error == pytest.approx(1.96, rel=0.1)
    assert (high - column.mean()) / error == pytest.approx(1.96, rel=0.1)


@pytest.mark.parametrize("two_columns", [False, True])
def test_p_value_matches_the_exact_randomisation_test(two_columns):
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 3, (2, 8, 2)) / 2.0
    second[:, 0] = np.maximum(second[:, 0], first[:, 0])
    width = 2 if two_columns else 1
    before, after = first[:, :width], second[:, :width]
    rows = list(range(8))
    observed = abs(slow(after, rows) - slow(before, rows))
    extreme = 0
    for swapped in product([False, True], repeat=8):
        chosen = np.array(swapped)[:, None]
        one, other = np.where(chosen, after, before), np.where(chosen, before, after)
        extreme += abs(slow(other, rows) - slow(one, rows)) >= observed - 1e-12
    found = paired_comparison(
        Measure("s", "m", before), Measure("s", "m", after), np.ones(8, dtype=bool)
    )
    assert found.p_value == pytest.approx(extreme / 256, abs=0.02)
    assert found.second - found.first == pytest.approx(slow(after, rows) - slow(before, rows))
    assert found.low <= found.second - found.first <= found.high


def test_harmonic_mean_is_taken_of_the_means():
    both = harmonic_mean_measure("s", "f", measure(1, 0), measure(1, 1))
    assert (both.section, both.name) == ("s", "f")
    assert both.value(np.array([True, True])) == pytest.approx(2 / 3)
    assert harmonic_mean_measure("s", "f", measure(0), measure(0)).value(np.array([True])) == 0
    assert np.isnan(
        harmonic_mean_measure("s", "f", measure(nan), measure(nan)).value(np.array([True]))
    )
