"""Mean losses by kind of batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from accelerate import Accelerator


class LossMeter:
    """Running sums of losses. They stay on the device, so that the host does not wait for it.

    Parameters
    ----------
    kinds
        Names of the losses.
    device
        Device of the model.
    """

    def __init__(self, kinds: Sequence[str], device: torch.device) -> None:
        self._rows = {kind: row for row, kind in enumerate(kinds)}
        self._sums = torch.zeros(len(kinds), 2, device=device)

    def add(self, kind: str, loss: torch.Tensor, count: int = 1) -> None:
        """Add the mean loss of `count` batches or examples."""
        row = self._sums[self._rows[kind]]
        row[0] += loss.detach() * count
        row[1] += count

    def restore(self, sums: dict[str, list[float]]) -> None:
        """Continue from the sums of an earlier part of the run."""
        for kind, row in self._rows.items():
            if kind in sums:
                self._sums[row] = torch.tensor(sums[kind])

    def reset(self) -> None:
        """Set all sums to zero."""
        self._sums.zero_()

    def sums(self, accelerator: Accelerator | None = None) -> dict[str, list[float]]:
        """Return sum and count by kind, over all processes if an accelerator is given."""
        sums = self._sums if accelerator is None else accelerator.reduce(self._sums, "sum")
        return dict(zip(self._rows, sums.tolist(), strict=True))
