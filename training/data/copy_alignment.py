"""Align the tokens that a target copies with their positions in the source.

Guided attention (`training.loop.guided_attention`) points the cross-attention at these positions.
"""

from __future__ import annotations

from collections.abc import Sequence


def copy_alignment(
    source: Sequence[int], target: Sequence[int], separators: frozenset[int]
) -> list[tuple[int, int]]:
    """Return pairs (target position, source position) of tokens that the target copies.

    A target token is aligned with the source tokens on the longest common runs through it. A run of
    a single token counts only if the token is a separator, or if it is the whole text between two
    separators, as a title of one token is.

    Parameters
    ----------
    source, target
        Token ids.
    separators
        Tokens with the same meaning at every position, such as sentence identifiers, and tokens
        that delimit text, such as brackets. No run extends across them.
    """
    positions: dict[int, list[int]] = {}
    for j, token in enumerate(source):
        positions.setdefault(token, []).append(j)
    # Length of the common run that ends at (i, j), then of the whole run through it.
    runs: dict[tuple[int, int], int] = {}
    for i, token in enumerate(target):
        begins = token in separators or (i > 0 and target[i - 1] in separators)
        for j in positions.get(token, ()):
            runs[i, j] = 1 if begins else runs.get((i - 1, j - 1), 0) + 1
    for i in range(len(target) - 2, -1, -1):
        if target[i] in separators or target[i + 1] in separators:
            continue
        for j in positions.get(target[i], ()):
            runs[i, j] = max(runs[i, j], runs.get((i + 1, j + 1), 0))
    longest: dict[int, int] = {}
    for (i, _), length in runs.items():
        longest[i] = max(longest.get(i, 0), length)

    def may_be_single(i: int) -> bool:
        begins = i == 0 or target[i - 1] in separators
        ends = i + 1 == len(target) or target[i + 1] in separators
        return target[i] in separators or (begins and ends)

    return [
        (i, j)
        for (i, j), length in runs.items()
        if length == longest[i] and (length > 1 or may_be_single(i))
    ]
