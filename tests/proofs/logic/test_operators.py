"""The sufficiency rule, the verdict automaton and the join of relations, as published."""

from functools import lru_cache
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from proofs import NatOp, Relation, Verdict, compose, join
from proofs.logic.operators import is_sufficient, transition, verdict

OPERATORS = st.lists(st.sampled_from(NatOp))
# The table of the design, row by row, columns as in the string.
TABLE = {"S": "SSRRNN", "R": "RNSNRN", "N": "NNNNNN"}
COLUMNS = "=<!|>#"
NAMES = {"S": Verdict.SUPPORTS, "R": Verdict.REFUTES, "N": Verdict.NOT_ENOUGH_INFO}


def test_verdict_automaton_equals_published_table():
    for state, row in TABLE.items():
        for symbol, following in zip(COLUMNS, row, strict=True):
            assert transition(NAMES[state], NatOp(symbol)) is NAMES[following]


@given(OPERATORS, OPERATORS)
def test_verdict_continues_from_any_prefix(prefix, suffix):
    state = verdict(prefix)
    for operator in suffix:
        state = transition(state, operator)
    assert verdict(prefix + suffix) is state


@given(OPERATORS)
def test_independence_makes_a_proof_insufficient(operators):
    assert is_sufficient(operators) == ("#" not in [o.value for o in operators])
    if not is_sufficient(operators):
        assert verdict(operators) is Verdict.NOT_ENOUGH_INFO


def test_every_operator_has_a_phrase():
    assert NatOp.EQUIVALENCE.phrase == "says the same as"
    assert NatOp.NEGATION.phrase == "is refuted by"
    assert NatOp.ALTERNATION.phrase == "contradicts"
    assert NatOp.INDEPENDENCE.phrase == "is not covered by the evidence"
    assert len({o.phrase for o in NatOp}) == len(NatOp)


BASIC = list(Relation)
CONVERSE = {Relation.FORWARD: Relation.REVERSE, Relation.REVERSE: Relation.FORWARD}
relations = st.integers(1, Relation.ANY.value).map(Relation)


def relation_of(x, y, everything):
    """Return the basic relation of two sets, given as bits, by definition."""
    if x == y:
        return Relation.EQUIVALENCE
    if x & y in (x, y):
        return Relation.FORWARD if x & y == x else Relation.REVERSE
    disjoint, exhaustive = not x & y, x | y == everything
    if disjoint:
        return Relation.NEGATION if exhaustive else Relation.ALTERNATION
    return Relation.COVER if exhaustive else Relation.INDEPENDENCE


@lru_cache
def joins_of_sets(size):
    """Return all joins that occur for the non-trivial subsets of a universe of `size` elements."""
    everything = 2**size - 1
    sets = range(1, everything)
    relation = {(x, y): relation_of(x, y, everything) for x in sets for y in sets}
    joins = {}
    for x, y, z in product(sets, repeat=3):
        pair = relation[x, y], relation[y, z]
        joins[pair] = joins.get(pair, Relation(0)) | relation[x, z]
    return joins


def test_join_equals_relations_of_sets():
    assert joins_of_sets(5) == {pair: join(*pair) for pair in product(BASIC, repeat=2)}


@given(relations, relations, relations)
def test_join_is_monotonic_and_distributes_over_union(left, right, more):
    assert join(left, right) in join(left | more, right)
    assert join(left, right) in join(left, right | more)
    assert join(left | more, right) == join(left, right) | join(more, right)


def test_converse_of_join_is_join_of_converses():
    def converse(relation):
        result = Relation(0)
        for basic in relation:
            result |= CONVERSE.get(basic, basic)
        return result

    for left, right in product(BASIC, repeat=2):
        assert converse(join(left, right)) == join(converse(right), converse(left))


def test_verdict_automaton_agrees_with_join():
    supports = Relation.EQUIVALENCE | Relation.FORWARD
    refutes = Relation.NEGATION | Relation.ALTERNATION
    for length in range(6):
        for operators in product(NatOp, repeat=length):
            relation = compose(operators)
            expected = Verdict.NOT_ENOUGH_INFO
            if relation in supports:
                expected = Verdict.SUPPORTS
            elif relation in refutes:
                expected = Verdict.REFUTES
            assert verdict(operators) is expected


def test_relations_without_operator_are_independence():
    for operator in NatOp:
        assert compose([operator]).operator is operator
    assert compose([]).operator is NatOp.EQUIVALENCE
    assert compose([NatOp.NEGATION, NatOp.NEGATION]).operator is NatOp.EQUIVALENCE
    assert compose([NatOp.NEGATION, NatOp.FORWARD]) == Relation.COVER
    assert Relation.COVER.operator is NatOp.INDEPENDENCE
    assert compose([NatOp.ALTERNATION, NatOp.ALTERNATION]).operator is NatOp.INDEPENDENCE
    assert compose([NatOp.EQUIVALENCE, NatOp.INDEPENDENCE]) == Relation.ANY
