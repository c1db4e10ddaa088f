"""Mentions with their offsets, compared with a search for every title at every word."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.retrieval.title_matching import Mention, base_title, find_mentions

TITLES = sorted(
    [
        "Seth Meyers",
        "Seth",
        "Late Night with Seth Meyers",
        "Dune (novel)",
        "Dune",
        "It (novel)",
        "Rome",
        "New York City",
        "66th Primetime Emmy Awards",
        "C. V. Raman",
        "Raman.",
        "Yahoo!",
        "Yahoo! (band)",
        "Yahoo",
        "Jeopardy!",
        "Jeopardy! Jeopardy",
        "Guess",
        "Guess Who's Coming to Dinner?",
        "C (letter)",
        "C++",
        "C#",
        "Who",
        "Who's Who?!",
    ]
)


class ListedTitles:
    """Titles in a list."""

    def row(self, title: str) -> int | None:
        return TITLES.index(title) if title in TITLES else None

    def title(self, row: int) -> str:
        return TITLES[row]

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        return ((t, n) for n, t in enumerate(TITLES) if t.startswith(prefix))


# All names: titles with and without their qualifiers.
NAMES = {t[:end] for t in TITLES for end in [len(t), *(m.start() for m in re.finditer(r" \(", t))]}


def slow_mentions(text: str) -> list[Mention]:
    """Take at each word the name with the most words, and of these the longest."""
    words = list(re.finditer(r"\w+(?:[-'’.&]\w+)*\.?", text))
    mentions, position = [], 0
    while position < len(words):
        candidates = [
            (count, len(name), name)
            for name in NAMES
            if (count := count_words(name, text, words[position : position + 8]))
        ]
        count, length, name = max(candidates, default=(1, 0, ""))
        if name:
            start = words[position].start()
            titles = tuple(t for t in TITLES if t == name or t.startswith(f"{name} ("))
            mentions.append(Mention(start, start + length, titles))
        position += count
    return mentions


def count_words(name: str, text: str, words: list[re.Match[str]]) -> int:
    """Return the number of words of a name if it starts at the first word, else 0."""
    start, first = words[0].start(), words[0].group().rstrip(".")
    if not text.startswith(name, start) or not (first[0].isupper() or first[0].isdigit()):
        return 0
    end = start + len(name)
    inside = [word for word in words if word.start() < end]
    if len(inside) == 1 and (first in {"It", "A"} or first.isdigit()):
        return 0
    last = inside[-1]
    left, more = text[end : last.end()], text[last.end() : end]
    whole = re.fullmatch(r"(['’]s)?\.?", left) and re.fullmatch(r"[^\w\s]*", more)
    return len(inside) if whole else 0


PIECES = [
    *("Seth", "Meyers", "'s", "Late", "Night", "with", "Dune", "(novel)", "It", "Rome", "New"),
    *("York", "City", "66th", "Primetime", "Emmy", "Awards", "C.", "V.", "Raman", ".", ",", "A"),
    *("Yahoo", "Jeopardy", "Guess", "Who", "Coming", "to", "Dinner", "C", "!", "?", "+", "#", ")"),
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(TITLES) | st.sampled_from(PIECES), st.sampled_from(["", " ", " "])
        ),
        max_size=14,
    )
)
def test_mentions_are_those_of_a_slow_search(pieces: list[tuple[str, str]]) -> None:
    text = "".join(piece + glue for piece, glue in pieces)
    assert list(find_mentions(ListedTitles(), text)) == slow_mentions(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yahoo! was founded in 1994.", ["Yahoo!"]),
        ("Seth hosted Jeopardy! for years.", ["Seth", "Jeopardy!"]),
        ('Seth left Jeopardy!\'s set (and "Yahoo!").', ["Seth", "Jeopardy!", "Yahoo!"]),
        ("He saw Guess Who's Coming to Dinner?", ["Guess Who's Coming to Dinner?"]),
        ("Who's Who?!", ["Who's Who?!"]),
        ("C++ was designed later than C, C++11 and C#.", ["C++", "C", "C++", "C#"]),
        ("Was it Rome? Dune! Yahoo, C+ (Raman.)", ["Rome", "Dune", "Yahoo", "C", "Raman."]),
    ],
)
def test_punctuation_may_belong_to_a_name(text: str, names: list[str]) -> None:
    assert [text[m.start : m.end] for m in find_mentions(ListedTitles(), text)] == names


def test_offsets_quote_the_text() -> None:
    text = "On Late Night with Seth Meyers's show of Dune (novel) in Rome."
    names = [text[m.start : m.end] for m in find_mentions(ListedTitles(), text)]
    assert names == ["Late Night with Seth Meyers", "Dune (novel)", "Rome"]


def test_base_title() -> None:
    assert base_title("Dune (novel)") == "Dune"
    assert base_title("(I Can't Get No) Satisfaction") == "(I Can't Get No) Satisfaction"
    assert base_title("(novel)") == "(novel)"
