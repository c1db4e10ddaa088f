"""Enumerate a constraint state by state."""

import numpy as np


def following(constraint, state):
    """Return the tokens that may follow, ascending, and the state after each."""
    found = constraint.transitions(np.array([state]))
    assert found.tokens.dtype == found.next_states.dtype == found.sizes.dtype == np.int64
    assert found.sizes.tolist() == [found.tokens.size] == [found.next_states.size]
    assert np.all(found.tokens[1:] > found.tokens[:-1])
    return dict(zip(found.tokens.tolist(), found.next_states.tolist(), strict=True))


def language(constraint, eos):
    """Return all sequences that a constraint accepts, and the state after each."""
    accepted = {}
    todo = [((), constraint.start)]
    while todo:
        ids, state = todo.pop()
        successors = following(constraint, state)
        assert bool(successors) == (ids[-1:] != (eos,)), "a dead end, or no end"
        if not successors:
            accepted[ids] = state
        todo += [((*ids, token), after) for token, after in successors.items()]
    return accepted
