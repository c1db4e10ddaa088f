"""Loading and saving heads, and the errors for heads of other models."""

from __future__ import annotations

import shutil

import pytest
import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_checkpoint, locate_checkpoint
from admiral.models.heads import (
    SUFFICIENCY_HEAD,
    RerankHead,
    load_head,
    load_sufficiency_head,
    save_head,
)
from tests.training.tiny import write_hub_directory


def test_heads_round_trip(tmp_path):
    assert load_head(tmp_path, 4) is None
    head = RerankHead(4)
    save_head(tmp_path, head, torch.float16)
    found = load_head(tmp_path, 4)
    assert found is not None
    assert found.score.weight.dtype == torch.float32
    assert torch.equal(found.score.weight, head.score.weight.half().float())
    assert head.score.weight.dtype == torch.float32
    hidden = torch.randn(2, 3, 4)
    assert found(hidden).shape == (2, 3)


def test_heads_of_other_models_are_refused(tmp_path):
    tiny = write_hub_directory(tmp_path / "tiny")
    with pytest.raises(AdmiralError, match=r"safetensors: not a sufficiency classifier"):
        load_sufficiency_head(tiny, 32)
    bundled = locate_checkpoint("mini")
    for name in ("rerank_head.safetensors", SUFFICIENCY_HEAD):
        shutil.copy(bundled / name, tiny / name)
    with pytest.raises(
        AdmiralError, match=r"not a sufficiency classifier of this model \(its shape is \(768"
    ):
        load_sufficiency_head(tiny, 32)
    for content in (None, b"no tensors"):
        if content is not None:
            (tiny / "rerank_head.safetensors").write_bytes(content)
        with pytest.raises(AdmiralError, match=r"rerank_head\.safetensors: not a rerank head"):
            load_checkpoint(tiny)
