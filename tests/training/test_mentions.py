"""Mentions of titles in text."""

from __future__ import annotations

from training.mentions import MentionIndex, base_title

INDEX = MentionIndex(
    ["Seth Meyers", "Dune (novel)", "Dune", "It (novel)", "Red", "Rome", "Big Fish"]
)


def found(sentence: str) -> list[str]:
    return [m.title for m in INDEX.find(sentence)]


def test_longest_names_win_and_spans_quote_the_text() -> None:
    sentence = "The host was Seth Meyers of Rome."
    mentions = list(INDEX.find(sentence))
    assert [sentence[m.start : m.end] for m in mentions] == ["Seth Meyers", "Rome"]


def test_a_name_that_several_titles_share_names_the_plain_one() -> None:
    assert found("He wrote Dune in 1965, they say.") == ["Dune"]


def test_parts_of_longer_names_and_common_words_do_not_count() -> None:
    assert found("The Red Devils won.") == []
    assert found("they saw it in red and rome") == []
    assert found("big fish") == []


def test_base_title() -> None:
    assert base_title("Dune (novel)") == "Dune"
    assert base_title("(I Can't Get No) Satisfaction") == "(I Can't Get No) Satisfaction"
    assert base_title("(novel)") == "(novel)"
