"""Which sentences rerankers read, and their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from admiral.records import Document, Sentence
from admiral.reranking.sentence_scores import best_first, readable, scored


def test_blank_sentences_are_not_read_and_the_others_keep_their_places() -> None:
    documents = [Document("b", ("x", " \n", "y")), Document("a", ("", "z"))]
    assert readable(documents) == [
        Sentence("b", 0, "x"),
        Sentence("b", 2, "y"),
        Sentence("a", 1, "z"),
    ]
    assert readable([]) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from([0.0, 1.0]))))
def test_the_best_come_first_and_ties_go_by_title_and_place(
    rows: list[tuple[str, int, float]],
) -> None:
    sentences = [Sentence(title, index, "x") for title, index, _ in rows]
    found = scored(sentences, [score for *_, score in rows])
    keys = [(-s.score, s.title, s.index) for s in found]
    assert keys == sorted((-score, title, index) for title, index, score in rows)
    assert best_first(reversed(found)) == found
