"""The loss on cross-attention: its value, and that training on it moves the attention."""

from __future__ import annotations

import math

import torch
from transformers import BartConfig, BartForConditionalGeneration

from training.multitask.multitask_model import GuidedAttention


def tiny() -> BartForConditionalGeneration:
    torch.manual_seed(0)
    return BartForConditionalGeneration(
        BartConfig(
            vocab_size=20,
            d_model=16,
            encoder_layers=1,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
            max_position_embeddings=32,
            dropout=0.0,
        )
    )


def guided_loss(
    model: BartForConditionalGeneration,
    source: torch.Tensor,
    mask: torch.Tensor,
    labels: torch.Tensor,
    copies: torch.Tensor,
) -> torch.Tensor:
    with GuidedAttention(model) as guided_attention:
        model(input_ids=source, attention_mask=mask, labels=labels)
    return guided_attention.loss(mask, copies, max(int(copies.any(-1).sum()), 1))


def test_the_loss_equals_that_of_the_models_attention_weights() -> None:
    model = tiny().eval()
    model.set_attn_implementation("eager")
    source, labels = torch.tensor([[4, 5, 6, 7], [4, 5, 1, 1]]), torch.tensor([[5, 6], [5, 2]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    copies = torch.zeros(2, 2, 4, dtype=torch.bool)
    copies[0, 0, 1] = copies[0, 0, 3] = copies[1, 0, 1] = True
    loss = guided_loss(model, source, mask, labels, copies)
    weights = model(
        input_ids=source, attention_mask=mask, labels=labels, output_attentions=True
    ).cross_attentions[-1]
    expected = torch.cat([weights[0, :, 0, [1, 3]].sum(-1), weights[1, :, 0, 1]])
    assert math.isclose(loss.item(), -expected.log().mean().item(), rel_tol=1e-4)


def test_training_moves_attention_to_copied_tokens_and_no_copies_cost_nothing() -> None:
    model = tiny()
    source, labels = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[6, 7]])
    mask = torch.ones_like(source)
    copies = torch.zeros(1, 2, 4, dtype=torch.bool)
    assert guided_loss(model, source, mask, labels, copies).item() == 0
    copies[0, 0, 2] = copies[0, 1, 3] = True
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(60):
        loss = guided_loss(model, source, mask, labels, copies)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]
