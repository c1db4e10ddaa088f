"""Examples about invented worlds: labels are consistent, and no claim gives its own away."""

import random
import re
from collections import Counter, defaultdict
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.data.world_scenes import World, lexicon
from training.data.world_values import (
    number_claims,
    number_words,
    time_claims,
    vague_number,
    vague_time,
)
from training.data.worlds import SCENES, scene_examples, world_examples

COUNT = 9000


@pytest.fixture(scope="module")
def examples():
    return list(islice(world_examples(7), COUNT))


def test_every_scene_occurs_and_can_be_chosen(examples):
    assert {example.group.split()[0] for example in examples} == set(SCENES)
    chosen = islice(world_examples(0, ["rank"]), 50)
    assert {example.group.split()[0] for example in chosen} == {"rank"}


def test_the_labels_of_sentences_agree_with_that_of_the_whole(examples):
    for example in examples:
        assert len(example.sentences) == len(example.evidence) > 0
        known = {name for name in example.sentences if name is not None}
        if example.label == "entailment":
            assert "entailment" in known
            assert "contradiction" not in known
        elif example.label == "contradiction":
            assert "contradiction" in known
        else:
            assert "contradiction" not in known


def test_spans_lie_in_the_claim_and_agree_with_its_label(examples):
    for example in examples:
        end = 0
        for begin, after, _ in example.spans:
            assert end <= begin < after <= len(example.claim)
            end = after
        names = {name for _, _, name in example.spans}
        if example.label == "entailment":
            assert names == {"entailment"}
        elif example.label == "contradiction":
            assert "contradiction" in names
        else:
            assert "contradiction" not in names


@pytest.mark.parametrize("name", SCENES)
def test_without_what_decides_a_claim_is_open(name):
    removed = 0
    for seed in range(40):
        rng = random.Random(seed)
        scene = SCENES[name][0](World(rng))
        claims = {claim.label for claim in scene.claims}
        assert claims <= {"entailment", "neutral", "contradiction"}
        keys = {stated.key for stated in scene.sentences if stated.key}
        own = list(scene_examples(scene, "g", rng))
        decided = {e.claim.rstrip("."): e for e in own[: len(scene.claims)]}
        for claim in scene.claims:
            assert claim.needs.keys() <= keys
            assert set(claim.removable) <= claim.needs.keys()
        for example in own[len(scene.claims) :]:
            removed += 1
            whole = decided[example.claim.rstrip(".")]
            assert example.label == "neutral" != whole.label
            assert not set(whole.evidence) <= set(example.evidence)
    assert removed > 5


def test_claims_alone_do_not_give_their_labels_away(examples):
    labels = Counter(example.label for example in examples)
    assert max(labels.values()) < 0.4 * len(examples)
    words = defaultdict(Counter)
    for example in examples:
        for word in set(re.findall(r"[a-z]{3,}", example.claim)):
            words[word][example.label] += 1
    for word, counts in words.items():
        if counts.total() >= 80:
            assert max(counts.values()) < 0.72 * counts.total(), (word, counts)


def test_texts_are_whole_sentences(examples):
    for example in examples:
        texts = [example.claim, *(text for _, text in example.evidence)]
        assert len(set(example.evidence)) == len(example.evidence)
        for text in texts:
            assert text[0].isupper() or text[0].isdigit()
            assert not re.search(r"  | [.,]|[{}|]|\b1 [a-z]+s\b", text), text
            assert not re.search(r"\ba [aeio]|\ban (?!hono|hour)[^aeiouAEIOU]", text), text
            # Degrees and months have letters of their own.
            words = re.sub(r"° ?C|\d [IVX]+ \d", "", text)
            assert not re.search(r"\b[BCEHJKNPRSTVY]\b", words), text


@pytest.mark.parametrize("kind", lexicon().kinds)
def test_facts_are_fixed_distinct_and_in_order(kind):
    for seed in range(30):
        world = World(random.Random(seed))
        entity = world.entity(kind)
        names = list(lexicon().relations[kind])
        world.rng.shuffle(names)
        values = {name: world.fact(entity, name) for name in names}
        assert values == {name: world.fact(entity, name) for name in names}
        times = [values[name] for name in entity.times]
        assert times == sorted(set(times))
        places = [
            str(v) for n, v in values.items() if lexicon().relations[kind][n].value == "place"
        ]
        assert len(set(places)) == len(places)


SEEDS = st.integers(0, 10**6)
WORDS = {number_words(n): n for n in range(100)}
_ORDINALS = (
    *("twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth", "twentieth", "twenty-first"),
)
CENTURIES = {ordinal: number for number, ordinal in enumerate(_ORDINALS, 12)}
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
