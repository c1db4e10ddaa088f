"""Natural-logic operators, the sufficiency rule and the verdict automaton.

Sources: section 3.2 of the AdMIRaL paper (four operators decide sufficiency); the six-operator
automaton is that of ProoFVER (Krishna et al., 2022).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class NatOp(Enum):
    """A natural-logic operator: how a claim span relates to an evidence span.

    The value is the symbol that stands for it in a written proof.
    """

    EQUIVALENCE = "="
    NEGATION = "!"
    ALTERNATION = "|"
    INDEPENDENCE = "#"
    FORWARD = "<"
    REVERSE = ">"

    @property
    def phrase(self) -> str:
        """The operator in words, to be read between the claim span and the evidence span."""
        return _PHRASES[self]


class Verdict(Enum):
    """A state of the verdict automaton, named as in FEVER."""

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"


# The operators of a sufficiency proof; `<` and `>` say nothing certain about sufficiency.
SUFFICIENCY_OPERATORS = (
    NatOp.EQUIVALENCE,
    NatOp.NEGATION,
    NatOp.ALTERNATION,
    NatOp.INDEPENDENCE,
)
# Those of a step that says something else of the same thing.
REFUTING_OPERATORS = (NatOp.NEGATION, NatOp.ALTERNATION)

_PHRASES = {
    NatOp.EQUIVALENCE: "says the same as",
    NatOp.NEGATION: "is refuted by",
    NatOp.ALTERNATION: "contradicts",
    NatOp.INDEPENDENCE: "is not covered by the evidence",
    NatOp.FORWARD: "follows from",
    NatOp.REVERSE: "is more specific than",
}

_S, _R, _N = Verdict.SUPPORTS, Verdict.REFUTES, Verdict.NOT_ENOUGH_INFO
_COLUMNS = (
    NatOp.EQUIVALENCE,
    NatOp.FORWARD,
    NatOp.NEGATION,
    NatOp.ALTERNATION,
    NatOp.REVERSE,
    NatOp.INDEPENDENCE,
)
_TABLE = {
    # state: =  <  !  |  >  #
    _S: (_S, _S, _R, _R, _N, _N),
    _R: (_R, _N, _S, _N, _R, _N),
    _N: (_N, _N, _N, _N, _N, _N),
}


def transition(state: Verdict, operator: NatOp) -> Verdict:
    """Return the verdict automaton's next state."""
    return _TABLE[state][_COLUMNS.index(operator)]


def verdict(operators: Iterable[NatOp]) -> Verdict:
    """Run the verdict automaton over the operators of a proof, from the state SUPPORTS."""
    state = Verdict.SUPPORTS
    for operator in operators:
        state = transition(state, operator)
    return state


def is_sufficient(operators: Iterable[NatOp]) -> bool:
    """Return False if and only if any operator is independence (paper, section 3.2)."""
    return all(operator is not NatOp.INDEPENDENCE for operator in operators)
