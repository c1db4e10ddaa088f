"""Parameter groups, the learning rate schedule, and gradients averaged over processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import distributed, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

from training.loop.loop_settings import LoopSettings

_BUCKET_SIZE = 1 << 25  # gradients that are reduced together: 128 MB


def parameter_groups(
    module: nn.Module, encoder: Sequence[nn.Parameter], encoder_rate: float, other_rate: float
) -> list[dict[str, Any]]:
    """Return the parameters of an encoder and the other ones with their peak learning rates."""
    in_encoder = set(encoder)
    others = [p for p in module.parameters() if p not in in_encoder]
    return [{"params": list(encoder), "lr": encoder_rate}, {"params": others, "lr": other_rate}]


def build_scheduler(optimizer: torch.optim.Optimizer, config: LoopSettings, step: int) -> LambdaLR:
    """Return the learning rate schedule of `transformers` that the settings name.

    Parameters
    ----------
    step
        Number of optimizer steps already done; not 0 when a run resumes.
    """
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    warmup, last = config.warmup_steps, step - 1
    schedule: LambdaLR
    match config.lr_schedule:
        case "linear":
            schedule = get_linear_schedule_with_warmup(optimizer, warmup, config.steps, last)
        case "cosine":
            schedule = get_cosine_schedule_with_warmup(
                optimizer, warmup, config.steps, last_epoch=last
            )
        case _:
            schedule = get_constant_schedule_with_warmup(optimizer, warmup, last)
    return schedule


def average_gradients(parameters: Sequence[nn.Parameter], stop: bool) -> bool:
    """Average the gradients over all processes, and return whether any process wants to stop.

    DistributedDataParallel averages during the backward pass. It needs every process to use the
    same parameters in the same order, but ours train on different tasks at the same time, and it
    cannot repeat in parts a backward pass that ran out of memory.

    Parameters
    ----------
    parameters
        The model's parameters, in the same order in each process. A parameter that no process used
        keeps no gradient, so that the optimizer skips it as it does with a single process.
    stop
        Whether this process wants to stop after the step.
    """
    if not distributed.is_initialized():
        return stop
    flags = torch.tensor(
        [*(p.grad is not None for p in parameters), stop],
        dtype=torch.int32,
        device=parameters[0].device,
    )
    distributed.all_reduce(flags, distributed.ReduceOp.MAX)
    *used, stop = flags.bool().tolist()
    with_gradient = [p for p, is_used in zip(parameters, used, strict=True) if is_used]
    for group in _buckets(with_gradient):
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in group]
        flat = torch.cat([g.flatten() for g in gradients])
        distributed.all_reduce(flat)
        flat /= distributed.get_world_size()
        parts = flat.split([p.numel() for p in group])
        for parameter, part in zip(group, parts, strict=True):
            parameter.grad = part.view_as(parameter).clone()
    return stop


def _buckets(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Yield parameters in groups of at most `_BUCKET_SIZE` numbers."""
    group: list[nn.Parameter] = []
    size = 0
    for parameter in parameters:
        if group and size + parameter.numel() > _BUCKET_SIZE:
            yield group
            group, size = [], 0
        group.append(parameter)
        size += parameter.numel()
    if group:
        yield group
