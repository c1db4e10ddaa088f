"""The heads of a checkpoint: small networks on its encoder states, each in a file of its own."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from admiral.errors import AdmiralError, first_line

RERANK_HEAD = "rerank_head.safetensors"
SUFFICIENCY_HEAD = "sufficiency_head.safetensors"  # of the judge `classifier`
# The errors that libraries raise for files that are damaged or have other content.
LOADING_ERRORS = (OSError, ValueError, RuntimeError, SafetensorError, KeyError)


class RerankHead(nn.Module):
    """Score every token of the encoder output; a sentence's score is the mean over its tokens.

    Source: token-level evidence selection (Stammbach 2021). `width`: dimension of the encoder
    states.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1)
        nn.init.zeros_(self.score.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return logits, (..., tokens), of encoder states, (..., tokens, width)."""
        scores: torch.Tensor = self.score(hidden).squeeze(-1)
        return scores


def load_head(path: Path, width: int) -> RerankHead | None:
    """Load the rerank head of a checkpoint directory; return None if there is none.

    Raises AdmiralError if the file is damaged or belongs to a model of another width.
    """
    file = path / RERANK_HEAD
    if not file.is_file():
        return None
    head = RerankHead(width)
    try:
        head.load_state_dict({k: v.float() for k, v in load_file(file).items()})
    except LOADING_ERRORS as error:
        raise AdmiralError(
            f"{file}: not a rerank head of this model ({first_line(error)}); restore it"
        ) from error
    return head


def save_head(path: Path, head: RerankHead, dtype: torch.dtype) -> None:
    """Save the rerank head to a checkpoint directory in `dtype`; the head itself is not changed."""
    weights = {k: v.detach().to("cpu", dtype).contiguous() for k, v in head.state_dict().items()}
    save_file(weights, path / RERANK_HEAD, metadata={"format": "pt"})


def load_sufficiency_head(path: Path, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Load the binary sufficiency classifier of a checkpoint directory.

    - `path`: the directory.
    - `width`: dimension of the encoder states.
    - Returns `weight`: the weights of the classifier, (width,).
    - Returns `bias`: its bias, ().

    Raises AdmiralError if the file is missing or damaged, or belongs to another model.
    """
    file = path / SUFFICIENCY_HEAD
    try:
        tensors = load_file(file)
        weight, bias = tensors["weight"], tensors["bias"]
        if weight.shape != (width,) or bias.shape != ():
            raise ValueError(f"its shape is {tuple(weight.shape)}, not {(width,)}")
        return weight, bias
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise AdmiralError(
            f"{file}: not a sufficiency classifier of this model ({first_line(error)}); "
            "fit one with training.judges, or choose another judge"
        ) from error
