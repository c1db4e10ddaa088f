"""AdamW, its schedule, and gradients averaged over processes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import distributed, nn

from training.loop.multitask_model import Trainee
from training.run_config import TrainConfig

_AT_ONCE = 1 << 25  # gradients that travel together: 128 MB


def build_optimizer(trainee: Trainee, config: TrainConfig) -> torch.optim.AdamW:
    """Return AdamW with the encoder's and the decoder's learning rates; the head is the encoder's.

    Each group of parameters has its peak rate as ``peak``.
    """
    encoder = list(trainee.model.model.encoder.parameters())
    if trainee.head is not None:
        encoder += trainee.head.parameters()
    known = set(encoder)
    others = [p for p in trainee.parameters() if p not in known]
    return torch.optim.AdamW(
        [
            {"params": encoder, "peak": config.encoder_rate},
            {"params": others, "peak": config.decoder_rate},
        ],
        weight_decay=config.weight_decay,
        fused=True,
    )


def rate(step: int, config: TrainConfig) -> float:
    """Return the share of the peak learning rate at `step`: linear up, then down to zero."""
    if step < config.warmup:
        return min((step + 1) / config.warmup, _after(step, config))
    return _after(step, config)


def _after(step: int, config: TrainConfig) -> float:
    left = min(max((config.steps - step) / max(config.steps - config.warmup, 1), 0.0), 1.0)
    match config.decay:
        case "linear":
            return left
        case "cosine":
            return (1 - math.cos(math.pi * left)) / 2
        case _:
            return 1.0


def average_gradients(parameters: Sequence[nn.Parameter], stop: bool) -> bool:
    """Average the gradients over all processes, and tell whether one of them wants to stop.

    DistributedDataParallel would do it during the backward pass. But there every process has to
    use the same parameters in the same order, where ours train on different tasks at a time, and
    a backward pass that ran out of memory cannot be repeated in parts.

    Parameters
    ----------
    parameters
        Those of the model, in the same order in each process. One that no process used keeps no
        gradient, so that the optimizer passes it over as it does with a single process.
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
    some = [p for p, was in zip(parameters, used, strict=True) if was]
    for group in _groups(some):
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in group]
        flat = torch.cat([g.flatten() for g in gradients])
        distributed.all_reduce(flat)
        flat /= distributed.get_world_size()
        parts = flat.split([p.numel() for p in group])
        for parameter, part in zip(group, parts, strict=True):
            parameter.grad = part.view_as(parameter).clone()
    return stop


def _groups(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    group: list[nn.Parameter] = []
    size = 0
    for parameter in parameters:
        if group and size + parameter.numel() > _AT_ONCE:
            yield group
            group, size = [], 0
        group.append(parameter)
        size += parameter.numel()
    if group:
        yield group
