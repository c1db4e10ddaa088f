"""The choice of evidence: bounded by document, filled up where sentences run short."""

from __future__ import annotations

import math
import statistics
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Sentence
from admiral.retrieval.evidence import choose_evidence, favoured, weighed


def sentences(titles: str) -> list[Sentence]:
    """One sentence for each letter, best first."""
    return [Sentence(t, i, f"{t}{i}", -float(i)) for i, t in enumerate(titles)]


def test_the_third_sentence_of_a_document_makes_room_for_others() -> None:
    found = choose_evidence(sentences("aaaabac"), 5, 2)
    assert [s.text for s in found] == ["a0", "a1", "a2", "b4", "c6"]


def test_where_there_is_nothing_else_the_bound_gives_way() -> None:
    assert [s.text for s in choose_evidence(sentences("aaaa"), 3, 1)] == ["a0", "a1", "a2"]
    assert choose_evidence([], 5, 2) == ()


@given(st.text("abcd", max_size=12), st.integers(1, 6), st.integers(1, 4))
def test_the_choice_is_the_best_that_the_bound_allows(
    titles: str, count: int, per_document: int
) -> None:
    scored = sentences(titles)
    found = choose_evidence(scored, count, per_document)
    assert len(found) == min(count, len(scored))
    assert [s.index for s in found] == sorted({s.index for s in found})
    within = [s for s in scored if titles[: s.index].count(s.title) < per_document]
    # All that the bound allows come before any that it does not.
    assert set(within[:count]) <= set(found)
    if len(within) >= count:
        assert max(Counter(s.title for s in found).values()) <= per_document


def test_what_the_evidence_mentions_rises_by_a_part_of_the_spread() -> None:
    scored = [
        Sentence(t, 0, t, score) for t, score in zip("abcd", (6.0, 5.5, 2.0, 2.0), strict=True)
    ]
    assert favoured(scored, []) == scored
    found = favoured(scored, ["b", "d", "unread"])
    assert [s.title for s in found] == ["b", "a", "d", "c"]
    assert found[0].score - 5.5 == found[2].score - 2.0 > 0.5
    # Neither the scale of a reranker nor its zero matters.
    other = favoured([Sentence(s.title, 0, s.text, 100 * s.score - 7) for s in scored], ["b", "d"])
    assert [s.title for s in other] == ["b", "a", "d", "c"]


def test_equal_scores_have_no_spread_to_rise_by() -> None:
    scored = [Sentence(t, 0, t, 1.0) for t in "ab"]
    assert favoured(scored, ["b"]) == scored
    assert favoured([], ["b"]) == []


SCORED = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(-50, 50).map(lambda n: n / 8)), max_size=9
).map(
    lambda pairs: [
        Sentence(title, at, title, score)
        for at, (title, score) in enumerate(sorted(pairs, key=lambda pair: -pair[1]))
    ]
)
WORTHS = st.fixed_dictionaries(dict.fromkeys("abcd", st.integers(-20, 20).map(float)))


@given(SCORED, WORTHS)
def test_sentences_gain_by_their_document_and_lose_by_better_ones_of_it(
    scored: list[Sentence], worths: dict[str, float]
) -> None:
    found = weighed(scored, worths)
    assert sorted(s.index for s in found) == list(range(len(scored)))
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
    tops = {s.title: s.score for s in reversed(scored)}
    spread = (statistics.pstdev(tops.values()) if tops else 0.0) or 1.0
    values = [worths[title] for title in tops]
    for sentence in found:
        was = scored[sentence.index]
        standing = (worths[sentence.title] - statistics.fmean(values)) / (
            statistics.pstdev(values) or 1.0
        )
        better = sum(s.title == sentence.title for s in scored[: was.index])
        assert math.isclose(sentence.score, was.score + spread * (standing - better), abs_tol=1e-9)


@given(SCORED, WORTHS, st.sampled_from([0.25, 8.0]), st.sampled_from([-64.0, 16.0]))
def test_no_scale_matters_to_the_order(
    scored: list[Sentence], worths: dict[str, float], factor: float, shift: float
) -> None:
    order = [s.index for s in weighed(scored, worths)]
    other = [Sentence(s.title, s.index, s.text, s.score * factor) for s in scored]
    assert [s.index for s in weighed(other, worths)] == order
    moved = {title: worth * factor + shift for title, worth in worths.items()}
    values = {s.index: s.score for s in weighed(scored, worths)}
    for sentence in weighed(scored, moved):
        assert math.isclose(sentence.score, values[sentence.index], abs_tol=1e-6)
