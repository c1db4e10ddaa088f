"""The files of a run (checkpoint, log, the state that resumes it), and what it reports.

The state is stored as safetensors: no pickle is written or read. Losses and metrics are shown as a
progress bar on a terminal, as plain lines elsewhere, and sent to trackers.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import click
import torch
from accelerate import Accelerator
from accelerate.tracking import get_available_trackers
from huggingface_hub import HfApi, ModelCardData
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn
from tqdm import tqdm

from admiral.errors import AdmiralError, first_line
from admiral.io.progress import stderr_is_terminal
from admiral.models.checkpoint import is_checkpoint, write_sums
from admiral.storage.atomic_files import (
    as_os_errors,
    check_replaceable,
    exclusive_access,
    explain_write_errors,
    replacing_path,
    staging,
    write_atomically,
)
from training.loop import LoopSettings


class RunOutput:
    """Paths and writers of a run: the checkpoint in `out`; state, log and trackers in `out`.run.

    `out`: directory of the checkpoint. It is replaced as a whole or not at all.
    """

    def __init__(self, out: Path) -> None:
        self.checkpoint = out
        self.folder = out.with_name(f"{out.name}.run")
        self.state = self.folder / "state.safetensors"
        self.log = self.folder / "log.jsonl"

    def check(self, overwrite: bool) -> None:
        """Refuse to replace anything but a checkpoint that an earlier part of the run wrote.

        Raises `AdmiralError` if `out` holds a foreign checkpoint and `overwrite` is not given, or
        something else.
        """
        check_replaceable(self.checkpoint, True, is_checkpoint)
        if self.checkpoint.exists() and not self.state.exists() and not overwrite:
            raise AdmiralError(
                f"{self.checkpoint}: exists and does not belong to a run that can be resumed. "
                "Choose another `out`, or use --overwrite to replace it."
            )

    def check_start(self, start: Path) -> None:
        """Raise `AdmiralError` if the run would replace the directory that it starts from."""
        if self.checkpoint.resolve() == start.resolve():
            raise AdmiralError(
                f"{self.checkpoint}: is also `start`, which the run needs to resume. Choose "
                "another `out`."
            )

    @contextmanager
    def exclusive_access(self) -> Iterator[None]:
        """Lock the output against other runs until the block ends.

        Raises `AdmiralError` if another run holds the lock, or the folder cannot be written.
        """
        with explain_write_errors(self.folder), ExitStack() as stack:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive_access(self.folder, wait=False))
            held = stack.pop_all()
        with held:
            yield

    def truncate_log(self, step: int) -> None:
        """Drop log records after `step`, which will be written again, and damaged ones."""
        with explain_write_errors(self.log):
            self.folder.mkdir(parents=True, exist_ok=True)
            lines = self.log.read_bytes().splitlines(True) if self.log.exists() else []
        write_atomically(self.log, [line for line in lines if _step_of(line) <= step])

    def append_log(self, record: dict[str, Any]) -> None:
        """Append a record to the log as a line of JSON."""
        with explain_write_errors(self.log), self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def publish(self, save: Callable[[Path], None], card: str) -> None:
        """Write the trained checkpoint and its model card, replacing the earlier checkpoint.

        `save`: writes the files of the checkpoint to an empty directory.

        Raises `AdmiralError` if it cannot be written; an earlier checkpoint is intact.
        """
        with staging(self.checkpoint, overwrite=True, owned=is_checkpoint) as folder:
            with as_os_errors():
                save(folder)
            write_sums(folder)
            readme = folder / "README.md"
            readme.write_text(card, "utf-8")
            for path in folder.iterdir():
                # safetensors makes its files readable by the owner only.
                path.chmod(readme.stat().st_mode)


def _step_of(line: bytes) -> float:
    """Return the step of a log record; infinity for a truncated or damaged line."""
    try:
        return float(json.loads(line)["step"]) if line.endswith(b"\n") else math.inf
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return math.inf


def push(checkpoint: Path, name: str, api: HfApi | None = None) -> None:
    """Upload a checkpoint directory with its model card to the repository `name`.

    A private repository is created if there is none. The token is that of ``hf auth login`` or the
    variable ``HF_TOKEN``.

    Raises `AdmiralError` if the upload fails. The local checkpoint is unchanged.
    """
    api = api or HfApi()
    try:
        api.create_repo(name, private=True, exist_ok=True)
        api.upload_folder(repo_id=name, folder_path=checkpoint, commit_message="Trained by AdMIRaL")
    except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
        raise AdmiralError(
            f"key 'push_to_hub': {name!r} cannot be written ({first_line(error)}). The "
            f"checkpoint is in {checkpoint}; start the same command again to upload it."
        ) from error


_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class TrainingState:
    """Progress of a run. With the tensors, it determines everything that follows.

    Randomness is derived from the seed and the position, so no generator state is saved.
    """

    step: int = 0  # number of optimizer steps done
    position: int = 0  # number of batches of the stream consumed by all processes together
    seconds: float = 0.0  # time spent in training steps
    best: float | None = None  # best value so far of the metric that selects the checkpoint
    # metrics of the exported checkpoint, or of the last evaluation where the last state is kept,
    # and the step at which they were measured
    metrics: dict[str, float] = field(default_factory=dict)
    measured: int = 0
    # sums and counts of the losses since the last report
    losses: dict[str, list[float]] = field(default_factory=dict)
    # state of the gradient scaler (fp16 only)
    scaler: dict[str, float] = field(default_factory=dict)
    published: int = 0  # step of the last exported checkpoint
    # settings and data that `best` depends on. If they change, `best` is reset.
    selection: dict[str, Any] = field(default_factory=dict)
    # settings and checksums that must not change when the run is resumed
    run: dict[str, Any] = field(default_factory=dict)


def save_state(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Write weights, AdamW's moments and the progress of a run to the file `path`.

    Raises `AdmiralError` if writing fails, usually because the disk is full. As after a kill, the
    old file is intact.
    """
    tensors = {}
    for name, value in _trained(module):
        tensors[f"weight/{name}"] = value.detach().cpu().contiguous()
        for key, moment in optimizer.state.get(value, {}).items():
            tensors[f"{key}/{name}"] = moment.detach().cpu().contiguous()
    progress = json.dumps(asdict(state))
    metadata = {
        "progress": progress,
        "progress_checksum": _crc(progress),
        "checksum": _checksum((name, tensors[name]) for name in sorted(tensors)),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for temporary in path.parent.glob(".tmp??????"):
            temporary.unlink()  # left by a killed safetensors; the folder belongs to this run
        with replacing_path(path) as partial:
            save_file(tensors, partial, metadata=metadata)
    except (OSError, SafetensorError) as error:
        raise AdmiralError(
            f"{path}: the state cannot be saved ({error}). The previous state is intact. Free some "
            "disk space and start the same command again."
        ) from error


def _trained(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters that are trained; frozen ones are those of the initial model."""
    return ((name, value) for name, value in module.named_parameters() if value.requires_grad)


def _checksum(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """Return the CRC-32 of names and values, in the given order."""
    crc = 0
    for name, tensor in tensors:
        content = tensor.flatten().view(torch.uint8).numpy().data
        crc = zlib.crc32(content, zlib.crc32(name.encode(), crc))
    return f"{crc:08x}"


def _crc(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def read_state(path: Path) -> TrainingState | None:
    """Read the progress of a saved run; None if there is no saved state.

    Raises `AdmiralError` if the file is damaged.
    """
    if not path.exists():
        return None
    try:
        with safe_open(str(path), framework="pt") as saved:
            metadata = saved.metadata() or {}
        progress = metadata["progress"]
        if metadata["progress_checksum"] != _crc(progress):
            raise ValueError("its checksum does not match")
        return TrainingState(**json.loads(progress))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise AdmiralError(
            f"{path}: is not the state of a run ({error}). Use --overwrite to start again."
        ) from error


def load_tensors(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Restore the weights and moments that `save_state` wrote.

    Raises `AdmiralError` if they are damaged or belong to another model.
    """
    try:
        with safe_open(str(path), framework="pt") as saved, torch.no_grad():
            names = set(saved.keys())
            checksum = _checksum((name, saved.get_tensor(name)) for name in sorted(names))
            if (saved.metadata() or {}).get("checksum") != checksum:
                raise AdmiralError(
                    f"{path}: is damaged. Restore it, or use --overwrite to start again."
                )
            for name, value in _trained(module):
                value.copy_(saved.get_tensor(f"weight/{name}"))
                moments = {
                    key: saved.get_tensor(f"{key}/{name}")
                    for key in _MOMENTS
                    if f"{key}/{name}" in names
                }
                if moments:
                    # Fused AdamW keeps its step counter on the device of the weights.
                    optimizer.state[value] = {k: v.to(value.device) for k, v in moments.items()}
    except (OSError, SafetensorError, RuntimeError) as error:
        raise AdmiralError(
            f"{path}: belongs to another model ({error}). Choose another `out`, or use --overwrite."
        ) from error


def open_state(
    output: RunOutput, overwrite: bool, fixed: Mapping[str, Any], selection: Mapping[str, Any]
) -> TrainingState:
    """Return the state of the saved run, or of a new one.

    - `overwrite`: whether to start a new run in any case.
    - `fixed`: settings and checksums that all parts of a run must agree on.
    - `selection`: settings and checksums that decide which state is best. If they differ from those
      of the saved run, or the checkpoint is missing, the best value is reset.

    Raises `AdmiralError` if the saved state is damaged, or was started with other values of
    `fixed`; with the names of those that differ.
    """
    state = (None if overwrite else read_state(output.state)) or TrainingState(run=dict(fixed))
    # Runs of earlier releases lack settings that are new, and had their defaults.
    changed = [key for key in fixed if state.run.get(key, fixed[key]) != fixed[key]]
    if changed:
        raise AdmiralError(
            f"{output.folder}: holds the state of a run with another {' and '.join(changed)}. "
            "Resume it with the original values, choose another `out`, or use --overwrite."
        )
    if state.selection != selection or not output.checkpoint.exists():
        state.best, state.selection = None, dict(selection)
    return state


_PACKAGES = ("torch", "transformers", "tokenizers", "accelerate")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a checkpoint was trained or evaluated on."""

    role: str  # its use, such as ``train``
    name: str  # file name without folder
    sha256: str  # SHA-256 checksum in hexadecimal
    samples: Mapping[str, int]  # number of usable samples per task

    @classmethod
    def of(cls, role: str, path: Path, samples: Mapping[str, int] | None = None) -> SourceFile:
        """Return the description of the file at `path`."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(role, path.name, digest, samples or {})


def render_card(
    data: ModelCardData,
    config: LoopSettings,
    state: TrainingState,
    devices: str,
    introduction: Sequence[str],
    trained_on: Sequence[str],
    evaluated_on: str,
    settings: Mapping[str, object],
) -> str:
    """Return a model card as Markdown with a YAML header."""
    versions = [("Python", platform.python_version())] + [(p, version(p)) for p in _PACKAGES]
    lines = [
        *("---", data.to_yaml(), "---", ""),
        *(f"# {Path(config.out).name}", "", *introduction, ""),
        *("## Trained on", "", *trained_on, ""),
        f"{state.step} of {config.steps} steps in {state.seconds / 60:.0f} minutes, by {devices}.",
        *("", "## Scores", "", *_scores(state, evaluated_on), ""),
        *("## Settings", ""),
        *markdown_table(("setting", "value"), [(k, str(v)) for k, v in settings.items()]),
        *("", "## Versions", "", *markdown_table(("package", "version"), versions), ""),
    ]
    return "\n".join(lines)


def _scores(state: TrainingState, evaluated_on: str) -> list[str]:
    if not state.metrics:
        return ["It was not evaluated while it was trained."]
    values = [(name, f"{value:.4f}") for name, value in state.metrics.items()]
    return [
        f"After {state.measured} steps, {evaluated_on}:",
        "",
        *markdown_table(("metric", "value"), values),
    ]


def markdown_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


class LossMeter:
    """Running sums of losses. They stay on the device, so that the host does not wait for it."""

    def __init__(self, kinds: Sequence[str], device: torch.device) -> None:
        self._rows = {kind: row for row, kind in enumerate(kinds)}
        self._sums = torch.zeros(len(kinds), 2, device=device)

    def add(self, kind: str, loss: torch.Tensor, count: int = 1) -> None:
        """Add the mean loss of `count` batches or examples."""
        row = self._sums[self._rows[kind]]
        row[0] += loss.detach() * count
        row[1] += count

    def restore(self, sums: dict[str, list[float]]) -> None:
        """Continue from the sums of an earlier part of the run."""
        for kind, row in self._rows.items():
            if kind in sums:
                self._sums[row] = torch.tensor(sums[kind])

    def reset(self) -> None:
        """Set all sums to zero."""
        self._sums.zero_()

    def sums(self, accelerator: Accelerator | None = None) -> dict[str, list[float]]:
        """Return sum and count by kind, over all processes if an accelerator is given."""
        sums = self._sums if accelerator is None else accelerator.reduce(self._sums, "sum")
        return dict(zip(self._rows, sums.tolist(), strict=True))


def tracker_names(config: LoopSettings) -> list[str]:
    """Return the names of the accelerate trackers that the settings ask for."""
    if config.tracker == "none":
        return []
    if config.tracker == "auto":
        return ["tensorboard"] if find_spec("tensorboard") else []
    return config.tracker.split(",")


class Reporter:
    """Show and log losses and metrics on the main process; a context manager.

    `accelerator`: created with the trackers of `tracker_names`.
    """

    def __init__(
        self, accelerator: Accelerator, output: RunOutput, config: LoopSettings, step: int
    ) -> None:
        self._accelerator, self._output, self._config = accelerator, output, config
        self._last_step, self._last_time = step, time.monotonic()
        # Step after which the log is truncated at the first write; None once that is done.
        self._truncate_after: int | None = step
        self._bar: tqdm | None = None

    def __enter__(self) -> Reporter:
        if self._accelerator.is_main_process and stderr_is_terminal():
            self._bar = tqdm(
                initial=self._last_step, total=self._config.steps, unit=" steps", file=sys.stderr
            )
        if self._accelerator.log_with:
            # Later steps of an interrupted run will be tracked again.
            options = {"tensorboard": {"purge_step": self._last_step + 1}}
            self._accelerator.init_trackers("admiral", dict(vars(self._config)), options)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self) -> None:
        """Advance the progress bar by one step."""
        if self._bar is not None:
            self._bar.update()

    def losses(
        self, step: int, losses: dict[str, float], learning_rate: float, grad_norm: float
    ) -> None:
        """Report mean losses, the decoder's learning rate and the norm of the last gradient."""
        now = time.monotonic()
        seconds = (now - self._last_time) / max(step - self._last_step, 1)
        self._last_time, self._last_step = now, step
        shown = ", ".join(f"{name} {value:.4f}" for name, value in losses.items())
        if self._bar is not None:
            self._bar.set_postfix_str(shown)
        else:
            self.log_line(f"step {step} of {self._config.steps}: {shown}, {seconds:.2f} s a step")
        self._log(step, {**losses, "learning_rate": learning_rate, "grad_norm": grad_norm})

    def metrics(self, step: int, metrics: dict[str, float], kept: bool) -> None:
        """Report the metrics of an evaluation and whether its checkpoint is kept."""
        shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        self.log_line(f"step {step}, evaluated: {shown}{', kept' if kept else ''}")
        self._log(step, {f"dev/{name}": value for name, value in metrics.items()})
        # Evaluation does not count towards the seconds of a step.
        self._last_time, self._last_step = time.monotonic(), step

    def log_line(self, text: str) -> None:
        """Print a line on standard error, above the progress bar if there is one."""
        if not self._accelerator.is_main_process:
            return
        if self._bar is not None:
            self._bar.write(text, file=sys.stderr)
        else:
            click.echo(text, err=True)

    def _log(self, step: int, values: dict[str, float]) -> None:
        if self._accelerator.is_main_process:
            # Truncated only now, so that an earlier run's log survives a failed start.
            if self._truncate_after is not None:
                self._output.truncate_log(self._truncate_after)
                self._truncate_after = None
            self._output.append_log({"step": step, **values})
        if self._accelerator.log_with:
            self._accelerator.log(values, step=step)


def open_accelerator(config: LoopSettings, folder: Path) -> Accelerator:
    """Return the `Accelerator` of a run, whose trackers write to `folder`.

    Raises `AdmiralError` if the precision or the trackers are not available.
    """
    precision = "no" if config.precision == "fp32" else config.precision
    names = tracker_names(config)
    unknown = set(names) - {str(tracker) for tracker in get_available_trackers()}
    if unknown:
        raise AdmiralError(
            f"key 'tracker': {', '.join(sorted(unknown))} is not installed, or not a tracker of "
            "accelerate; choose auto or none"
        )
    try:
        accelerator = Accelerator(
            # Otherwise accelerate lets processes that were launched for CPUs train separately.
            cpu=config.device == "cpu" or not torch.accelerator.is_available(),
            mixed_precision=precision,
            log_with=names or None,
            project_dir=folder,
        )
    except (ValueError, ImportError) as error:
        raise AdmiralError(f"{first_line(error)}. Change the precision.") from error
    if accelerator.num_processes == 1 and several_launched(os.environ):
        click.echo(
            "warning: accelerate was to launch several processes and launched one, as it does on "
            "CPUs. For N processes, use torchrun --nproc_per_node N in place of accelerate launch",
            err=True,
        )
    if config.precision == "fp16" and accelerator.device.type == "cpu":
        raise AdmiralError("key 'precision': 'fp16' needs a GPU; choose bf16 or fp32")
    if config.precision != "fp32" and accelerator.device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # for products that autocast leaves in fp32
    return accelerator


def several_launched(environment: Mapping[str, str]) -> bool:
    """Return whether ``accelerate launch`` was to launch several processes without torchrun.

    Its launcher for CPUs then names an address for them, but starts only one, without a rank.
    """
    return {
        "ACCELERATE_USE_CPU",
        "MASTER_PORT",
    } <= environment.keys() and "WORLD_SIZE" not in environment


def describe_devices(accelerator: Accelerator) -> str:
    """Return number and kind of the devices, such as ``2 processes on cpu``."""
    device = accelerator.device
    kind = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    count = accelerator.num_processes
    return f"{count} process{'es' if count > 1 else ''} on {kind}"
