"""Look up the next tokens of a batch, compared with one beam at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie import Transitions
from trie.next_tokens import ConstraintBatch


class Table:
    """A constraint given by a table of moves; records its queries."""

    start = 0

    def __init__(self, moves):
        self.moves = [dict(sorted(one.items())) for one in moves]
        self.asked = []

    def transitions(self, states):
        self.asked.append(states.tolist())
        found = [self.moves[state] for state in states.tolist()]
        return Transitions(
            np.array([token for one in found for token in one], dtype=np.int64),
            np.array([state for one in found for state in one.values()], dtype=np.int64),
            np.array([len(one) for one in found], dtype=np.int64),
        )


moves = st.lists(st.dictionaries(st.integers(0, 9), st.integers(0, 2)), min_size=3, max_size=3)


@given(
    st.lists(moves.map(Table), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=9),
)
def test_equals_one_beam_at_a_time(tables, pairs):
    constraints = [*tables, tables[0], tables[0]]  # inputs may share one
    inputs = np.array(sorted(number for number, _ in pairs), dtype=np.int64)
    states = np.array([state for _, state in pairs], dtype=np.int64)
    found = ConstraintBatch(constraints).next_tokens(inputs, states, 10)
    expected = [
        constraints[c].moves[s] for c, s in zip(inputs.tolist(), states.tolist(), strict=True)
    ]
    beams, places = found.positions(np.arange(len(inputs)))
    assert list(
        zip(
            beams.tolist(),
            found.tokens[places].tolist(),
            found.next_states[places].tolist(),
            strict=True,
        )
    ) == [(beam, token, state) for beam, one in enumerate(expected) for token, state in one.items()]
    assert found.forced == all(len(one) < 2 for one in expected)
    rows = found.rows.repeat(11)
    tokens = np.tile(np.arange(-1, 10), len(inputs))  # 99 is beyond all tokens
    tokens[tokens < 0] = 99
    states_after = found.states_after(rows, tokens).reshape(-1, 11).tolist()
    assert states_after == [[one.get(t, -1) for t in (99, *range(10))] for one in expected]
    assert found.states_after(np.full(10, -1), np.arange(10)).tolist() == [-1] * 10
    more = found.with_single_tokens(np.array([7, 99]), np.array([0, 1]) + len(found.sizes))
    assert more.states_after(more.rows, np.array([7, 99])).tolist() == [-1, -1]
    assert more.tokens[more.positions(np.arange(2))[1]].tolist() == [7, 99]
    assert more.states_after(rows, tokens).reshape(-1, 11).tolist() == states_after
    for table in tables:
        assert len(table.asked) <= 1, "each constraint is queried once"
        for asked in table.asked:
            assert asked == sorted(set(asked)), "once per state"


@pytest.mark.parametrize("token", [-1, 10])
def test_tokens_outside_the_vocabulary_are_rejected(token):
    batch = ConstraintBatch([Table([{3: 0}]), Table([{4: 0, token: 0}])])
    zeros = np.zeros(1, dtype=np.int64)
    assert batch.next_tokens(zeros, zeros, 10).tokens.tolist() == [3]
    with pytest.raises(ValueError, match="outside the model's vocabulary of 10"):
        batch.next_tokens(np.arange(2), np.zeros(2, dtype=np.int64), 10)
