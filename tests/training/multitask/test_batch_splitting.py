"""When memory runs out, batches are split and the result of training stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from transformers.models.bart.modeling_bart import BartEncoder

from admiral.errors import AdmiralError
from tests.training.tiny import elsewhere, prepare
from training.multitask.multitask_program import train
from training.multitask.multitask_settings import TrainConfig
from trie.model.safe_tokenizer import TASKS


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> TrainConfig:
    return prepare(tmp_path_factory.mktemp("run"))


@contextmanager
def small_device(most: int) -> Iterator[list[int]]:
    """Run out of memory in training for inputs of more than `most` tokens, including padding.

    Yields a list to which the sizes of such inputs are appended.
    """
    too_large: list[int] = []

    def check(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        if not isinstance(module, nn.LayerNorm) or not torch.is_grad_enabled():
            return
        size = inputs[0].shape[0] * inputs[0].shape[1]
        if size > most:
            too_large.append(size)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    handle = register_module_forward_pre_hook(check)
    try:
        yield too_large
    finally:
        handle.remove()


def test_training_on_halved_batches_has_the_same_result(
    settings: TrainConfig, caplog: pytest.LogCaptureFixture
) -> None:
    whole, parts = elsewhere(settings, "whole"), elsewhere(settings, "parts")
    train(whole, TASKS)
    with small_device(150) as too_large:
        train(parts, TASKS)
    assert too_large
    assert "batches that cost more than" in caplog.text
    ours = load_file(Path(whole.out) / "model.safetensors")
    theirs = load_file(Path(parts.out) / "model.safetensors")
    for name, value in ours.items():
        if not name.endswith("k_proj.bias"):  # attention does not depend on it
            torch.testing.assert_close(theirs[name], value, rtol=2e-2, atol=2e-3)


def test_the_error_in_evaluation_names_the_settings_to_lower(settings: TrainConfig) -> None:
    def check(module: nn.Module, _: tuple[torch.Tensor, ...]) -> None:
        if isinstance(module, nn.LayerNorm) and not torch.is_grad_enabled():
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    handle = register_module_forward_pre_hook(check)
    try:
        with pytest.raises(AdmiralError, match="Lower eval_beams, proof_beams"):
            train(elsewhere(settings, "beams"), TASKS)
    finally:
        handle.remove()


def test_too_little_memory_for_one_sample_is_an_error(settings: TrainConfig) -> None:
    with small_device(4), pytest.raises(AdmiralError, match="a single sample"):
        train(elsewhere(settings, "tiny"), TASKS)


def test_other_device_errors_are_raised(settings: TrainConfig) -> None:
    def broken(module: nn.Module, _: tuple[torch.Tensor, ...]) -> None:
        if isinstance(module, BartEncoder):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    handle = register_module_forward_pre_hook(broken)
    try:
        with pytest.raises(RuntimeError, match="illegal memory access"):
            train(elsewhere(settings, "broken"), TASKS)
    finally:
        handle.remove()
