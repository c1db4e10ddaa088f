"""Examples with claims of two parts, each of which has evidence of its own.

A claim is entailed if both parts are, and contradicted if one part is, whatever is known of the
other; otherwise it is open. Claims in use often have several parts, those of most data sets only
one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from training.data.examples import RELEVANT, Example

_JOINTS = (". ", ", and ", "; ", ", while ")
_MAX_SENTENCES = 3
_MAX_CHARACTERS = 160
# Half of the claims have two entailed parts, so that a joint does not mean contradiction.
_BOTH_ENTAILED = 0.5
# As many have evidence for one part only.
_HALF_OF_EVIDENCE = 0.4

Labelled = tuple[tuple[str, str], str | None]


def joined_examples(examples: Sequence[Example], source: str, seed: int) -> Iterator[Example]:
    """Yield an example for every two decided ones of a source.

    Parameters
    ----------
    examples
        Examples of all sources.
    source
        The source whose claims are joined.
    seed
        Seed of pairs, joints and evidence.
    """
    rng = random.Random(f"{seed} {source}")
    parts: dict[str, list[Example]] = {"entailment": [], "contradiction": []}
    for example in examples:
        if example.source == source and example.label in parts and _is_short(example):
            parts[example.label].append(example)
    for own in parts.values():
        rng.shuffle(own)
    entailed, contradicted = parts["entailment"], parts["contradiction"]
    while len(entailed) > 1 and contradicted:
        if rng.random() < _BOTH_ENTAILED:
            pair = [entailed.pop(), entailed.pop()]
        else:
            other = contradicted if rng.random() < 1 / 3 and len(contradicted) > 1 else entailed
            pair = [contradicted.pop(), other.pop()]
        rng.shuffle(pair)
        yield _joined(pair[0], pair[1], source, rng)


def _is_short(example: Example) -> bool:
    return len(example.evidence) <= _MAX_SENTENCES and len(example.claim) <= _MAX_CHARACTERS


def _joined(first: Example, second: Example, source: str, rng: random.Random) -> Example:
    head, tail = first.claim.strip().rstrip("."), second.claim.strip().rstrip(".")
    begin = len(head) + len(joint := rng.choice(_JOINTS))
    claim = f"{head}{joint}{tail}."
    known = [first, second]
    if rng.random() < _HALF_OF_EVIDENCE:
        known.remove(rng.choice(known))
    labels = {part.label for part in known}
    label = "contradiction" if "contradiction" in labels else "entailment"
    if len(known) == 1 and label == "entailment":
        label = "neutral"
    items = [item for part in known for item in _sentences(part)]
    rng.shuffle(items)
    places = ((0, len(head), first), (begin, begin + len(tail), second))
    return Example(
        claim,
        tuple(sentence for sentence, _ in items),
        label,
        f"{source}-joined",
        tuple(name for _, name in items),
        tuple((b, e, part.label if part in known else "neutral") for b, e, part in places),
    )


def _sentences(part: Example) -> list[Labelled]:
    """Return the sentences of a part with what each does to the claim, if that is known."""
    if len(part.evidence) > 1:
        return [(sentence, None) for sentence in part.evidence]
    return [(part.evidence[0], part.label if part.label == "contradiction" else RELEVANT)]
