"""HoVer measures: values computed by hand from the published rules."""

import pytest

from admiral import AdmiralError
from admiral.evaluation import hover
from admiral.gold import Label
from proofs import Verdict
from tests.admiral.evaluation.small_runs import answer, gold, pairs, values

A0, A1, A2, B0, C0, D0, X0 = (("A", 0), ("A", 1), ("A", 2), ("B", 0), ("C", 0), ("D", 0), ("X", 0))


def test_scored_facts_are_two_from_each_of_the_first_documents():
    ranked = [A0, A1, B0, A2, C0, D0, ("B", 1), ("D", 1)]
    assert hover.scored_facts(ranked, 2) == [A0, A1, B0, ("B", 1), C0]
    assert hover.scored_facts(ranked, 1) == [A0, A1, B0, ("B", 1)]
    assert hover.scored_facts(ranked, 4) == [A0, A1, B0, ("B", 1), C0, D0, ("D", 1)]
    assert hover.scored_facts([], 2) == []


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
    assert hover.covers_gold_documents(every.pairs[0]) is enough


def test_annotated_hops_set_the_number_of_scored_documents():
    claim = gold([A0, B0], hops=3)
    every = pairs((claim, answer(X0, ("Y", 0), B0, A0)))
    assert hover.covers_gold_documents(every.pairs[0])


def test_fact_score_and_group_values():
    other = Label.NOT_SUPPORTED
    every = pairs(
        (gold([A0, B0], hops=2), answer(B0, A0, ranking="AB")),
        (gold([A0, B0], hops=2, label=other), answer(A0, B0, X0, verdict=Verdict.REFUTES)),
        (gold([A0, B0, C0], hops=3), answer(A0, A1, verdict=Verdict.NOT_ENOUGH_INFO)),
        (gold([A0, B0, C0], hops=3, label=other), answer(verdict=None)),
        (gold([A0, B0], hops=2, label=other), None),
    )
    found = values(hover.supporting_fact_measures(every.pairs))
    assert found["exact match"] == [1, 0, 0, 0, 0]
    assert found["F1"] == pytest.approx([1, 0.8, 0.4, 0, 0])
    found = values(hover.score_measures(every.pairs, with_verdicts=True))
    assert found["facts found"] == [1, 1, 0, 0, 0]
    assert found["label accuracy"] == [1, 1, 0, 0, 0]  # no verdict is no NOT_SUPPORTED
    assert found["HoVer score"] == [1, 1, 0, 0, 0]
    groups = {group.name: group.members.tolist() for group in hover.groups(every.pairs)}
    assert groups["all"] == [True] * 5
    assert groups["3 hops"] == [False, False, True, True, False]
    assert groups["supported"] == [True, False, True, False, False]
    assert groups["supported, 2 hops"] == [True, False, False, False, False]


def test_repeated_facts_count_as_in_the_official_script():
    every = pairs((gold([A0, B0]), answer(A0, A0, B0)), (gold([A0, B0]), answer(A0, A0)))
    found = values(hover.supporting_fact_measures(every.pairs))
    assert found["exact match"] == [0, 0]
    assert found["F1"] == pytest.approx([0.8, 0.5])


def test_alternative_evidence_sets_are_rejected():
    with pytest.raises(AdmiralError, match="claim '1' has 2 alternative sets of evidence"):
        hover.measures(pairs((gold([A0], [B0]), answer())), [5])
