"""Natural-logic operators, their composition, the sufficiency rule and the verdict automaton.

Sources: section 3.2 of the AdMIRaL paper (four operators decide sufficiency); the six-operator
automaton is that of ProoFVER (Krishna et al., 2022); operators are composed by the join table of
MacCartney and Manning (2009), "An extended model of natural logic". Composing the six operators
leads beyond them (a negation followed by an entailment is a cover), and some compositions leave
several relations possible, so a `Relation` is a set of the seven basic relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, Flag


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

    @property
    def words(self) -> str:
        """The verdict on a claim in words."""
        return _VERDICT_WORDS[self]


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
    NatOp.FORWARD: "rests on",
    NatOp.REVERSE: "is more specific than",
}

_VERDICT_WORDS = {
    Verdict.SUPPORTS: "supported",
    Verdict.REFUTES: "refuted",
    Verdict.NOT_ENOUGH_INFO: "not enough evidence",
}
_S, _R, _N = Verdict.SUPPORTS, Verdict.REFUTES, Verdict.NOT_ENOUGH_INFO
#: The operators in the order of the automaton's columns.
OPERATORS = (
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
    return _TRANSITIONS[state][OPERATORS.index(operator)]


def verdict(operators: Iterable[NatOp]) -> Verdict:
    """Run the verdict automaton over the operators of a proof, starting from SUPPORTS."""
    state = Verdict.SUPPORTS
    for operator in operators:
        state = transition(state, operator)
    return state


def is_sufficient(operators: Iterable[NatOp]) -> bool:
    """Return False if and only if any operator is independence (paper, section 3.2)."""
    return all(operator is not NatOp.INDEPENDENCE for operator in operators)


class Relation(Flag):
    """The basic relations between two sets; a union means that any one of them may hold.

    Exactly one basic relation holds between two sets that are neither empty nor universal.
    `FORWARD` is the proper subset, `NEGATION` the complement, `ALTERNATION` disjointness that is
    not exhaustive, `COVER` overlap that is exhaustive, and `INDEPENDENCE` everything else. Between
    spans of evidence and claim, ``FORWARD`` means that the evidence entails the claim.
    """

    EQUIVALENCE = 1
    FORWARD = 2
    REVERSE = 4
    NEGATION = 8
    ALTERNATION = 16
    COVER = 32
    INDEPENDENCE = 64
    ANY = 127

    @classmethod
    def of(cls, operator: NatOp) -> Relation:
        """Return the relation that an operator states; ANY for independence."""
        return cls.ANY if operator is NatOp.INDEPENDENCE else cls[operator.name]

    @property
    def operator(self) -> NatOp:
        """The operator that states this relation, or independence if there is none."""
        return _OPERATORS.get(self, NatOp.INDEPENDENCE)


_OPERATORS = {Relation.of(o): o for o in NatOp}
_BASIC = dict(zip("=<>!|~#", Relation, strict=False))
_JOIN_TABLE = {
    # then:  =  <  >  !  |  ~  #
    "=": "=      <      >      !   |      ~      #",
    "<": "<      <      =<>|#  |   |      <!|~#  <|#",
    ">": ">      =<>~#  >      ~   >!|~#  ~      >~#",
    "!": "!      ~      |      =   >      <      #",
    "|": "|      <!|~#  |      <   =<>|#  <      <|#",
    "~": "~      ~      >!|~#  >   >      =<>~#  >~#",
    "#": "#      <~#    >|#    #   >|#    <~#    =<>!|~#",
}


def join(left: Relation, right: Relation) -> Relation:
    """Return the relations possible between x and z, given `left` for x-y and `right` for y-z."""
    result = Relation(0)
    for first in left:
        for second in right:
            result |= _JOINS[first, second]
    return result


def compose(operators: Iterable[NatOp]) -> Relation:
    """Return the join of a sequence of operators; equivalence for an empty one."""
    relation = Relation.EQUIVALENCE
    for operator in operators:
        relation = join(relation, Relation.of(operator))
    return relation


def _union(symbols: str) -> Relation:
    result = Relation(0)
    for symbol in symbols:
        result |= _BASIC[symbol]
    return result


_JOINS = {
    (_BASIC[first], second): _union(entry)
    for first, row in _JOIN_TABLE.items()
    for second, entry in zip(_BASIC.values(), row.split(), strict=True)
}
