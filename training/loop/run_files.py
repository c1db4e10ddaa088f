"""The files of a run: the model with its card, the log, and the state that resumes it.

The state is stored as safetensors: no pickle is written or read.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import HfApi, ModelCardData
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from admiral.errors import AdmiralError, first_line
from admiral.models.checkpoint import is_checkpoint, write_sums
from admiral.storage.atomic_files import (
    as_os_errors,
    check_replaceable,
    replacing_path,
    sha256_of,
    staging,
)
from training.loop import LoopSettings

_PACKAGES = ("torch", "transformers", "tokenizers", "accelerate")
#: Settings that are left out of model cards: local paths, and what does not change the weights.
_OMITTED = {
    *("base", "dev", "examples", "kb", "out", "pairs", "samples", "start"),
    *("device", "log_every", "push_to_hub", "save_every", "tracker"),
}


@dataclass
class TrainingState:
    """The progress of a run. With the weights and moments, it determines all that follows."""

    step: int = 0  # optimiser steps done
    position: int = 0  # batches of the stream consumed by all processes together
    seconds: float = 0.0  # spent in steps
    best: float | None = None  # best value so far of the metric that selects the model
    # metrics of the exported model, or of the last evaluation where the last state is kept, and the
    # step at which they were measured
    metrics: dict[str, float] = field(default_factory=dict)
    measured: int = 0
    selection: dict[str, Any] = field(default_factory=dict)  # what `best` depends on
    run: dict[str, Any] = field(default_factory=dict)  # what all parts of the run agree on


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a model was trained or evaluated on."""

    role: str  # its use, such as ``train``
    name: str  # file name without folder
    sha256: str  # SHA-256 checksum in hexadecimal
    holds: Mapping[str, int]  # number of usable samples by kind

    @classmethod
    def of(cls, role: str, path: Path, holds: Mapping[str, int] | None = None) -> SourceFile:
        """Return the description of the file at `path`."""
        return cls(role, path.name, sha256_of(path), holds or {})

    @property
    def content(self) -> str:
        """The content of the file, such as ``8 prove, 4 rerank``."""
        return ", ".join(f"{count:,} {kind}" for kind, count in self.holds.items())


@dataclass(frozen=True, slots=True)
class Card:
    """The part of the model card that a program adds."""

    data: ModelCardData
    introduction: Sequence[str]
    files: Sequence[SourceFile]
    evaluated_on: str
    trained_on: Sequence[str] = ()  # lines before the table of files


