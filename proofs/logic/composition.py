"""Composition of operators: from the relations x-y and y-z to the relation x-z.

Source: the join table of MacCartney and Manning (2009), "An extended model of natural logic".
Composing the six operators leads beyond them (a negation followed by an entailment is a cover), and
some compositions leave several relations possible. A `Relation` is therefore a set of the seven
basic relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag

from proofs.logic.operators import NatOp


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
