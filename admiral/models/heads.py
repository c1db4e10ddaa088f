"""The heads of a checkpoint: what reads the states of its encoder, in files of their own."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from admiral.errors import AdmiralError, first_line

RERANK_HEAD = "rerank_head.safetensors"
SUFFICIENCY_HEAD = "sufficiency_head.safetensors"  # of the judge `classifier`
# What libraries raise for files that are damaged, or of something else.
UNUSABLE = (OSError, ValueError, RuntimeError, SafetensorError, KeyError)


class RerankHead(nn.Module):
    """Scores every token of the encoder's output; a sentence's score is its tokens' mean.

    Source: the token-level evidence selection of Stammbach (2021).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1)
        nn.init.zeros_(self.score.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Map (..., tokens, width) to (..., tokens)."""
        scores: torch.Tensor = self.score(hidden).squeeze(-1)
        return scores


def load_head(path: Path, width: int) -> RerankHead | None:
    """Load the reranker's head of a checkpoint directory; None where it has none.

    Raises
    ------
    AdmiralError
        If it is damaged, or of a model whose states are not of this width.
    """
    file = path / RERANK_HEAD
    if not file.is_file():
        return None
    head = RerankHead(width)
    try:
        head.load_state_dict({k: v.float() for k, v in load_file(file).items()})
    except UNUSABLE as error:
        raise AdmiralError(
            f"{file}: not a reranker's head of this model ({first_line(error)}); restore it"
        ) from error
    return head


def save_head(path: Path, head: RerankHead, dtype: torch.dtype) -> None:
    """Write the reranker's head into a checkpoint directory in `dtype`; it is left as it is."""
    weights = {k: v.detach().to("cpu", dtype).contiguous() for k, v in head.state_dict().items()}
    save_file(weights, path / RERANK_HEAD, metadata={"format": "pt"})


def load_sufficiency_head(path: Path, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Load the binary sufficiency classifier of a checkpoint directory.

    Parameters
    ----------
    width
        Of the states that it reads.

    Returns
    -------
    Tensor
        Its weight, (width,).
    Tensor
        Its bias, ().

    Raises
    ------
    AdmiralError
        If there is none, or it is damaged, or of another model.
    """
    file = path / SUFFICIENCY_HEAD
    try:
        tensors = load_file(file)
        weight, bias = tensors["weight"], tensors["bias"]
        if weight.shape != (width,) or bias.shape != ():
            raise ValueError(f"of {tuple(weight.shape)}, not {(width,)} numbers")
        return weight, bias
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise AdmiralError(
            f"{file}: not a sufficiency classifier of this model ({first_line(error)}); "
            "fit one with training.judges, or choose another judge"
        ) from error
