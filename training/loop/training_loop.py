"""The loop of all training programs, on accelerate: steps, evaluations, saved states, the model.

A program is a model with its loss, its batches and its measures; everything else is here. Each
process of a run steps in lockstep on batches of its own. All randomness follows from the seed and
the place of a batch, so a run that was stopped continues exactly.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.tracking import get_available_trackers
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

from admiral.errors import AdmiralError
from training.loop import LoopSettings
from training.loop.run_files import (
    Card,
    RunFiles,
    TrainingState,
    load_state,
    open_state,
    push,
    render_card,
    save_state,
)

_SCHEDULES: dict[str, Callable[..., LambdaLR]] = {
    "constant": get_constant_schedule_with_warmup,
    "linear": get_linear_schedule_with_warmup,
    "cosine": get_cosine_schedule_with_warmup,
}


class Program(ABC):
    """What a training program adds to the loop: a model with its loss, batches, and measures."""

    settings: ClassVar[type[LoopSettings]]
    product: ClassVar[str]  # what is trained, for messages
    loss_kinds: ClassVar[tuple[str, ...]]  # names of the losses
    # number of the optimiser's parameter group whose learning rate is logged
    reported_group: ClassVar[int] = 0

    start: Path  # directory of the initial model
    module: nn.Module  # the model with its loss: ``module(batch)`` is the mean loss of a batch
    # parameter groups of the optimiser with their peak learning rates
    groups: Sequence[dict[str, Any]]
    fixed: Mapping[str, Any]  # settings and checksums that all parts of a run must agree on
    selection: Mapping[str, Any]  # settings and checksums that decide which state is best
    summary: str  # the training data in words, without a full stop
    card: Card

    @abstractmethod
    def batches(self) -> Iterator[Sequence[Any]]:
        """Yield the items of batches forever, in an order that depends on the seed alone."""

    @abstractmethod
    def collate(self, items: Sequence[Any]) -> Any:
        """Return a batch as a dataclass of padded tensors."""

    def kind(self, batch: Any) -> str:
        """Return the name of the loss of a batch, one of `loss_kinds`."""
        return self.loss_kinds[0]

    @abstractmethod
    def measure(self) -> dict[str, float]:
        """Return the metrics of the current weights, among them `loss` and `best_metric`."""

    @abstractmethod
    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the current weights in a number format, and what belongs to them."""


def run_training(
    config: LoopSettings,
    open_program: Callable[[Accelerator, ExitStack], Program],
    *,
    overwrite: bool = False,
) -> None:
    """Run a training program until it is finished or stopped, from its saved state if it has one.

    - `open_program`: checks all input, before anything of an earlier run is replaced, and returns
      the program. What it enters into the stack is closed at the end.
    - `overwrite`: start a new run and replace the one in `out`.

    Raises `SystemExit` if a signal stopped the run, and `AdmiralError` for bad input, another run's
    output in `out`, too little disk space, or a loss that is not finite. The model and the state
    that were saved earlier are intact.
    """
    run = RunFiles(Path(config.out))
    deadline = time.monotonic() + 60 * config.minutes if config.minutes else math.inf
    with ExitStack() as stack, stop_signals() as received:
        accelerator = open_accelerator(config, run.folder)
        run.check(overwrite)
        program = open_program(accelerator, stack)
        if run.model.resolve() == program.start.resolve():
            raise AdmiralError(
                f"{run.model}: is also `start`, which the run needs to resume. Choose another `out`"
            )
        state = open_state(run, overwrite, program.fixed, program.selection)

        def stop_wanted() -> bool:
            return bool(received) or time.monotonic() >= deadline

        train(config, accelerator, program, run, state, stop_wanted)
        finished = state.step >= config.steps
        if finished and config.push_to_hub and accelerator.is_main_process:
            push(run.model, config.push_to_hub)
    accelerator.end_training()
    if received and not finished:
        raise SystemExit(128 + received[0])


