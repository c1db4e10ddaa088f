"""Linear layers in bfloat16, compared with autocast of float32 layers."""

import copy

import pytest
import torch
from torch import nn

from tests.trie.model.test_seq2seq import bart, random_inputs
from trie.model.low_precision import convert_linears_to_bfloat16
from trie.model.seq2seq import Seq2Seq


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


def test_only_linear_layers_are_converted():
    model = bart(8)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    assert model.lm_head.weight is model.get_decoder().embed_tokens.weight
    convert_linears_to_bfloat16(model)
    assert model.lm_head.weight.dtype == torch.bfloat16
    linear = {name for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    assert linear
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[0] in linear:
            assert parameter.dtype == torch.bfloat16
            assert not parameter.requires_grad
        else:
            assert torch.equal(parameter, before[name])


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


def test_layers_without_bias_or_weights():
    layers = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 2))
    layers[1].weight = nn.Parameter(torch.empty(0))
    convert_linears_to_bfloat16(layers)
    assert layers[0].bias is None
    assert layers[0].weight.dtype == torch.bfloat16
    assert not layers[1].weight.numel()
