"""The kinds of claims: templates, forms of values, and that neither words nor overlap decide."""

import math
import random
import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import groupby, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.data.world_forms import FORMS, number_forms
from training.data.world_kinds import KINDS, Words, tables
from training.data.world_scenes import World
from training.data.world_values import ordinal, ordinal_digits, roman, spelt
from training.data.worlds import world_examples

GROUPS = 250
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="module", params=KINDS)
def groups(request):
    examples = groupby(world_examples(3, [request.param]), key=lambda example: example.group)
    return request.param, [list(own) for _, own in islice(examples, GROUPS)]


def test_as_many_claims_are_right_as_wrong(groups):
    _, own = groups
    labels = Counter(example.label for group in own for example in group)
    assert abs(labels["entailment"] - labels["contradiction"]) <= 0.1 * labels["entailment"]
    assert 0.2 < labels["neutral"] / labels.total() < 0.5


def test_one_span_of_a_wrong_claim_is_wrong(groups):
    _, own = groups
    for example in (example for group in own for example in group):
        wrong = [example.claim[b:e] for b, e, name in example.spans if name == "contradiction"]
        assert len(wrong) == (example.label == "contradiction"), example


def test_claims_alone_do_not_give_their_labels_away(groups):
    name, own = groups
    train, test = (balanced(own[at::2]) for at in (0, 1))
    counts = fit(train)
    right = sum(guess(counts, example) == example.label for example in test)
    # By their nature, fragments are open.
    assert right <= (0.67 if name == "fragment" else 0.6) * len(test), right / len(test)


def test_overlap_does_not_tell_right_from_wrong(groups):
    _, own = groups
    examples = [e for group in own for e in group if e.label != "neutral"]
    shares = defaultdict(Counter)
    for example in examples:
        shares[overlap(example)][example.label] += 1
    right = sum(max(counts.values()) for counts in shares.values())
    assert right <= 0.7 * len(examples), right / len(examples)


def balanced(groups):
    """Return as many examples of each label."""
    by_label = defaultdict(list)
    for example in (example for group in groups for example in group):
        by_label[example.label].append(example)
    count = min(map(len, by_label.values()))
    return [example for own in by_label.values() for example in own[:count]]


def fit(examples):
    """Return how often each word stands in claims of each label."""
    counts = {label: Counter() for label in LABELS}
    for example in examples:
        counts[example.label].update(words_of(example.claim))
    return counts


def guess(counts, example):
    """Return the label that naive Bayes on the words of the claim gives an example."""
    scores = {
        label: sum(math.log(own[word] + 1) for word in words_of(example.claim))
        for label, own in counts.items()
    }
    return max(scores, key=scores.get)


def words_of(text):
    return set(re.findall(r"\w+", text.lower()))


def overlap(example):
    own = words_of(example.claim)
    evidence = words_of(" ".join(text for _, text in example.evidence))
    return round(10 * len(own & evidence) / len(own))


@pytest.mark.parametrize("kind", tables()["kinds"])
def test_every_template_can_be_filled(kind):
    for frame in tables()["kinds"][kind]["frames"]:
        for seed in range(3):
            for subject in frame.of:
                world = World(random.Random(seed))
                words = Words(world, replace(frame, of=(subject,)), kind)
                own = (*frame.say, *frame.flip, *frame.ways)
                claims = (*frame.claims, *frame.open, *frame.near, *frame.far)
                for template in (*own, *claims, *(tables()["facts"] if frame.fact else ())):
                    text = words.stated(template, "").text
                    assert not re.search(r"[{}<>|]", text), text


EXACT = ("dates", "clock", "counts", "scales", "currencies", "ranks", "cold", "years")


@given(st.sampled_from(EXACT), st.integers(0, 10**6))
def test_no_form_is_both_right_and_wrong(name, seed):
    forms = FORMS[name](random.Random(seed), {})
    assert forms["right"]
    assert forms["wrong"]
    assert set(forms["right"]).isdisjoint(forms["wrong"])


def test_numbers_in_words():
    assert spelt(1_200_019) == "one million two hundred thousand and nineteen"
    assert spelt(345) == "three hundred and forty-five"
    assert "twelve hundred" in number_forms(1200)
    assert [ordinal(n) for n in (1, 12, 20, 23)] == [
        "first",
        "twelfth",
        "twentieth",
        "twenty-third",
    ]
    assert [ordinal_digits(n) for n in (1, 11, 22, 13)] == ["1st", "11th", "22nd", "13th"]
    assert [roman(n) for n in (4, 9, 14, 39)] == ["IV", "IX", "XIV", "XXXIX"]
