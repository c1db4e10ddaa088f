"""A constraint state by state, for tests."""

import numpy as np

from trie import Constraint


def following(constraint: Constraint, state: int) -> dict[int, int]:
    """Return the tokens that may follow, ascending, and the state behind each."""
    found = constraint.transitions(np.array([state]))
    assert found.tokens.dtype == found.states.dtype == found.sizes.dtype == np.int64
    assert found.sizes.tolist() == [found.tokens.size] == [found.states.size]
    assert np.all(found.tokens[1:] > found.tokens[:-1])
    return dict(zip(found.tokens.tolist(), found.states.tolist(), strict=True))


def language(constraint: Constraint, eos: int) -> dict[tuple[int, ...], int]:
    """Return all sequences that a constraint lets through, and the state behind each."""
    found: dict[tuple[int, ...], int] = {}
    todo: list[tuple[tuple[int, ...], int]] = [((), constraint.start)]
    while todo:
        ids, state = todo.pop()
        ahead = following(constraint, state)
        assert bool(ahead) == (ids[-1:] != (eos,)), "a dead end, or no end"
        if not ahead:
            found[ids] = state
        todo += [((*ids, token), behind) for token, behind in ahead.items()]
    return found
