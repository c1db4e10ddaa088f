"""What a conversion did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of one conversion.

    Attributes
    ----------
    directory
        What was written.
    parameters
        Number of weights, tied ones counted once.
    vocabulary
        Rows of the embedding.
    notices
        What a person should know: tensors that were left out, values that were inferred.
    """

    directory: Path
    parameters: int
    vocabulary: int
    notices: tuple[str, ...]
