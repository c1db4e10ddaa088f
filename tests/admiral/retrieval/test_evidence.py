"""The choice of evidence among scored sentences."""

from __future__ import annotations

import math
import statistics
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Sentence
from admiral.retrieval.evidence import boost_mentioned, choose_evidence, reweighted


def sentences(titles: str) -> list[Sentence]:
    """One sentence for each letter, best first."""
    return [Sentence(t, i, f"{t}{i}", -float(i)) for i, t in enumerate(titles)]


def test_at_most_two_sentences_of_a_document_are_chosen() -> None:
    chosen = choose_evidence(sentences("aaaabac"), 5, 2)
    assert [s.text for s in chosen] == ["a0", "a1", "a2", "b4", "c6"]


def test_the_limit_is_exceeded_if_there_are_no_other_sentences() -> None:
    assert [s.text for s in choose_evidence(sentences("aaaa"), 3, 1)] == ["a0", "a1", "a2"]
    assert choose_evidence([], 5, 2) == ()


@given(st.text("abcd", max_size=12), st.integers(1, 6), st.integers(1, 4))
def test_the_best_sentences_within_the_limit_are_chosen(
    titles: str, count: int, per_document: int
) -> None:
    scored = sentences(titles)
    chosen = choose_evidence(scored, count, per_document)
    assert len(chosen) == min(count, len(scored))
    assert [s.index for s in chosen] == sorted({s.index for s in chosen})
    within = [s for s in scored if titles[: s.index].count(s.title) < per_document]
    assert set(within[:count]) <= set(chosen)
    if len(within) >= count:
        assert max(Counter(s.title for s in chosen).values()) <= per_document


def test_sentences_of_mentioned_documents_gain_a_part_of_the_standard_deviation() -> None:
    scored = [
        Sentence(t, 0, t, score) for t, score in zip("abcd", (6.0, 5.5, 2.0, 2.0), strict=True)
    ]
    assert boost_mentioned(scored, []) == scored
    boosted = boost_mentioned(scored, ["b", "d", "unread"])
    assert [s.title for s in boosted] == ["b", "a", "d", "c"]
    assert boosted[0].score - 5.5 == boosted[2].score - 2.0 > 0.5
    # The scale and the zero of the scores do not matter.
    rescaled = [Sentence(s.title, 0, s.text, 100 * s.score - 7) for s in scored]
    assert [s.title for s in boost_mentioned(rescaled, ["b", "d"])] == ["b", "a", "d", "c"]


def test_equal_scores_have_no_deviation_to_gain() -> None:
    scored = [Sentence(t, 0, t, 1.0) for t in "ab"]
    assert boost_mentioned(scored, ["b"]) == scored
    assert boost_mentioned([], ["b"]) == []


SCORED = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(-50, 50).map(lambda n: n / 8)), max_size=9
).map(
    lambda pairs: [
        Sentence(title, at, title, score)
        for at, (title, score) in enumerate(sorted(pairs, key=lambda pair: -pair[1]))
    ]
)
RELEVANCE = st.fixed_dictionaries(dict.fromkeys("abcd", st.integers(-20, 20).map(float)))


@given(SCORED, RELEVANCE)
def test_sentences_gain_by_their_document_and_lose_by_better_sentences_of_it(
    scored: list[Sentence], relevance: dict[str, float]
) -> None:
    combined = reweighted(scored, relevance)
    assert sorted(s.index for s in combined) == list(range(len(scored)))
    assert [s.score for s in combined] == sorted((s.score for s in combined), reverse=True)
    tops = {s.title: s.score for s in reversed(scored)}
    deviation = (statistics.pstdev(tops.values()) if tops else 0.0) or 1.0
    values = [relevance[title] for title in tops]
    for sentence in combined:
        before = scored[sentence.index]
        z_score = (relevance[sentence.title] - statistics.fmean(values)) / (
            statistics.pstdev(values) or 1.0
        )
        better = sum(s.title == sentence.title for s in scored[: before.index])
        expected = before.score + deviation * (z_score - better)
        assert math.isclose(sentence.score, expected, abs_tol=1e-9)


@given(SCORED, RELEVANCE, st.sampled_from([0.25, 8.0]), st.sampled_from([-64.0, 16.0]))
def test_the_scale_does_not_change_the_order(
    scored: list[Sentence], relevance: dict[str, float], factor: float, shift: float
) -> None:
    order = [s.index for s in reweighted(scored, relevance)]
    rescaled = [Sentence(s.title, s.index, s.text, s.score * factor) for s in scored]
    assert [s.index for s in reweighted(rescaled, relevance)] == order
    moved = {title: value * factor + shift for title, value in relevance.items()}
    values = {s.index: s.score for s in reweighted(scored, relevance)}
    for sentence in reweighted(scored, moved):
        assert math.isclose(sentence.score, values[sentence.index], abs_tol=1e-6)
