"""Enumerate the gold continuations of a hop: identifiers of sentences and the title after them.

A hop is correct if it extends gold documents by another gold document, no matter which. So an
input has a set of targets, and the loss is the negative log of their summed probability.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

MAX_TARGETS = 8  # of one input; a sample is drawn from more


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
    """Return the valid targets of a hop.

    A target names sentences of ``min(hop, number of documents)`` different documents, as the hop
    grammar requires, and a title. It is valid if the title is gold and not among these documents,
    and if no other choice of sentences covers more gold documents.

    Parameters
    ----------
    evidence
        The title of each evidence sentence, in the order of the input.
    gold
        The titles of the gold documents.
    hop
        Number of the hop; hop 0 generates a title from the claim alone.
    rng
        Draws `limit` targets if there are more.
    limit
        Maximum number of targets; None for all.

    Returns
    -------
    tuple of Target
        Empty if the best choices of sentences name every gold document already.
    """
    count = min(hop, len(set(evidence)))
    targets: list[Target] = []
    best = 0
    for chosen in combinations(range(len(evidence)), count):
        documents = {evidence[i] for i in chosen}
        if len(documents) < count:
            continue
        covered = sum(title in documents for title in gold)
        if covered < best:
            continue
        titles = [title for title in gold if title not in documents]
        if covered > best:
            best, targets = covered, []
        targets += [Target(chosen, title) for title in titles]
    if limit is not None and len(targets) > limit:
        targets = rng.sample(targets, limit)
    return tuple(sorted(targets, key=lambda target: (target.identifiers, target.title)))
