"""The loss on cross-attention: its value, and that training on it moves the attention."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BartConfig, BartForConditionalGeneration

from training.multitask.multitask_model import GuidedAttention
from training.multitask.sample_encoding import copy_alignment


def tiny():
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


def guided_loss(model, source, mask, labels, copies):
    with GuidedAttention(model) as guided_attention:
        model(input_ids=source, attention_mask=mask, labels=labels)
    return guided_attention.loss(mask, copies, max(int(copies.any(-1).sum()), 1))


def test_the_loss_equals_that_of_the_models_attention_weights():
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


def test_training_moves_attention_to_copied_tokens_and_no_copies_cost_nothing():
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


SEPARATORS = frozenset({8, 9})
TOKENS = st.lists(st.integers(1, 9), max_size=12)


def oracle(source, target):
    """Extend every match to both sides, but not across separators."""
    aligned = set()
    for i, token in enumerate(target):
        start = end = i
        if token not in SEPARATORS:
            while start > 0 and target[start - 1] not in SEPARATORS:
                start -= 1
            while end + 1 < len(target) and target[end + 1] not in SEPARATORS:
                end += 1
        lengths = {}
        for j, other in enumerate(source):
            if other != token:
                continue
            left = right = 0
            while i - left > start and j > left and target[i - left - 1] == source[j - left - 1]:
                left += 1
            while (
                i + right < end
                and j + right + 1 < len(source)
                and target[i + right + 1] == source[j + right + 1]
            ):
                right += 1
            lengths[j] = left + 1 + right
        best = max(lengths.values(), default=0)
        if best > 1 or start == end:
            aligned |= {(i, j) for j, length in lengths.items() if length == best}
    return aligned


@given(TOKENS, TOKENS)
def test_alignment_equals_the_oracle(source, target):
    aligned = copy_alignment(source, target, SEPARATORS)
    assert len(aligned) == len(set(aligned))
    assert set(aligned) == oracle(source, target)


def test_a_title_is_aligned_with_its_whole_mention_only():
    # source: "new york" ... "new"; target: [ new york ]
    assert copy_alignment([1, 2, 5, 1], [8, 1, 2, 9], SEPARATORS) == [(1, 0), (2, 1)]


def test_a_single_word_of_a_longer_title_is_not_a_copy():
    assert copy_alignment([1, 5, 3], [8, 1, 2, 9], SEPARATORS) == []