def train(
    config: LoopSettings,
    accelerator: Accelerator,
    program: Program,
    run: RunFiles,
    state: TrainingState,
    stop_wanted: Callable[[], bool],
) -> None:
    """Train to the last step, or until a stop is wanted."""
    device, is_main = accelerator.device, accelerator.is_main_process
    module = program.module.to(device)
    adamw = torch.optim.AdamW(list(program.groups), weight_decay=config.weight_decay, fused=True)
    if state.step:
        load_state(run.state, module, adamw)
    model, optimizer = accelerator.prepare(module, adamw)
    scheduler = build_scheduler(adamw, config, state.step)
    accelerator.init_trackers(
        "admiral", dict(vars(config)), {"tensorboard": {"purge_step": state.step + 1}}
    )

    def report(text: str, values: Mapping[str, float] | None = None) -> None:
        """Print a line, and write values to the log and to trackers."""
        if is_main:
            print(text, file=sys.stderr)
        if values:
            if is_main:
                run.append_to_log({"step": state.step, **values})
            accelerator.log(values, step=state.step)

    def publish() -> None:
        if is_main:
            card = render_card(program.card, config, state, describe_devices(accelerator))
            dtype = torch.float16 if config.export == "fp16" else torch.float32
            run.publish(lambda folder: program.write(folder, dtype), card)

    resumed = f"; continuing after step {state.step}" if state.step else ""
    report(f"{program.summary}; {describe_devices(accelerator)}{resumed}")
    # Sums and counts of the losses since the last log line. They stay on the device, so that the
    # host does not wait for it.
    losses = torch.zeros(len(program.loss_kinds), 2, device=device)
    logged = (state.step, state.seconds)
    first = state.position + accelerator.process_index
    own = islice(enumerate(program.batches()), first, None, accelerator.num_processes)
    batches = _ahead((position, program.collate(items)) for position, items in own)
    model.train()
    stopping = False
    with closing(batches):
        while state.step < config.steps and not stopping:
            began = time.monotonic()
            for position, batch in islice(batches, config.gradient_accumulation_steps):
                # The position seeds all randomness of a pass, whichever process runs it.
                torch.manual_seed(config.seed * 1_000_003 + position)
                with accelerator.accumulate(model):
                    loss = model(moved(batch, device))
                    accelerator.backward(loss)
                row = losses[program.loss_kinds.index(program.kind(batch))]
                row += torch.stack((loss.detach().float(), torch.ones_like(row[0])))
            # With an infinite limit the norm is measured and nothing is clipped.
            norm = accelerator.clip_grad_norm_(
                module.parameters(), config.max_grad_norm or math.inf
            )
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            stopping = stop_wanted()
            if accelerator.num_processes > 1:  # if one stops, all do
                flag = torch.tensor(float(stopping), device=device)
                stopping = bool(accelerator.reduce(flag))
            state.step += 1
            state.position += config.gradient_accumulation_steps * accelerator.num_processes
            state.seconds += time.monotonic() - began

            last = state.step == config.steps
            # Saving after the first step shows early that there is enough disk space.
            saving = last or stopping or state.step == 1 or state.step % config.save_every == 0
            logging = last or state.step % config.log_every == 0
            if saving or logging:
                sums = accelerator.reduce(losses, "sum").tolist()
                if not all(map(math.isfinite, [float(norm), *(total for total, _ in sums)])):
                    raise AdmiralError(
                        f"the loss or its gradient is not finite at step {state.step}. Lower the "
                        "learning rates or lengthen the warm-up. The saved state is intact."
                    )
            if logging:
                named = zip(program.loss_kinds, sums, strict=True)
                means = {name: total / count for name, (total, count) in named if count}
                rate = float(scheduler.get_last_lr()[program.reported_group])
                seconds = (state.seconds - logged[1]) / (state.step - logged[0])
                report(
                    f"step {state.step} of {config.steps}: {_shown(means)}, {seconds:.2f} s a step",
                    {**means, "learning_rate": rate, "grad_norm": float(norm)},
                )
                logged = (state.step, state.seconds)
                losses.zero_()
            due = config.eval_every and state.step % config.eval_every == 0
            if config.dev and (last or due):
                values = program.measure()
                value = (
                    -values["loss"] if config.best_metric == "loss" else values[config.best_metric]
                )
                is_best = state.best is None or value > state.best
                if is_best:
                    state.best = value
                if is_best or config.keep == "last":
                    state.metrics, state.measured = values, state.step
                kept = is_best and config.keep == "best"
                if kept:
                    publish()
                report(
                    f"step {state.step}, evaluated: {_shown(values)}{', kept' if kept else ''}",
                    {f"dev/{name}": value for name, value in values.items()},
                )
            if saving and is_main:
                save_state(run.state, module, adamw, state)
    finished = state.step >= config.steps
    if config.keep == "last":
        publish()
    elif finished and not run.model.exists():
        raise AdmiralError(
            f"{run.model}: is missing, and only the run's last state is saved. Use --set "
            "keep=last to export that state, or --overwrite to train again."
        )
    report(
        f"finished; the {program.product} is {run.model}"
        if finished
        else f"stopped after step {state.step}; the same command continues"
    )


