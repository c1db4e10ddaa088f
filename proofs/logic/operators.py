"""Natural-logic operators, the sufficiency rule and the verdict automaton.

Sources: section 3.2 of the AdMIRaL paper (four operators decide sufficiency); the six-operator
automaton is that of ProoFVER (Krishna et al., 2022).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class NatOp(Enum):
    """A natural-logic operator (NatOp): the relation between a claim span and an evidence span.

    The value of each member is its symbol in a written proof.
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
    """A state of the verdict automaton, named after the FEVER labels."""

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"


#: The operators of a sufficiency proof (paper, section 3.2). Entailment in one direction, `<` and
#: `>`, says nothing certain about sufficiency.
SUFFICIENCY_OPERATORS = (
    NatOp.EQUIVALENCE,
    NatOp.NEGATION,
    NatOp.ALTERNATION,
    NatOp.INDEPENDENCE,
)
#: The operators of a step in which the evidence contradicts the claim.
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
_TRANSITIONS = {
    # state: =  <  !  |  >  #
    _S: (_S, _S, _R, _R, _N, _N),
    _R: (_R, _N, _S, _N, _R, _N),
    _N: (_N, _N, _N, _N, _N, _N),
}


def transition(state: Verdict, operator: NatOp) -> Verdict:
    """Return the next state of the verdict automaton."""
    return _TRANSITIONS[state][_COLUMNS.index(operator)]


def verdict(operators: Iterable[NatOp]) -> Verdict:
    """Run the verdict automaton over the operators of a proof, starting from SUPPORTS."""
    state = Verdict.SUPPORTS
    for operator in operators:
        state = transition(state, operator)
    return state


def is_sufficient(operators: Iterable[NatOp]) -> bool:
    """Return False if and only if any operator is independence (paper, section 3.2)."""
    return all(operator is not NatOp.INDEPENDENCE for operator in operators)
