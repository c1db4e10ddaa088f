"""Mentions by alias, compared with a search for every alias at every character."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.retrieval.alias_matching import find_aliases
from admiral.retrieval.title_matching import Mention

ALIASES = {
    "curl": ["curl(1)"],
    "curl(1)": ["curl(1)"],
    "git commit": ["git-commit(1)"],
    "git-commit": ["git-commit(1)"],
    "git": ["git(1)", "git (package)"],
    "WHO": ["World Health Organization"],
    "World Health": ["World Health Organization"],
    "C++": ["C++ (language)"],
    "Éa": ["Ea"],
}


class ListedAliases:
    """Aliases in a dictionary."""

    def has_aliases_with(self, word: str) -> bool:
        return any(re.match(rf"{word}(?!\w)", name) for name in ALIASES)

    def aliases_beginning(self, text: str) -> list[tuple[str, list[str]]]:
        names = sorted((name for name in ALIASES if text.startswith(name)), key=len, reverse=True)
        return [(name, ALIASES[name]) for name in names]


def slow_mentions(text: str) -> list[Mention]:
    """Take at each character the longest alias between the ends of words."""
    mentions, position = [], 0
    while position < len(text):
        before, rest = text[:position], text[position:]
        fitting = [
            name
            for name in ALIASES
            if rest.startswith(name)
            and not re.search(r"[\w.&$@-]$", before)
            and ends_word(rest[len(name) :])
        ]
        name = max(fitting, key=len, default="")
        if name:
            end = position + len(name)
            mentions.append(Mention(position, end, tuple(ALIASES[name])))
        position += len(name) or 1
    return mentions


def ends_word(after: str) -> bool:
    """Return whether a word ends before a text, except for a possessive ending."""
    possessive = re.match(r"['’]s?", after)
    if possessive and not re.match(r"\w", after[possessive.end() :]):
        return True
    return not re.match(r"\w|\(|[-'’.&]\w", after)


PIECES = [*ALIASES, "-", "(", ")", "(1)", "'", "'s", "’s", ".", "&", "$", "@", "/", "x", "is", "s"]


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " "])), max_size=12).map(
        lambda pairs: "".join(piece + glue for piece, glue in pairs)
    )
)
def test_mentions_are_those_of_a_slow_search(text: str) -> None:
    assert list(find_aliases(ListedAliases(), text)) == slow_mentions(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("curl is a tool; curl's author wrote 'curl'.", ["curl", "curl", "curl"]),
        ("See curl(1), curl(3) and curl().", ["curl(1)"]),
        ("Use git commit or git-commit, not git-committer.", ["git commit", "git-commit"]),
        ("Run x --curl -curl $curl @curl a.curl /bin/curl", ["curl"]),
        ("Libcurl, curlftpfs, curl-config, curl.se", []),
        ("WHO and World Health Organization", ["WHO", "World Health"]),
        ("Who is it?", []),
        ("C++, C++11", ["C++"]),
        ("\ud800 curl \x00curl\udfff", ["curl", "curl"]),
        ("x" * 4090 + " git git", ["git"]),
        ("", []),
    ],
)
def test_where_names_begin_and_end(text: str, names: list[str]) -> None:
    assert [text[m.start : m.end] for m in find_aliases(ListedAliases(), text)] == names
