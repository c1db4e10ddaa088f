"""What constrained decoding asks of a constraint."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt


class Constraint(Protocol):
    """An automaton over integer states that says which token may come next.

    A sequence ends when the end token is emitted; only states that may end allow it. From every
    state that can be reached the end can be reached: there are no dead ends.
    """

    start: int

    def allowed(self, state: int) -> npt.NDArray[np.int64]:
        """Return the token ids that may follow, ascending, each once; none behind the end."""
        ...

    def advance(self, state: int, token: int) -> int:
        """Return the state behind an allowed `token`."""
        ...
