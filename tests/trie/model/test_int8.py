"""8-bit products, compared with float32."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.trie.model.test_packed_encoder import INPUTS, MODEL
from tests.trie.model.test_seq2seq import bart
from trie import attention
from trie.attention import FloatLinears, Int8Linears
from trie.seq2seq import Seq2Seq

if not attention.int8_is_supported():
    pytest.skip("the CPU has no int8 instructions", allow_module_level=True)
INT8 = Seq2Seq(bart(3), dtype=torch.int8)


def layers(width, *outputs):
    torch.manual_seed(width)
    return [nn.Linear(width, size) for size in outputs]


def both(hidden, *outputs):
    """Return the products of `hidden` in float32 and in 8 bits."""
    parts = layers(hidden.shape[1], *outputs)
    with torch.inference_mode():
        return list(FloatLinears(*parts)(hidden)), list(Int8Linears(*parts)(hidden))


@given(
    st.integers(1, 600),
    st.integers(1, 130),
    st.lists(st.integers(1, 130), min_size=1, max_size=3),
    st.integers(-20, 20),
)
def test_errors_are_bounded(tokens, width, outputs, power):
    """Each factor is rounded by at bound half a quantisation step of its row."""
    hidden = torch.randn(tokens, width, generator=torch.Generator().manual_seed(tokens))
    hidden *= 10.0**power
    parts = layers(width, *outputs)
    weights = [part.weight.detach().clone() for part in parts]
    exact = FloatLinears(*parts)(hidden)
    for one, found, weight in zip(exact, Int8Linears(*parts)(hidden), weights, strict=True):
        assert found.dtype == torch.float32
        assert found.shape == one.shape
        row = hidden.abs().amax(1, keepdim=True) / 254
        column = weight.abs().amax(1) / 254
        bound = hidden.abs().sum(1, keepdim=True) * column + row * weight.abs().sum(1)
        bound += width * row * column
        # Rounding errors of float32 in the scales and sums.
        bound += 1e-5 * (1 + hidden.abs() @ weight.abs().T)
        assert ((found - one).abs() <= bound).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_kept(value):
    hidden = torch.ones(2, 8)
    hidden[1, 3] = value
    _, (found,) = both(hidden, 4)
    assert found[0].isfinite().all()
    assert not found[1].isfinite().any()


@settings(deadline=None)
@given(INPUTS)
def test_states_are_close_to_float32(inputs):
    exact, mask = Seq2Seq(MODEL).run_encoder(inputs)
    hidden, _ = INT8.run_encoder(inputs)
    assert hidden.dtype == torch.float32
    assert (hidden - exact)[mask].square().mean().sqrt() < 0.05
