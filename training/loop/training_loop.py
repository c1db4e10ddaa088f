"""The loop of all training programs: steps, logs, evaluations, saved states and the checkpoint.

The learning rate follows a schedule; gradients are averaged over processes.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import torch
from accelerate import Accelerator
from torch import distributed, nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

from admiral.errors import AdmiralError
from training.loop import LoopSettings
from training.loop.batch_loading import Loader, moved
from training.loop.run_files import (
    LossMeter,
    Reporter,
    RunOutput,
    TrainingState,
    describe_devices,
    load_tensors,
    open_accelerator,
    open_state,
    push,
    save_state,
)

_BUCKET_SIZE = 1 << 25  # gradients that are reduced together: 128 MB


def parameter_groups(
    module: nn.Module, encoder: Sequence[nn.Parameter], encoder_rate: float, other_rate: float
) -> list[dict[str, Any]]:
    """Return the parameters of an encoder and the other ones with their peak learning rates."""
    in_encoder = set(encoder)
    others = [p for p in module.parameters() if p.requires_grad and p not in in_encoder]
    return [{"params": list(encoder), "lr": encoder_rate}, {"params": others, "lr": other_rate}]


def build_scheduler(optimizer: torch.optim.Optimizer, config: LoopSettings, step: int) -> LambdaLR:
    """Return the learning rate schedule of `transformers` that the settings name.

    `step`: number of optimizer steps already done; not 0 when a run resumes.
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
    same parameters in the same order, but ours train on different tasks at the same time.

    `parameters`: the model's parameters, in the same order in each process. A parameter that no
    process used keeps no gradient, so that the optimizer skips it as it does with a single process.
    `stop`: whether this process wants to stop after the step.
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


