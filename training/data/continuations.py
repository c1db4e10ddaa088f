"""All gold continuations of a hop: which sentences may be named, and which title may follow.

A hop is right if it adds a gold document to gold documents, whichever of them it adds. So an input
has a set of targets, and the loss is the negative log of their summed probability.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

MAX_TARGETS = 8  # of one input; more are drawn from


@dataclass(frozen=True, slots=True)
class Target:
    """Identifiers of evidence sentences, ascending, and the title that follows them."""

    identifiers: tuple[int, ...]
    title: str


def gold_continuations(
    evidence: Sequence[str],
    gold: Collection[str],
    hop: int,
    rng: random.Random,
    limit: int | None = MAX_TARGETS,
) -> tuple[Target, ...]:
    """Return the sequences that are right for a hop over some evidence.

    A sequence names sentences of ``min(hop, documents)`` different documents, as the hop grammar
    forces it to, and a title. It is right if the title is gold and not among these documents, and
    if no other choice of sentences covers more gold documents.

    Parameters
    ----------
    evidence
        The title of each evidence sentence, in the order of the input.
    gold
        The titles of the gold documents.
    hop
        The hop's number; 0 generates a title from the claim alone.
    rng
        Draws `limit` targets where there are more.
    limit
        Most targets that are returned; None for all.

    Returns
    -------
    tuple of Target
        Empty where every gold document is named already: there is nothing left to find.
    """
    count = min(hop, len(set(evidence)))
    found: list[Target] = []
    most = 0
    for chosen in combinations(range(len(evidence)), count):
        documents = {evidence[at] for at in chosen}
        if len(documents) < count:
            continue
        covered = sum(title in documents for title in gold)
        if covered < most:
            continue
        titles = [title for title in gold if title not in documents]
        if covered > most:
            most, found = covered, []
        found += [Target(chosen, title) for title in titles]
    if limit is not None and len(found) > limit:
        found = rng.sample(found, limit)
    return tuple(sorted(found, key=lambda one: (one.identifiers, one.title)))
