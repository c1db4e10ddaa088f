"""Phrases of numbers and times, read by an independent parser that decides whether they hold."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from training.data.world_values import (
    Range,
    article,
    number_claims,
    number_phrase,
    number_words,
    time_claims,
    time_phrase,
    vague_number,
    vague_time,
)

SEEDS = st.integers(0, 10**6)
WORDS = {number_words(n): n for n in range(100)}
CENTURIES = {
    "twelfth": 12,
    "thirteenth": 13,
    "fourteenth": 14,
    "fifteenth": 15,
    "sixteenth": 16,
    "seventeenth": 17,
    "eighteenth": 18,
    "nineteenth": 19,
    "twentieth": 20,
    "twenty-first": 21,
}
AGO = {"a century": 100, "fifty years": 50, "two centuries": 200}


def number(text):
    """Return the number that a text says, digits or words."""
    if text in WORDS:
        return WORDS[text]
    million = text.removesuffix(" million")
    return float(million.replace(",", "")) * (10**6 if million != text else 1)


def holds_of_number(text, value):
    """Return whether a quantity, without its unit, holds of a number."""
    head = re.match(
        r"(more than|over|at least|fewer than|less than|at most|no more than|exactly|about) (.*)",
        text,
    )
    if between := re.fullmatch(r"between (\S+) and (\S+)", text):
        return number(between[1]) <= value <= number(between[2])
    if head is None:
        return value == number(text)
    bound = number(head[2])
    return {
        "more than": value > bound,
        "over": value > bound,
        "at least": value >= bound,
        "fewer than": value < bound,
        "less than": value < bound,
        "at most": value <= bound,
        "no more than": value <= bound,
        "exactly": value == bound,
        "about": abs(value - bound) <= 0.1 * bound,
    }[head[1]]


def holds_of_year(text, year):
    """Return whether a time holds of a year."""
    if match := re.fullmatch(r"(more|less) than (.*) ago", text):
        return (2024 - year > AGO[match[2]]) == (match[1] == "more")
    if match := re.fullmatch(r"(before|after) the Second World War", text):
        return year < 1939 if match[1] == "before" else year > 1945
    if match := re.fullmatch(r"in the (\S+) century", text):
        digits = re.sub(r"\D", "", match[1])
        last = 100 * (int(digits) if digits else CENTURIES[match[1]])
        return last - 100 < year <= last
    if match := re.fullmatch(r"between (\d+) and (\d+)", text):
        return int(match[1]) <= year <= int(match[2])
    if match := re.fullmatch(r"(in|before) the (\d+)s", text):
        decade = int(match[2])
        return year < decade if match[1] == "before" else decade <= year < decade + 10
    match = re.fullmatch(r"(in|before|after|no later than) (\d+)", text)
    assert match, text
    other = int(match[2])
    return {
        "in": year == other,
        "before": year < other,
        "after": year > other,
        "no later than": year <= other,
    }[match[1]]


@given(st.integers(2, 4_000_000), st.lists(st.integers(2, 4_000_000), max_size=3), SEEDS)
def test_claims_on_numbers_are_right(value, others, seed):
    phrases = number_claims(value, "rooms", others, random.Random(seed), 6)
    assert [p.label for p in phrases] == ["entailment", "contradiction"] * 3
    for phrase in phrases:
        words = phrase.text.removesuffix(" rooms")
        assert holds_of_number(words, value) == (phrase.label == "entailment"), phrase.text


@given(st.integers(1101, 2022), st.lists(st.integers(1101, 2022), max_size=3), SEEDS)
def test_claims_on_years_are_right(year, others, seed):
    phrases = time_claims(year, others, random.Random(seed), 6)
    assert [p.label for p in phrases] == ["entailment", "contradiction"] * 3
    for phrase in phrases:
        assert holds_of_year(phrase.text, year) == (phrase.label == "entailment"), phrase.text


@given(st.integers(2, 50_000), st.sampled_from(("rooms", "metres")), SEEDS)
def test_claims_on_bounds_hold_of_all_none_or_some_numbers(value, unit, seed):
    words, phrases = vague_number(value, unit, random.Random(seed))
    texts = [text.removesuffix(f" {unit}") for text in (words, *(p.text for p in phrases))]
    # What holds changes only near a number that is named. Metres also lie between whole numbers.
    named = [number(part) for text in texts for part in re.findall(r"\d[\d,]*", text)]
    steps = (-1, -0.5, 0, 0.5, 1) if unit == "metres" else (-1, 0, 1)
    points = {*range(100), 10**9, *(n + step for n in named for step in steps)}
    points |= {round(n * share) for n in named for share in (0.85, 1, 1.15)}
    possible = [n for n in points if n >= 0 and holds_of_number(texts[0], n)]
    assert len({phrase.label for phrase in phrases}) == 2
    for text, phrase in zip(texts[1:], phrases, strict=True):
        held = {holds_of_number(text, n) for n in possible}
        assert label_of(held) == phrase.label, (words, phrase.text)


def label_of(held):
    if len(held) == 2:
        return "neutral"
    return "entailment" if held == {True} else "contradiction"


@given(st.integers(1101, 2015), SEEDS)
def test_claims_on_vague_times_hold_in_all_none_or_some_years(year, seed):
    words, phrases = vague_time(year, random.Random(seed))
    possible = [y for y in range(300, 2400) if holds_of_year(words, y)]
    assert len({phrase.label for phrase in phrases}) == 2
    for phrase in phrases:
        held = {holds_of_year(phrase.text, y) for y in possible}
        assert label_of(held) == phrase.label, (words, phrase.text)


def test_words_on_whose_limits_readers_differ_are_not_used_there():
    claim = Range("in the 19th century", 1802, 1899, (2, 1))
    assert claim.label(1850, 1850) == "entailment"
    assert claim.label(1901, 1901) == "contradiction"
    assert claim.label(1900, 1900) is None
    assert claim.label(1850, 1950) == "neutral"


@given(st.integers(0, 5_000_000), SEEDS)
def test_evidence_states_its_number(value, seed):
    assert (
        number(number_phrase(value, "rooms", random.Random(seed)).removesuffix(" rooms")) == value
    )


@given(st.integers(1101, 2022), SEEDS)
def test_evidence_states_its_year(year, seed):
    assert time_phrase(year, random.Random(seed)).endswith(f" {year}")


def test_articles():
    assert [article(noun) for noun in ("owl", "Italian", "bat")] == [
        "an owl",
        "an Italian",
        "a bat",
    ]
