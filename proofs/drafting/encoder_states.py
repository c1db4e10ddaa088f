"""States of a model's encoder for many inputs, in batches of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from trie import Seq2Seq

_BATCH = 16


def encoded_batches(
    model: Seq2Seq, inputs: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Yield the positions of some inputs with their states and mask, as `Seq2Seq.run_encoder` has them.

    Inputs of like length go together, since padding costs as much as text.
    """
    order = sorted(range(len(inputs)), key=lambda at: len(inputs[at]))
    for begin in range(0, len(order), _BATCH):
        places = order[begin : begin + _BATCH]
        hidden, mask = model.run_encoder([inputs[at] for at in places])
        yield places, hidden, mask
