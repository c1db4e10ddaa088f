"""Mentions with their offsets, compared with a search for every title at every word."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, build
from admiral.records import Sentence
from admiral.retrieval.first_stage import (
    Mention,
    TitleMentionFinder,
    base_title,
    find_aliases,
    find_mentions,
    interleaved,
)

_TITLES = """
Seth Meyers / Seth / Late Night with Seth Meyers / Dune (novel) / Dune / It (novel) / Rome /
New York City / 66th Primetime Emmy Awards / C. V. Raman / Raman. / Yahoo! / Yahoo! (band) /
Yahoo / Jeopardy! / Jeopardy! Jeopardy / Guess / Guess Who's Coming to Dinner? / C (letter)
/ C++ / C# / Who / Who's Who?!
"""
TITLES = sorted(" ".join(_TITLES.split()).split(" / "))


class ListedTitles:
    """Titles in a list."""

    def row(self, title):
        return TITLES.index(title) if title in TITLES else None

    def title(self, row):
        return TITLES[row]

    def complete(self, prefix):
        return ((t, n) for n, t in enumerate(TITLES) if t.startswith(prefix))


# All names: titles with and without their qualifiers.
NAMES = {t[:end] for t in TITLES for end in [len(t), *(m.start() for m in re.finditer(r" \(", t))]}


def slow_mentions(text):
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


def count_words(name, text, words):
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
def test_mentions_are_those_of_a_slow_search(pieces):
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
def test_punctuation_may_belong_to_a_name(text, names):
    assert [text[m.start : m.end] for m in find_mentions(ListedTitles(), text)] == names


def test_base_title():
    assert base_title("Dune (novel)") == "Dune"
    assert base_title("(I Can't Get No) Satisfaction") == "(I Can't Get No) Satisfaction"
    assert base_title("(novel)") == "(novel)"


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

    def has_aliases_with(self, word):
        return any(re.match(rf"{word}(?!\w)", name) for name in ALIASES)

    def aliases_beginning(self, text):
        names = sorted((name for name in ALIASES if text.startswith(name)), key=len, reverse=True)
        return [(name, ALIASES[name]) for name in names]


def slow_alias_mentions(text):
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


def ends_word(after):
    """Return whether a word ends before a text, except for a possessive ending."""
    possessive = re.match(r"['’]s?", after)
    if possessive and not re.match(r"\w", after[possessive.end() :]):
        return True
    return not re.match(r"\w|\(|[-'’.&]\w", after)


ALIAS_PIECES = [*ALIASES, *"-()'.&$@/xs", "(1)", "'s", "’s", "is"]


@given(
    st.lists(st.tuples(st.sampled_from(ALIAS_PIECES), st.sampled_from(["", " "])), max_size=12).map(
        lambda pairs: "".join(piece + glue for piece, glue in pairs)
    )
)
def test_mentions_by_alias_are_those_of_a_slow_search(text):
    assert list(find_aliases(ListedAliases(), text)) == slow_alias_mentions(text)


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
def test_where_names_begin_and_end(text, names):
    assert [text[m.start : m.end] for m in find_aliases(ListedAliases(), text)] == names


DOCUMENTS = [
    {"title": "Marie Curie", "sentences": ["She came from Warsaw.", "Her husband taught there."]},
    {
        "title": "Warsaw",
        "sentences": [
            "Warsaw lies on the Vistula, as Marie Curie knew.",
            "Ridley Scott and C. V. Raman never lived in Warsaw.",
        ],
    },
    {"title": "Vistula", "sentences": ["It is a river."]},
    {"title": "Alien (film)", "sentences": ["It was made by Ridley Scott."]},
    {"title": "Alien (novel)", "sentences": ["A book."]},
    {"title": "Ridley Scott", "sentences": []},
    {"title": "Scott", "sentences": []},
    {"title": "The", "sentences": []},
    {"title": "1979", "sentences": []},
    {"title": "C. V. Raman", "sentences": []},
    {"title": "river", "sentences": []},
    {
        "title": "Long",
        "sentences": ["It is near Warsaw.", *["No."] * 20, "Marie Curie", *["No."] * 8, "Vistula"],
    },
    {
        "title": "World Health Organization",
        "sentences": ["The World Health Organization (WHO) is an agency.", "WHO lies in Warsaw."],
    },
    {"title": "WHO Prize", "sentences": []},
    {
        "title": "Linked",
        "sentences": ["Here is Warsaw named.", "Here nobody."],
        "links": [["Vistula", "Nowhere"], []],
    },
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mentions")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"links": [], **d}) + "\n" for d in DOCUMENTS))
    build(corpus, Path(folder / "kb"), bm25="none", progress=False)
    with KnowledgeBase.open(folder / "kb") as kb:
        yield kb


@pytest.fixture(scope="module")
def finder(kb):
    return TitleMentionFinder(kb)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("Marie Curie was born in Warsaw.", ["Marie Curie", "Warsaw"]),
        ("Ridley Scott, not another Scott.", ["Ridley Scott", "Scott"]),  # the longest first
        ("The director of Alien", ["Alien (film)", "Alien (novel)"]),
        ("Alien (film) is by Ridley Scott's crew", ["Alien (film)", "Ridley Scott"]),
        ("(see Warsaw) and Curies' Vistula’s", ["Warsaw", "Vistula"]),
        ("The river of 1979", []),  # no sentence openers, lower case or bare numbers
        ("Made in 1979. The", []),
        ("It was C. V. Raman.", ["C. V. Raman"]),  # the full stop of the name
        ("Warsaw and Warsaw", ["Warsaw"]),
        ("Marie\x00Curie </s> [", []),
        ("Marie \ud800Curie of Warsaw\udfff", ["Warsaw"]),
        ("Warsaw " + "x" * 10**6 + " Vistula", ["Warsaw"]),
        ("", []),
    ],
)
def test_titles_in_a_text(finder, text, titles):
    assert finder.in_text(text) == titles


def test_mentions_of_evidence_are_interleaved_and_those_of_its_documents_follow(finder):
    evidence = [
        Sentence("Warsaw", 0, "Warsaw lies on the Vistula, as Marie Curie knew."),
        Sentence("Alien (film)", 0, "It was made by Ridley Scott."),
    ]
    near = ["Vistula", "Ridley Scott", "Marie Curie"]
    assert finder.in_evidence(evidence) == [*near, "C. V. Raman"]
    assert finder.in_evidence([]) == []


def test_long_documents_are_searched_in_their_first_sentences_and_the_evidence(finder):
    titles = finder.in_evidence([Sentence("Long", 30, "")])
    assert titles == ["Vistula", "Warsaw"]  # not Marie Curie, who is in a later sentence


def test_hyperlinks_come_before_titles_and_dead_ones_are_left_out(finder):
    assert finder.in_evidence([Sentence("Linked", 1, "")]) == ["Vistula", "Warsaw"]
    assert finder.in_evidence([Sentence("Linked", 0, "")]) == ["Vistula", "Warsaw"]


@pytest.mark.parametrize(
    ("text", "with_aliases", "by_title"),
    [
        ("Warsaw hosts the WHO's seat.", ["Warsaw", "World Health Organization"], ["Warsaw"]),
        ("WHO hosts Warsaw.", ["World Health Organization", "Warsaw"], ["Warsaw"]),
        ("The WHO Prize of Warsaw", ["WHO Prize", "Warsaw"], ["WHO Prize", "Warsaw"]),
    ],
)
def test_aliases_outside_titles_are_mentions(kb, text, with_aliases, by_title):
    assert TitleMentionFinder(kb).in_text(text) == with_aliases
    assert TitleMentionFinder(kb, aliases=False).in_text(text) == by_title


def test_a_document_does_not_mention_itself_by_alias(finder):
    assert finder.in_evidence([Sentence("World Health Organization", 1, "")]) == ["Warsaw"]


@given(st.text(max_size=60))
def test_any_text_gives_only_existing_titles(finder, text):
    assert set(finder.in_text(text)) <= {str(d["title"]) for d in DOCUMENTS}


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=4))
def test_interleaving(lists):
    expected = []
    for turn in range(5):
        for items in lists:
            if turn < len(items) and items[turn] not in expected:
                expected.append(items[turn])
    assert interleaved(*lists) == expected
