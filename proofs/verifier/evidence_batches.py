"""Inputs of classifiers as tensors: batches of similar length, padded."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from trie.model.packed_encoder import pad_batch


def length_batches(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Group inputs of similar length into batches of at most `max_tokens` padded tokens.

    Returns
    -------
    list of list of int
        The positions of the inputs of each batch, shortest inputs first.
    """
    batches: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lambda at: lengths[at]):
        # The inputs are sorted, so this one would be the longest of its batch.
        if batches and (len(batches[-1]) + 1) * lengths[position] <= max_tokens:
            batches[-1].append(position)
        else:
            batches.append([position])
    return batches


def pad_inputs(
    ids: Sequence[Sequence[int]], segments: Sequence[Sequence[int]], pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return token ids, attention mask and segments of inputs, (inputs, longest input)."""
    padded, mask = pad_batch(ids, pad)
    padded_segments, _ = pad_batch(segments, 0)
    return padded, mask, padded_segments


def classifier_inputs(
    ids: Tensor, mask: Tensor, segments: Tensor, has_segments: bool, device: torch.device
) -> dict[str, Tensor]:
    """Return the keyword arguments of a Hugging Face classifier, on its device."""
    inputs = {"input_ids": ids, "attention_mask": mask}
    if has_segments:
        inputs["token_type_ids"] = segments
    return {name: tensor.to(device) for name, tensor in inputs.items()}


def padded_positions(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return lists of positions as a tensor, (rows, longest row), and which are padding."""
    width = max(map(len, rows), default=0)
    positions = torch.zeros(len(rows), width, dtype=torch.long)
    missing = torch.ones(len(rows), width, dtype=torch.bool)
    for number, row in enumerate(rows):
        positions[number, : len(row)] = torch.tensor(row, dtype=torch.long)
        missing[number, : len(row)] = False
    return positions, missing
