"""Encoder states of many inputs, computed in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from trie import Seq2Seq

_BATCH_SIZE = 16


def encode_batches(
    model: Seq2Seq, inputs: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield the positions of each batch of inputs with its encoder states and mask.

    Inputs of similar length share a batch, since padding costs as much as text.

    Parameters
    ----------
    model
        The model.
    inputs
        Token ids of each input.

    Yields
    ------
    positions
        The positions in `inputs` of the batch.
    hidden, mask
        As returned by `Seq2Seq.run_encoder`.
    """
    order = sorted(range(len(inputs)), key=lambda at: len(inputs[at]))
    for begin in range(0, len(order), _BATCH_SIZE):
        positions = order[begin : begin + _BATCH_SIZE]
        hidden, mask = model.run_encoder([inputs[at] for at in positions])
        yield positions, hidden, mask
