"""The encoder without padding, compared with the model's own encoder."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.trie.model.test_seq2seq import VOCABULARY, bart, random_inputs
from trie import attention
from trie.attention import convert_linears_to_bfloat16
from trie.seq2seq import Seq2Seq

INPUTS = st.lists(
    st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=16), min_size=1, max_size=9
)
MODEL = bart(3)


def states(model, ids):
    """Return the model's own states of one input; (tokens, hidden size)."""
    with torch.no_grad():
        return model.get_encoder()(input_ids=torch.tensor([ids])).last_hidden_state[0]


@settings(deadline=None)
@given(INPUTS)
def test_states_equal_the_models_own(inputs):
    hidden, mask = Seq2Seq(MODEL).run_encoder(inputs)
    assert mask.sum(1).tolist() == [len(ids) for ids in inputs]
    for ids, found, inside in zip(inputs, hidden, mask, strict=True):
        torch.testing.assert_close(found[inside], states(MODEL, ids), atol=1e-5, rtol=1e-5)


SIZES = st.floats(0.1, 40)


@settings(deadline=None)
@given(
    inputs=st.integers(1, 3),
    length=st.integers(1, 40),
    sizes=st.lists(SIZES, min_size=6, max_size=6),
    data=st.integers(0),
)
def test_attention_in_bfloat16_is_a_softmax(inputs, length, sizes, data):
    """For scores of any size, from uniform to one-hot attention."""
    generator = torch.Generator().manual_seed(data % (1 << 32))
    query, key, value = torch.randn(3, inputs, 2, length, 8, generator=generator)
    scale = torch.tensor(sizes[: 2 * inputs]).view(inputs, 2, 1, 1)
    query, key, value = ((one * scale.sqrt()).bfloat16() for one in (query, key, value))
    found = attention._scaled_dot_product(query, key, value)
    for at in range(inputs):
        alone = attention._scaled_dot_product(query[at, None], key[at, None], value[at, None])
        torch.testing.assert_close(found[at], alone[0])
    weights = (query * 8**-0.5) @ key.transpose(-1, -2)  # rounded, as the attention's are
    expected = weights.double().softmax(-1) @ value.double()
    bound = value.abs().amax((2, 3), keepdim=True).double()
    assert ((found.double() - expected) / bound).abs().max() < 0.02


def test_products_are_those_of_autocast():
    model = bart(7).eval()
    converted = copy.deepcopy(model)
    convert_linears_to_bfloat16(converted)
    for ids in random_inputs(4, 2):
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            expected, found = (
                one(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([ids])).logits
                for one in (model, converted)
            )
        assert torch.equal(found, expected)


def test_converted_models_are_rejected():
    model = bart(9)
    Seq2Seq(model, torch.bfloat16)
    with pytest.raises(ValueError, match=r"k_proj has weights in torch.bfloat16; load them in"):
        Seq2Seq(model)
    model.get_encoder().layers[0].self_attn.k_proj.weight = nn.Parameter(torch.empty(0))
    with pytest.raises(
        ValueError, match=r"the weights of .*k_proj were converted; load the model again"
    ):
        Seq2Seq(model)