class Program(ABC):
    """What a training program adds to the loop: a model with its loss, batches, and measures."""

    product: ClassVar[str]  # what is trained, for messages
    loss_kinds: ClassVar[tuple[str, ...]]  # names of the losses
    # number of the optimiser's parameter group whose learning rate is logged
    reported_group: ClassVar[int]

    start: Path  # directory of the initial model
    # the model with its loss: ``module(batch)`` is the mean loss of a batch
    module: nn.Module
    # parameter groups of the optimiser with their peak learning rates
    groups: Sequence[dict[str, Any]]
    fixed: Mapping[str, Any]  # settings and checksums that all parts of a run must agree on
    selection: Mapping[str, Any]  # settings and checksums that decide which state is best
    summary: str  # the training data in words, without a full stop

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
    def card(self, state: TrainingState, devices: str) -> str:
        """Return the model card; `devices` describes the devices of the run."""

    @abstractmethod
    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the current weights in a number format, and what belongs to them."""


def run_training(
    config: LoopSettings,
    open_program: Callable[[Accelerator, ExitStack], Program],
    *,
    overwrite: bool = False,
    upload_to: str = "",
) -> None:
    """Run a training program until it is finished or stopped, from its saved state if it has one.

    - `open_program`: checks all input, before anything of an earlier run is replaced, and returns
      the program. What it enters into the stack is closed at the end.
    - `overwrite`: start a new run and replace the one in `out`.
    - `upload_to`: repository on the Hugging Face hub that a finished checkpoint is uploaded to;
      empty: none.

    Raises `SystemExit` if a signal stopped the run, and `AdmiralError` for bad input, another run's
    output in `out`, too little disk space, or a loss that is not finite. The checkpoint and the
    state that were saved earlier are intact.
    """
    stopper = StopConditions(config.minutes)
    with ExitStack() as stack:
        stack.enter_context(stopper.signals())
        output = RunOutput(Path(config.out))
        accelerator = open_accelerator(config, output.folder)
        if accelerator.is_main_process:
            stack.enter_context(output.exclusive_access())
        output.check(overwrite)
        program = open_program(accelerator, stack)
        output.check_start(program.start)
        state = open_state(output, overwrite, program.fixed, program.selection)
        finished = TrainingLoop(config, accelerator, output, program, state).run(stopper)
        if finished and upload_to and accelerator.is_main_process:
            push(output.checkpoint, upload_to)
    accelerator.end_training()
    if stopper.signal is not None and not finished:
        raise SystemExit(128 + stopper.signal)


class TrainingLoop:
    """The optimizer steps of a run; each process has one and they act in lockstep."""

    def __init__(
        self,
        config: LoopSettings,
        accelerator: Accelerator,
        output: RunOutput,
        program: Program,
        state: TrainingState,
    ) -> None:
        self._settings, self._accelerator, self._output = config, accelerator, output
        self._program, self._state = program, state
        self._module = program.module.to(accelerator.device)
        self._parameters = list(self._module.parameters())
        decay = config.weight_decay
        self._adamw = torch.optim.AdamW(list(program.groups), weight_decay=decay, fused=True)
        if state.step:
            load_tensors(output.state, self._module, self._adamw)
            if accelerator.scaler is not None and state.scaler:
                accelerator.scaler.load_state_dict(state.scaler)
        self._optimizer = accelerator.prepare_optimizer(self._adamw)
        self._scheduler = build_scheduler(self._adamw, config, state.step)
        self._reporter = Reporter(accelerator, output, config, state.step)
        self._meter = LossMeter(program.loss_kinds, accelerator.device)
        if accelerator.is_main_process:
            self._meter.restore(state.losses)
        self._norm = torch.zeros(())

    def run(self, stopper: StopConditions) -> bool:
        """Train to the last step, or until a stop is requested; return whether it is finished."""
        config, state, accelerator = self._settings, self._state, self._accelerator
        resumed = f"; continuing after step {state.step}" if state.step else ""
        devices = describe_devices(accelerator)
        loader = Loader(
            self._program.batches(),
            self._program.collate,
            position=state.position,
            share=(accelerator.process_index, accelerator.num_processes),
            device=accelerator.device,
        )
        self._module.train()
        with self._reporter as reporter, loader:
            reporter.log_line(f"{self._program.summary}; {devices}{resumed}")
            stop = False
            while state.step < config.steps and not stop:
                stop = self._step(loader, stopper)
                last = state.step == config.steps
                if last or state.step % config.log_every == 0:
                    self._log()
                if config.dev and (last or _is_multiple(state.step, config.eval_every)):
                    self._evaluate()
                # Saving after the first step shows early that there is enough disk space.
                if last or stop or state.step == 1 or state.step % config.save_every == 0:
                    state.losses = self._losses()  # raises if not finite
                    self._save(publish=(last or stop) and config.keep == "last")
            finished = state.step >= config.steps
            if finished and accelerator.is_main_process:
                self._ensure_checkpoint()
            reporter.log_line(
                f"finished; the {self._program.product} is {self._output.checkpoint}"
                if finished
                else f"stopped after step {state.step}; the same command continues"
            )
        return finished

    def _step(self, loader: Loader, stopper: StopConditions) -> bool:
        """Run one optimizer step and return whether any process wants to stop after it."""
        began = time.monotonic()
        config, state = self._settings, self._state
        batches = loader.take(config.gradient_accumulation_steps)
        for batch in batches:
            # The position seeds all randomness of a pass, whichever process runs it.
            torch.manual_seed(config.seed * 1_000_003 + batch.position)
            loss = self._pass(batch.batch)
            self._meter.add(self._program.kind(batch.batch), loss)
        stop = average_gradients(self._parameters, stopper.wanted)
        # With an infinite limit the norm is measured and nothing is clipped.
        limit = config.max_grad_norm or math.inf
        self._norm = self._accelerator.clip_grad_norm_(self._parameters, limit)
        self._optimizer.step()
        self._scheduler.step()
        self._optimizer.zero_grad()
        state.step += 1
        state.position += len(batches) * self._accelerator.num_processes
        state.seconds += time.monotonic() - began
        self._reporter.advance()
        return stop

    def _pass(self, batch: Any) -> torch.Tensor:
        """Run the forward and backward pass of a batch, and return its loss."""
        with self._accelerator.autocast():
            loss: torch.Tensor = self._module(moved(batch, self._accelerator.device))
        self._accelerator.backward(loss / self._settings.gradient_accumulation_steps)
        return loss.detach()

    def _log(self) -> None:
        """Log the mean losses since the last log line."""
        means = {kind: total / count for kind, (total, count) in self._losses().items() if count}
        rate = float(self._scheduler.get_last_lr()[self._program.reported_group])
        self._reporter.losses(self._state.step, means, rate, float(self._norm))
        self._meter.reset()

    def _losses(self) -> dict[str, list[float]]:
        """Return sums and counts of the losses since the last log line, over all processes."""
        sums = self._meter.sums(self._accelerator)
        values = [total for total, _ in sums.values()]
        if self._accelerator.scaler is None:  # a scaler skips steps that overflow
            values.append(float(self._norm))
        if not all(map(math.isfinite, values)):
            raise AdmiralError(
                f"the loss or its gradient is not finite at step {self._state.step}. Lower the "
                "learning rates or lengthen the warm-up. The saved state is intact."
            )
        return sums

    def _evaluate(self) -> None:
        """Measure the current weights, and export them if they are the best and to be kept."""
        config, state = self._settings, self._state
        values = self._program.measure()
        value = -values["loss"] if config.best_metric == "loss" else values[config.best_metric]
        improved = state.best is None or value > state.best
        if improved:
            state.best = value
        if improved or config.keep == "last":
            state.metrics, state.measured = values, state.step
        kept = improved and config.keep == "best"
        if kept:
            self._publish()
        self._reporter.metrics(state.step, values, kept)

    def _publish(self) -> None:
        """Export the current weights as the checkpoint."""
        if not self._accelerator.is_main_process:
            return
        dtype = torch.float16 if self._settings.export == "fp16" else torch.float32
        card = self._program.card(self._state, describe_devices(self._accelerator))
        self._output.publish(lambda folder: self._program.write(folder, dtype), card)
        self._state.published = self._state.step

    def _save(self, publish: bool) -> None:
        """Save the state, in any case, and export the checkpoint before if it is to be."""
        try:
            if publish:
                self._publish()
        finally:
            if self._accelerator.scaler is not None:
                self._state.scaler = self._accelerator.scaler.state_dict()
            if self._accelerator.is_main_process:
                save_state(self._output.state, self._module, self._adamw, self._state)

    def _ensure_checkpoint(self) -> None:
        """Export the checkpoint of a finished run if it is missing or outdated."""
        exists = self._output.checkpoint.exists()
        if self._settings.keep == "last":
            if not exists or self._state.published != self._state.step:
                self._save(publish=True)
        elif not exists:
            raise AdmiralError(
                f"{self._output.checkpoint}: is missing, and only the run's last state is saved. "
                "Use --set keep=last to export that state, or --overwrite to train again."
            )


def _is_multiple(step: int, interval: int) -> bool:
    return interval > 0 and step % interval == 0


class StopConditions:
    """Whether to stop after the current step: at a time limit or on a signal.

    SIGTERM, which clusters send before they reclaim a machine, and the first Ctrl-C request a stop.
    A second one ends the program at once.

    `minutes`: time limit; 0 for none.
    """

    def __init__(self, minutes: float) -> None:
        self._deadline = time.monotonic() + 60 * minutes if minutes else math.inf
        self.signal: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether a stop is requested."""
        return self.signal is not None or time.monotonic() >= self._deadline

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle signals in the block."""
        previous: dict[signal.Signals, Any] = {}

        def restore() -> None:
            for number, handler in previous.items():
                signal.signal(number, handler)
            previous.clear()

        def handle(number: int, _: FrameType | None) -> None:
            self.signal = number
            restore()

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                previous[number] = signal.signal(number, handle)
        try:
            yield
        finally:
            restore()
