"""Resolving `auto`, and the errors for devices and precisions that are not supported."""

import pytest
import torch

from admiral import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.models.checkpoint import choose_device, choose_dtype, choose_precision
from admiral.retrieval.provenance import recorded_settings


@pytest.mark.parametrize(("fast", "precision"), [(True, "bf16"), (False, "fp32")])
def test_auto_is_bfloat16_if_the_processor_supports_it(monkeypatch, fast, precision):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: fast)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    config = RetrievalConfig(device="cpu")
    assert choose_precision(config) == precision
    assert choose_dtype(config) is {"bf16": torch.bfloat16, "fp32": torch.float32}[precision]
    assert recorded_settings(config)["precision"] == precision
    for named in ("fp32", "bf16"):
        assert choose_precision(RetrievalConfig(device="cpu", precision=named)) == named


def test_auto_on_a_gpu(monkeypatch):
    capabilities = {"cuda": (9, 0), "cuda:1": (7, 5)}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device: capabilities[str(device)]
    )
    assert choose_device("auto") == "cuda"
    assert choose_precision(RetrievalConfig()) == "bf16"
    assert choose_precision(RetrievalConfig(device="cuda:1")) == "fp32"


def test_a_missing_gpu_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    with pytest.raises(AdmiralError, match=r"'cuda:1': is not here .*; use --device cpu"):
        choose_device("cuda:1")
    # It may be on another node; what is recorded of a run can be told without it.
    assert choose_precision(RetrievalConfig(device="cuda:1")) == "bf16"


@pytest.mark.parametrize("count", [1, 3])
def test_a_gpu_number_beyond_the_last_is_an_error(monkeypatch, count):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    for beyond in (count, 128, 256 + count - 1):
        with pytest.raises(AdmiralError, match=rf"'cuda:{beyond}': is not here \({count} CUDA"):
            choose_device(f"cuda:{beyond}")
    assert choose_device(f"cuda:{count - 1}") == f"cuda:{count - 1}"
    assert choose_precision(RetrievalConfig(device=f"cuda:{count}")) == "bf16"  # of another node
