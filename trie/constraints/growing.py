"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Growing:
    """Numbers of one type; room is doubled when it runs out.

    Attributes
    ----------
    all
        The numbers, and the filling in the room behind them. It is another array when it has
        grown, but what the old one holds stays right, so that one thread may read while another
        one adds.
    size
        How many there are.
    """

    def __init__(self, kind: npt.DTypeLike, filling: int = 0) -> None:
        self._filling = filling
        self.all: npt.NDArray[Any] = np.full(1024, filling, dtype=kind)
        self.size = 0

    def add(self, values: npt.ArrayLike, count: int) -> int:
        """Add `count` numbers, or one number as often; return where they begin."""
        begin = self.extend(count)
        self.all[begin : self.size] = values
        return begin

    def extend(self, count: int) -> int:
        """Add `count` times the filling; return where they begin."""
        begin, end = self.size, self.size + count
        if end > len(self.all):
            grown = np.full(max(2 * len(self.all), end), self._filling, self.all.dtype)
            grown[:begin] = self.all[:begin]
            self.all = grown
        self.size = end
        return begin
