"""Examples about invented worlds: labels are consistent, and no claim gives its own away."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from itertools import islice

import pytest

from training.data.examples import Example
from training.data.world_entities import World
from training.data.world_scenes import Stated
from training.data.worlds import SCENES, scene_examples, without, world_examples

COUNT = 6000


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(islice(world_examples(7), COUNT))


def test_the_seed_decides(examples: list[Example]) -> None:
    assert list(islice(world_examples(7), 500)) == examples[:500]
    assert list(islice(world_examples(8), 500)) != examples[:500]


def test_every_scene_occurs_and_can_be_chosen(examples: list[Example]) -> None:
    assert {example.group.split()[0] for example in examples} == set(SCENES)
    chosen = islice(world_examples(0, ["rank"]), 50)
    assert {example.group.split()[0] for example in chosen} == {"rank"}


def test_the_labels_of_sentences_agree_with_that_of_the_whole(examples: list[Example]) -> None:
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


def test_spans_lie_in_the_claim_and_agree_with_its_label(examples: list[Example]) -> None:
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


def test_groups_hold_the_examples_of_one_scene(examples: list[Example]) -> None:
    numbers = [int(example.group.split()[-1]) for example in examples]
    assert numbers == sorted(numbers)
    assert all(example.source == "worlds" for example in examples)


@pytest.mark.parametrize("name", SCENES)
def test_without_what_decides_a_claim_is_open(name: str) -> None:
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


def test_times_that_may_decide_the_same_are_removed_too() -> None:
    founded = Stated("Rome", "It was founded in 1900.", "fact", dated=True)
    closed = Stated("Rome", "It was closed in 1950.", dated=True)
    other = Stated("Oslo", "It was closed in 1950.", dated=True)
    tall = Stated("Rome", "It is tall.")
    assert without([founded, closed, other, tall], "fact") == [other, tall]
    assert without([tall, closed, other], "fact") == [tall, closed, other]


def test_claims_alone_do_not_give_their_labels_away(examples: list[Example]) -> None:
    labels = Counter(example.label for example in examples)
    assert max(labels.values()) < 0.4 * len(examples)
    words: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        for word in set(re.findall(r"[a-z]{3,}", example.claim)):
            words[word][example.label] += 1
    for word, counts in words.items():
        if counts.total() >= 80:
            assert max(counts.values()) < 0.72 * counts.total(), (word, counts)


def test_texts_are_whole_sentences(examples: list[Example]) -> None:
    for example in examples:
        texts = [example.claim, *(text for _, text in example.evidence)]
        assert len(set(example.evidence)) == len(example.evidence)
        for text in texts:
            assert text[0].isupper() or text[0].isdigit()
            assert not re.search(r"  | [.,]|[{}|]|\b1 [a-z]+s\b", text), text
            assert not re.search(r"\ba [aeio]|\ban [^aeiouAEIOU]", text), text
            assert not re.search(r"\b[BCEHJKNPRSTVY]\b", text), text


def test_pronouns_have_titles(examples: list[Example]) -> None:
    for example in examples:
        for title, text in example.evidence:
            assert title or not re.match(r"(?:It|He|She) ", text)
