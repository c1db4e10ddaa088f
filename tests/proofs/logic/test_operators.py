"""The sufficiency rule and the verdict automaton, compared with the published table."""

from hypothesis import given
from hypothesis import strategies as st

from proofs.logic.operators import NatOp, Verdict, is_sufficient, transition, verdict

OPERATORS = st.lists(st.sampled_from(NatOp))
# The table of the design, row by row, columns as in the string.
TABLE = {"S": "SSRRNN", "R": "RNSNRN", "N": "NNNNNN"}
COLUMNS = "=<!|>#"
NAMES = {"S": Verdict.SUPPORTS, "R": Verdict.REFUTES, "N": Verdict.NOT_ENOUGH_INFO}


def test_verdict_automaton_equals_published_table() -> None:
    for state, row in TABLE.items():
        for symbol, following in zip(COLUMNS, row, strict=True):
            assert transition(NAMES[state], NatOp(symbol)) is NAMES[following]


@given(OPERATORS, OPERATORS)
def test_verdict_continues_from_any_prefix(prefix: list[NatOp], suffix: list[NatOp]) -> None:
    state = verdict(prefix)
    for operator in suffix:
        state = transition(state, operator)
    assert verdict(prefix + suffix) is state


@given(OPERATORS, OPERATORS)
def test_equivalence_does_not_change_the_verdict(prefix: list[NatOp], suffix: list[NatOp]) -> None:
    assert verdict([*prefix, NatOp.EQUIVALENCE, *suffix]) is verdict(prefix + suffix)


@given(OPERATORS)
def test_independence_makes_a_proof_insufficient(operators: list[NatOp]) -> None:
    assert is_sufficient(operators) == ("#" not in [o.value for o in operators])
    if not is_sufficient(operators):
        assert verdict(operators) is Verdict.NOT_ENOUGH_INFO


@given(OPERATORS)
def test_double_negation_cancels(operators: list[NatOp]) -> None:
    assert verdict([NatOp.NEGATION, NatOp.NEGATION, *operators]) is verdict(operators)


def test_every_operator_has_a_phrase() -> None:
    assert NatOp.EQUIVALENCE.phrase == "says the same as"
    assert NatOp.NEGATION.phrase == "is refuted by"
    assert NatOp.ALTERNATION.phrase == "contradicts"
    assert NatOp.INDEPENDENCE.phrase == "is not covered by the evidence"
    assert len({o.phrase for o in NatOp}) == len(NatOp)
