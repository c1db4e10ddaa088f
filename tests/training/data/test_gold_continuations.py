"""Gold continuations against a slow oracle: every sequence that the hop grammar allows."""

from __future__ import annotations

import random
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from training.data.samples import Target, gold_continuations

TITLES = st.sampled_from("ABCDEF")


@given(st.lists(TITLES, max_size=5), st.sets(TITLES, min_size=1, max_size=4), st.integers(0, 4))
def test_continuations_equal_the_best_sequences_of_the_grammar(
    evidence: list[str], gold: set[str], hop: int
) -> None:
    count = min(hop, len(set(evidence)))
    allowed: dict[tuple[int, ...], int] = {}
    for chosen in permutations(range(len(evidence)), count):
        documents = [evidence[at] for at in chosen]
        if list(chosen) == sorted(chosen) and len(set(documents)) == count:
            allowed[chosen] = len(gold & set(documents))
    best = max(allowed.values())
    expected = {
        Target(chosen, title)
        for chosen, covered in allowed.items()
        for title in gold - {evidence[at] for at in chosen}
        if covered == best
    }
    continuations = gold_continuations(evidence, gold, hop, random.Random(0), None)
    assert len(continuations) == len(expected) and set(continuations) == expected
    sample = gold_continuations(evidence, gold, hop, random.Random(0), 2)
    assert len(sample) == min(len(expected), 2) and set(sample) <= expected


def test_a_gold_document_in_the_evidence_may_be_the_target() -> None:
    continuations = gold_continuations(["A", "B", "X"], ("A", "B"), 1, random.Random(0))
    assert continuations == (Target((0,), "B"), Target((1,), "A"))


def test_there_is_no_target_when_every_gold_document_is_named() -> None:
    assert gold_continuations(["A", "B"], ("A", "B"), 2, random.Random(0)) == ()
