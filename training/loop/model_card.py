"""Model cards: what a model was trained on, how long, with which settings and scores."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import ModelCardData

from admiral.storage.atomic_files import sha256_of
from training.loop import LoopSettings
from training.loop.run_files import TrainingState

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
        return cls(role, path.name, sha256_of(path), samples or {})


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
