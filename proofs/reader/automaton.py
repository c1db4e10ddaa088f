"""The verdict automaton over distributions of operators (see `proofs.logic.transition`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proofs.logic import OPERATORS, NatOp, Verdict, transition

#: The states of the automaton in the order of `proofs.verifier.LABELS`.
STATES = (Verdict.SUPPORTS, Verdict.NOT_ENOUGH_INFO, Verdict.REFUTES)
#: The transition matrix of each operator, (6, 3, 3): from a state to a state.
MATRICES = np.array(
    [
        [[float(transition(before, operator) is after) for after in STATES] for before in STATES]
        for operator in OPERATORS
    ]
)
MATRICES.flags.writeable = False


def verdict_shares(operators: np.ndarray) -> np.ndarray:
    """Return the probability that a proof ends in each of `STATES`, (3,).

    `operators`: log-probabilities of the operators of each span, (spans, 6).
    """
    shares: np.ndarray = np.eye(len(STATES))[STATES.index(Verdict.SUPPORTS)]
    for span in np.exp(operators):
        shares = shares @ np.tensordot(span, MATRICES, 1)
    return shares


def best_path(operators: Sequence[Sequence[float]], state: Verdict) -> list[NatOp]:
    """Return the most probable operators of the spans of a claim that end in a state.

    `operators`: log-probabilities of `OPERATORS` for each span, (spans, 6), at least one.
    """
    # The best path to each state: its log-probability and its operators (Viterbi's algorithm).
    best: dict[Verdict, tuple[float, list[NatOp]]] = {Verdict.SUPPORTS: (0.0, [])}
    for span in operators:
        reached: dict[Verdict, tuple[float, list[NatOp]]] = {}
        for before, (total, path) in best.items():
            for operator, value in zip(OPERATORS, span, strict=True):
                after = transition(before, operator)
                if after not in reached or total + value > reached[after][0]:
                    reached[after] = total + value, [*path, operator]
        best = reached
    return best[state][1]
