"""Examples about invented people, places and things, of which everything is known.

A scene invents a few entities, states facts about them in sentences, and makes claims that the
sentences entail, contradict or leave open. The claims of a scene differ little, and false ones
often contain a value that stands elsewhere in the evidence: a verifier that compares words cannot
tell them apart. Since the scene is known in full, so are the labels of sentences and of spans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from training.data import world_events as events
from training.data import world_facts as facts
from training.data.examples import Example
from training.data.world_entities import World
from training.data.world_scenes import Claim, Scene, Stated, capitalised
from training.data.world_values import OPEN, TRUE

SOURCE = "worlds"
_MAX_SENTENCES = 6
_UNTITLED = 0.03  # share of examples whose sentences have no titles
#: The scenes and how often each occurs.
SCENES: dict[str, tuple[Callable[[World], Scene], float]] = {
    "attribute": (facts.attribute, 6),
    "vague": (facts.vague, 1.2),
    "units": (facts.units, 0.6),
    "near": (facts.near, 1.5),
    "namesake": (facts.namesake, 1.2),
    "conjunction": (facts.conjunction, 2),
    "bridge": (facts.bridge, 4),
    "origin": (facts.origin, 1.2),
    "qualified": (facts.qualified, 0.8),
    "membership": (facts.membership, 1),
    "shared": (facts.same_value, 1.5),
    "negation": (events.negation, 2.5),
    "modality": (events.modality, 2),
    "opposite": (events.opposite, 1.8),
    "paraphrase": (events.paraphrase, 1.2),
    "change": (events.change, 1),
    "order": (events.order, 1.8),
    "duration": (events.duration, 1),
    "age": (events.age, 1),
    "quantifier": (events.quantifier, 1.5),
    "credit": (events.credit, 0.8),
    "roles": (events.roles, 2.5),
    "kinship": (events.kinship, 1.5),
    "rank": (events.rank, 1.8),
    "comparison": (events.comparison, 2),
}


def world_examples(seed: int, scenes: Sequence[str] = tuple(SCENES)) -> Iterator[Example]:
    """Yield examples forever, group after group; the same ones for the same seed."""
    weights = [SCENES[name][1] for name in scenes]
    number = 0
    while True:
        rng = random.Random(f"{seed} worlds {number}")
        name = rng.choices(list(scenes), weights)[0]
        scene = SCENES[name][0](World(rng))
        yield from scene_examples(scene, f"{name} {seed} {number}", rng)
        number += 1


def scene_examples(scene: Scene, group: str, rng: random.Random) -> Iterator[Example]:
    """Yield the examples of a scene: each claim, and some of them without what decides them."""
    for claim in scene.claims:
        yield _example(claim, scene.sentences, claim.label, group, rng)
    decided = [claim for claim in scene.claims if claim.label != OPEN and claim.removable]
    rng.shuffle(decided)
    for claim in decided[: rng.randint(0, 2)]:
        rest = without(scene.sentences, rng.choice(claim.removable))
        if rest:
            yield _example(claim, rest, OPEN, group, rng)


def without(sentences: Sequence[Stated], key: str) -> list[Stated]:
    """Return the sentences without that of a key, nor others that may decide the same.

    If it gives a time, other times of the same entity are left out: what was closed before 1900 was
    also opened before 1900.
    """
    removed = [stated for stated in sentences if stated.key == key]
    dated = {stated.title for stated in removed if stated.dated}
    rest = [stated for stated in sentences if stated.key != key]
    return [one for one in rest if one.key or not (one.dated and one.title in dated)]


def _example(
    claim: Claim, sentences: Sequence[Stated], label: str, group: str, rng: random.Random
) -> Example:
    needed = [stated for stated in sentences if stated.key in claim.needs]
    others = [stated for stated in sentences if stated.key not in claim.needs]
    room = min(_MAX_SENTENCES - len(needed), rng.randint(1, 5) if needed else 5)
    others = rng.sample(others, min(len(others), room))
    chosen = [stated for stated in sentences if stated in needed or stated in others]
    if rng.random() < 0.7:
        rng.shuffle(chosen)
    is_removed = label != claim.label
    names = [claim.needs.get(stated.key, OPEN) for stated in chosen]
    titled = rng.random() >= _UNTITLED or not all(_is_named(stated) for stated in chosen)
    text, spans = _text_and_spans(claim, label)
    return Example(
        text if rng.random() < 0.1 else f"{text}.",
        tuple((stated.title if titled else "", stated.text) for stated in chosen),
        label,
        SOURCE,
        # What is left of a claim's evidence need not say anything by itself.
        tuple(None if is_removed and name != OPEN else name for name in names),
        spans,
        group,
    )


def _is_named(stated: Stated) -> bool:
    """Return whether a sentence names its subject, so that it can do without a title."""
    return stated.title in stated.text


def _text_and_spans(claim: Claim, label: str) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """Return the text of a claim, and its spans, given a label that may differ from its own."""
    text, spans = "", []
    for part in claim.parts:
        begin = len(text)
        text += part.text
        name = part.label
        if name is None:
            name = TRUE if label == TRUE else None
        elif label != claim.label:
            name = OPEN if len(claim.needs) == 1 else None
        if name is not None and part.text.strip():
            spans.append((begin, len(text), name))
    return capitalised(text), tuple(spans)
