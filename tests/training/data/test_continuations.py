"""Gold continuations against a slow oracle: every sequence that the hop grammar allows."""

from __future__ import annotations

import random
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from training.data.continuations import Target, gold_continuations

TITLES = st.sampled_from("ABCDEF")


@given(st.lists(TITLES, max_size=5), st.sets(TITLES, min_size=1, max_size=4), st.integers(0, 4))
def test_they_are_the_sequences_that_cover_the_most_gold(
    evidence: list[str], gold: set[str], hop: int
) -> None:
    count = min(hop, len(set(evidence)))
    allowed: dict[tuple[int, ...], int] = {}
    for chosen in permutations(range(len(evidence)), count):
        documents = [evidence[at] for at in chosen]
        if list(chosen) == sorted(chosen) and len(set(documents)) == count:
            allowed[chosen] = len(gold & set(documents))
    best = max(allowed.values())
    wanted = {
        Target(chosen, title)
        for chosen, covered in allowed.items()
        for title in gold - {evidence[at] for at in chosen}
        if covered == best
    }
    found = gold_continuations(evidence, gold, hop, random.Random(0), None)
    assert len(found) == len(wanted) and set(found) == wanted
    drawn = gold_continuations(evidence, gold, hop, random.Random(0), 2)
    assert len(drawn) == min(len(wanted), 2) and set(drawn) <= wanted


def test_a_gold_document_that_was_read_may_follow() -> None:
    found = gold_continuations(["A", "B", "X"], ("A", "B"), 1, random.Random(0))
    assert found == (Target((0,), "B"), Target((1,), "A"))


def test_nothing_follows_where_every_gold_document_is_named() -> None:
    assert gold_continuations(["A", "B"], ("A", "B"), 2, random.Random(0)) == ()