class RunFiles:
    """The files of a run: the model in `out`; its state, log and trackers in `out`.run.

    `out`: directory of the model. It is replaced as a whole or not at all.
    """

    def __init__(self, out: Path) -> None:
        self.model = out
        self.folder = out.with_name(f"{out.name}.run")
        self.state = self.folder / "state.safetensors"

    def check(self, overwrite: bool) -> None:
        """Raise `AdmiralError` if the run would replace anything but a model of its own."""
        check_replaceable(self.model, True, is_checkpoint)
        if self.model.exists() and not self.state.exists() and not overwrite:
            raise AdmiralError(
                f"{self.model}: exists and does not belong to a run that can be resumed. Choose "
                "another `out`, or use --overwrite to replace it."
            )

    def publish(self, write: Callable[[Path], None], card: str) -> None:
        """Replace the model by what `write` writes to an empty folder, and its model card."""
        with staging(self.model, overwrite=True, owned=is_checkpoint) as folder:
            with as_os_errors():
                write(folder)
            write_sums(folder)
            readme = folder / "README.md"
            readme.write_text(card, "utf-8")
            for path in folder.iterdir():
                # safetensors makes its files readable by the owner only.
                path.chmod(readme.stat().st_mode)

    def append_to_log(self, record: Mapping[str, float]) -> None:
        """Add a line of JSON to the log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def open_state(
    run: RunFiles, overwrite: bool, fixed: Mapping[str, Any], selection: Mapping[str, Any]
) -> TrainingState:
    """Return the progress of the saved run, or of a new one; see `Program` for the mappings."""
    state = TrainingState(run=dict(fixed))
    if overwrite:
        (run.folder / "log.jsonl").unlink(missing_ok=True)
    elif run.state.exists():
        try:
            with safe_open(str(run.state), framework="pt") as saved:
                state = TrainingState(**json.loads(saved.metadata()["progress"]))
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise AdmiralError(
                f"{run.state}: is not the state of a run ({error}). Use --overwrite to start again."
            ) from error
    changed = [key for key in fixed if state.run.get(key) != fixed[key]]
    if changed:
        raise AdmiralError(
            f"{run.folder}: holds the state of a run with another {' and '.join(changed)}. Resume "
            "it with the original values, choose another `out`, or use --overwrite."
        )
    if state.selection != selection or not run.model.exists():
        state.best, state.selection = None, dict(selection)
    return state


_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def save_state(
    path: Path, module: nn.Module, optimizer: torch.optim.Optimizer, state: TrainingState
) -> None:
    """Write trained weights, AdamW's moments and the progress of a run; no pickle is written."""
    tensors: dict[str, torch.Tensor] = {}
    for name, value in _trained(module).items():
        named = {"weight": value, **optimizer.state.get(value, {})}
        tensors |= {f"{k}/{name}": v.detach().cpu().contiguous() for k, v in named.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_path(path) as partial:
            save_file(tensors, partial, metadata={"progress": json.dumps(asdict(state))})
    except (OSError, SafetensorError) as error:
        raise AdmiralError(
            f"{path}: the state cannot be saved ({error}). The previous state is intact. Free some "
            "disk space and start the same command again."
        ) from error


def load_state(path: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Restore the weights and moments that `save_state` wrote."""
    try:
        with safe_open(str(path), framework="pt") as saved, torch.no_grad():
            names = set(saved.keys())
            for name, value in _trained(module).items():
                value.copy_(saved.get_tensor(f"weight/{name}"))
                keys = [key for key in _MOMENTS if f"{key}/{name}" in names]
                # Fused AdamW keeps its step counter on the device of the weights.
                moments = {k: saved.get_tensor(f"{k}/{name}").to(value.device) for k in keys}
                if moments:
                    optimizer.state[value] = moments
    except (OSError, SafetensorError, RuntimeError) as error:
        raise AdmiralError(
            f"{path}: belongs to another model ({error}). Choose another `out`, or use --overwrite."
        ) from error


def _trained(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that are trained; frozen ones are those of the initial model."""
    return {name: value for name, value in module.named_parameters() if value.requires_grad}


def render_card(card: Card, config: LoopSettings, state: TrainingState, devices: str) -> str:
    """Return a model card as Markdown with a YAML header."""
    versions = [("Python", platform.python_version())] + [(p, version(p)) for p in _PACKAGES]
    settings = [(k, str(v)) for k, v in config.model_dump().items() if k not in _OMITTED]
    scores = ["It was not evaluated while it was trained."]
    if state.metrics:
        values = [(name, f"{value:.4f}") for name, value in state.metrics.items()]
        scores = [
            f"After {state.measured} steps, {card.evaluated_on}:",
            *("", *markdown_table(("metric", "value"), values)),
        ]
    lines = [
        *("---", card.data.to_yaml(), "---", ""),
        *(f"# {Path(config.out).name}", "", *card.introduction, ""),
        *("## Trained on", "", *card.trained_on),
        *markdown_table(
            ("file", "for", "holds", "sha256"),
            [(file.name, file.role, file.content, file.sha256) for file in card.files],
        ),
        "",
        f"{state.step} of {config.steps} steps in {state.seconds / 60:.0f} minutes, by {devices}.",
        *("", "## Scores", "", *scores, ""),
        *("## Settings", "", *markdown_table(("setting", "value"), settings)),
        *("", "## Versions", "", *markdown_table(("package", "version"), versions), ""),
    ]
    return "\n".join(lines)


def markdown_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def push(model: Path, name: str, api: HfApi | None = None) -> None:
    """Upload the directory of a model to a repository of the hub, private if it is new."""
    api = api or HfApi()
    try:
        api.create_repo(name, private=True, exist_ok=True)
        api.upload_folder(repo_id=name, folder_path=model, commit_message="Trained by AdMIRaL")
    except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
        raise AdmiralError(
            f"key 'push_to_hub': {name!r} cannot be written ({first_line(error)}). The model is in "
            f"{model}; start the same command again to upload it."
        ) from error
