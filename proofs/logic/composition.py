"""Composition of operators: what follows for x and z from the relations of x to y and of y to z.

Source: the join table of MacCartney and Manning (2009). Composing the six operators leads out of
them (a negation that is then entailed is a cover), and some compositions leave several relations
possible. So a `Relation` is a set of the seven basic ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Flag

from proofs.logic.operators import NatOp


class Relation(Flag):
    """The basic relations that two sets may stand in; a union is what is known of them.

    Of basic relations exactly one holds between two sets that are neither empty nor everything.
    `FORWARD` is the proper subset, `NEGATION` the complement, `ALTERNATION` disjointness that does
    not exhaust everything, `COVER` overlap that does, and `INDEPENDENCE` all the rest. Written
    between spans of evidence and claim: ``FORWARD`` says that the evidence entails the claim.
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
        """Return what an operator says; that of independence, for which nothing is known, ANY."""
        return cls.ANY if operator is NatOp.INDEPENDENCE else cls[operator.name]

    @property
    def operator(self) -> NatOp:
        """The operator that says as much, independence where none of the others does."""
        return _OPERATORS.get(self, NatOp.INDEPENDENCE)


_OPERATORS = {Relation.of(o): o for o in NatOp}
_BASIC = dict(zip("=<>!|~#", Relation, strict=False))
_TABLE = {
    # then:  =  <  >  !  |  ~  #
    "=": "=      <      >      !   |      ~      #",
    "<": "<      <      =<>|#  |   |      <!|~#  <|#",
    ">": ">      =<>~#  >      ~   >!|~#  ~      >~#",
    "!": "!      ~      |      =   >      <      #",
    "|": "|      <!|~#  |      <   =<>|#  <      <|#",
    "~": "~      ~      >!|~#  >   >      =<>~#  >~#",
    "#": "#      <~#    >|#    #   >|#    <~#    =<>!|~#",
}


def join(one: Relation, other: Relation) -> Relation:
    """Return the relations possible for x and z, if `one` holds of x and y, `other` of y and z."""
    result = Relation(0)
    for first in one:
        for second in other:
            result |= _JOINS[first, second]
    return result


def compose(operators: Iterable[NatOp]) -> Relation:
    """Return the relation that a sequence of operators comes to; equivalence for none."""
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
    for first, row in _TABLE.items()
    for second, entry in zip(_BASIC.values(), row.split(), strict=True)
}
