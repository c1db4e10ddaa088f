"""A span of a claim may only quote words that state the same value, or deny it with another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.logic import OPERATORS, NatOp
from proofs.reader.quotations import stated_values
from proofs.reader.reading import ProofReader
from proofs.verifier.stated_values import decide
from tests.proofs.reader.test_reading import encoder, random_scores

__all__ = ["encoder"]  # a fixture


def read(encoder, claim, text, seed=0):
    """Return what a reader says for which every span is said, by a value if there is one."""

    def backend(item):
        scores = random_scores(seed)(item)
        for _, begin, end, _ in stated_values(text):
            (marker,), (offsets,) = item.markers, item.offsets
            moved = len("Harbour: ")
            inside = [
                n for n, (b, e) in enumerate(offsets) if begin + moved < e and b < end + moved
            ]
            scores.begins[:, marker + 1 + inside[0]] = scores.ends[:, marker + 1 + inside[-1]] = 30
        scores.operators[:] = np.log(0.002)
        scores.operators[:, OPERATORS.index(NatOp.EQUIVALENCE)] = np.log(0.99)
        return scores

    (reading,) = ProofReader(backend, encoder).read([claim], [[("Harbour", text)]])
    return reading


def quoted(quote, text):
    return None if quote is None else text[quote.start : quote.end]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The sale raised £9.7 million.", "The sale raised £4.2 million."),
        ("The dredging began on 14 March 2021.", "The dredging began on 14 March 2022."),
        ("The bridge is 40 m long.", "The bridge is 0.12 km long."),
        ("It has three locks.", "It has seven locks."),
    ],
)
def test_different_values_are_never_the_same(encoder, claim, text):
    for seed in range(5):
        reading = read(encoder, claim, text, seed)
        assert reading.labels.argmax() != 0
        denied = [
            quoted(other, text)
            for (begin, end), (same, other) in zip(reading.spans, reading.quotes, strict=True)
            if same is None and stated_values(claim[begin:end])
        ]
        assert denied
        assert all(stated_values(one) for one in denied)


def test_the_value_of_a_span_is_quoted_where_it_is_stated(encoder):
    text = "Dug in 1822 and widened in 1907, the harbour was closed in 1931."
    for seed in range(5):
        reading = read(encoder, "The harbour was widened in 1907.", text, seed)
        same, _ = reading.quotes[-1]
        assert "1907" in quoted(same, text)


AMOUNTS = st.sampled_from(["1907", "1931", "40 m", "3 km", "£5 million", "seven", "2 May 1950"])


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, 99))
def test_no_step_joins_a_value_to_one_that_contradicts_it(encoder, own, first, second, seed):
    text = f"It was {first} once and {second} later."
    claim = f"The harbour was {own} then."
    reading = read(encoder, claim, text, seed)
    for (begin, end), (same, _) in zip(reading.spans, reading.quotes, strict=True):
        stated = stated_values(quoted(same, text)) if same and not same.in_title else []
        labels = [
            {decide(claimed.value, one.value) for one in stated}
            for claimed in stated_values(claim[begin:end])
        ]
        assert {"contradiction"} not in labels
