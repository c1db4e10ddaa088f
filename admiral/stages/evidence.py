"""The choice of a hop's evidence among the scored sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from admiral.records import Sentence


def choose_evidence(
    scored: Sequence[Sentence], count: int, per_document: int
) -> tuple[Sentence, ...]:
    """Return the best `count` sentences, at most `per_document` of one document.

    A document that answers a part of the claim often has several sentences like it; without a
    bound they leave no room for the documents of the other parts, and a hop can keep only
    documents that have evidence. Where too few sentences remain, the best of the others fill up.

    Parameters
    ----------
    scored
        Sentences, best first.
    count
        The paper's `l`.
    per_document
        At least 1.

    Returns
    -------
    tuple
        Best first.
    """
    taken: Counter[str] = Counter()
    chosen: list[int] = []
    others: list[int] = []
    for place, sentence in enumerate(scored):
        (chosen if taken[sentence.title] < per_document else others).append(place)
        taken[sentence.title] += 1
    places = sorted([*chosen, *others[: max(count - len(chosen), 0)]][:count])
    return tuple(scored[place] for place in places)