def _shown(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())


def build_scheduler(optimizer: torch.optim.Optimizer, config: LoopSettings, step: int) -> LambdaLR:
    """Return the learning rate schedule of transformers that the settings name, after `step`."""
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    options = {} if config.lr_schedule == "constant" else {"num_training_steps": config.steps}
    schedule = _SCHEDULES[config.lr_schedule]
    return schedule(optimizer, config.warmup_steps, last_epoch=step - 1, **options)


def _ahead(batches: Iterator[Any]) -> Generator[Any]:
    """Yield batches, the next of which a thread collates while the model is at work."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches)
        while True:
            batch = coming.result()
            coming = pool.submit(next, batches)
            yield batch


def moved(batch: Any, device: torch.device) -> Any:
    """Return a dataclass of tensors on a device."""
    tensors = {f.name: getattr(batch, f.name).to(device) for f in fields(batch)}
    return type(batch)(**tensors)


def parameter_groups(
    module: nn.Module, encoder: Sequence[nn.Parameter], encoder_rate: float, other_rate: float
) -> list[dict[str, Any]]:
    """Return the parameters of an encoder and the other ones with their peak learning rates."""
    in_encoder = set(encoder)
    others = [p for p in module.parameters() if p.requires_grad and p not in in_encoder]
    return [{"params": list(encoder), "lr": encoder_rate}, {"params": others, "lr": other_rate}]


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGTERM and Ctrl-C in a list; a second one ends the program at once."""
    received: list[int] = []

    def handle(number: int, _: object) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)

    handlers = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def open_accelerator(config: LoopSettings, folder: Path) -> Accelerator:
    """Return the `Accelerator` of a run, whose trackers write to `folder`."""
    names = [] if config.tracker == "none" else config.tracker.split(",")
    if config.tracker == "auto":
        names = ["tensorboard"] if find_spec("tensorboard") else []
    unknown = set(names) - {str(tracker) for tracker in get_available_trackers()}
    if unknown:
        raise AdmiralError(
            f"key 'tracker': {', '.join(sorted(unknown))} is not installed, or not a tracker of "
            "accelerate; choose auto or none"
        )
    accelerator = Accelerator(
        # Otherwise accelerate lets processes that were launched for CPUs train separately.
        cpu=config.device == "cpu" or not torch.accelerator.is_available(),
        mixed_precision="no" if config.precision == "fp32" else config.precision,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        log_with=names or None,
        project_dir=folder,
        # Processes may train on different tasks in a step.
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )
    if config.precision != "fp32" and accelerator.device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # for products that autocast leaves in fp32
    return accelerator


def describe_devices(accelerator: Accelerator) -> str:
    """Return number and kind of the devices, such as ``2 processes on cpu``."""
    device = accelerator.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    count = accelerator.num_processes
    return f"{count} process{'es' if count > 1 else ''} on {kind}"
