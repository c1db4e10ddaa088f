"""Mentions with their places: like those of a slow search through all runs of words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from admiral.mentions import Mention, base_title, find_mentions

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
    ]
)


class Listed:
    """Titles in a list."""

    def row(self, title: str) -> int | None:
        return TITLES.index(title) if title in TITLES else None

    def title(self, row: int) -> str:
        return TITLES[row]

    def complete(self, prefix: str) -> Iterator[tuple[str, int]]:
        return ((t, n) for n, t in enumerate(TITLES) if t.startswith(prefix))


def slow(text: str) -> list[Mention]:
    """Every run of at most 8 words in every form, the longest first."""
    words = list(re.finditer(r"\w+(?:[-'’.&]\w+)*\.?", text))
    found, place = [], 0
    while place < len(words):
        start = words[place].start()
        step = 1
        if text[start].isupper() or text[start].isdigit():
            for last in reversed(words[place : place + 8]):
                name = text[start : last.end() + text.startswith(")", last.end())]
                bare = name.rstrip(".)")
                if last is words[place] and (bare in {"It", "The", "A", "In"} or bare.isdigit()):
                    continue
                for form in (name, bare, re.sub(r"['’]s?$", "", bare)):
                    titles = [t for t in TITLES if t == form or t.startswith(f"{form} (")]
                    if titles:
                        found.append(Mention(start, start + len(form), tuple(titles)))
                        step = words.index(last) - place + 1
                        break
                if found and found[-1].start == start:
                    break
        place += step
    return found


PIECES = ["Seth", "Meyers", "'s", "Late", "Night", "with", "Dune", "(novel)", "It", "Rome", "New"]
PIECES += [
    "York",
    "City",
    "66th",
    "Primetime",
    "Emmy",
    "Awards",
    "C.",
    "V.",
    "Raman",
    ".",
    ",",
    "A",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from([" ", ""]))
def test_like_a_slow_search(pieces: list[str], glue: str) -> None:
    text = " ".join(pieces).replace(" 's", "'s").replace(" .", glue + ".")
    assert list(find_mentions(Listed(), text)) == slow(text)


def test_places_quote_the_text() -> None:
    text = "On Late Night with Seth Meyers's show of Dune (novel) in Rome."
    found = [text[m.start : m.end] for m in find_mentions(Listed(), text)]
    assert found == ["Late Night with Seth Meyers", "Dune (novel)", "Rome"]


def test_base_title() -> None:
    assert base_title("Dune (novel)") == "Dune"
    assert base_title("(I Can't Get No) Satisfaction") == "(I Can't Get No) Satisfaction"
    assert base_title("(novel)") == "(novel)"
