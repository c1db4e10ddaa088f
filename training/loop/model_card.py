"""Write the model card of a trained checkpoint: use, training data, scores and settings."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import ModelCardData

import admiral
from admiral.models.hf_config import ARCHITECTURES
from training.loop.loop_settings import LoopSettings
from training.loop.run_config import TrainConfig
from training.loop.run_state import TrainingState

_PACKAGES = ("torch", "transformers", "tokenizers", "accelerate")
_TASK_NAMES = {
    "retrieve": "hop retrieval: sentence identifiers and the title of the next document",
    "rerank": "sentence reranking, with the head in `rerank_head.safetensors`",
    "prove": "natural-logic proofs",
}
# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "kb", "device", "tracker", "push_to_hub", "log_every", "save_every"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a checkpoint was trained or evaluated on.

    Attributes
    ----------
    role
        Its use, such as ``train``.
    name
        File name without folder.
    sha256
        SHA-256 checksum in hexadecimal.
    samples
        Number of usable samples per task.
    """

    role: str
    name: str
    sha256: str
    samples: Mapping[str, int]

    @classmethod
    def of(cls, role: str, path: Path, samples: Mapping[str, int] | None = None) -> SourceFile:
        """Return the description of the file at `path`."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(role, path.name, digest, samples or {})


def model_card(
    config: TrainConfig,
    tasks: tuple[str, ...],
    base: str,
    model_type: str,
    files: list[SourceFile],
    state: TrainingState,
    devices: str,
) -> str:
    """Return the model card as Markdown with a YAML header.

    Parameters
    ----------
    config
        The settings; paths in them are shortened to file names.
    base
        Name of the initial checkpoint.
    model_type
        Its architecture, a key of `admiral.models.hf_config.ARCHITECTURES`.
    files
        Training and evaluation files.
    state
        Progress of the run and metrics of the checkpoint.
    devices
        Number and kind of devices.
    """
    data = ModelCardData(
        library_name="transformers",
        tags=["fact-verification", "multi-hop-retrieval", "natural-logic", model_type],
        base_model=base if base == config.start and base.count("/") == 1 else None,
    )
    named = {key: Path(value).name for key, value in _file_settings(config).items()}
    settings = {key: v for key, v in asdict(config).items() if key not in _OMITTED} | named
    introduction = [
        f"A {ARCHITECTURES[model_type]} sequence-to-sequence model for AdMIRaL "
        f"{admiral.__version__}, started from {base}. Tasks:",
        "",
        *(f"- {_TASK_NAMES[task]}" for task in tasks),
        "",
        '    admiral retrieve --model DIRECTORY "A claim."',
    ]
    trained_on = markdown_table(
        ("file", "for", "samples", "sha256"),
        [
            (f.name, f.role, ", ".join(f"{n} {t}" for t, n in f.samples.items()), f.sha256)
            for f in files
        ],
    )
    evaluated_on = f"on at most {config.eval_samples} development samples of each task"
    return render_card(
        data, config, state, devices, introduction, trained_on, evaluated_on, settings
    )


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
    """Return a model card as Markdown with a YAML header.

    Parameters
    ----------
    data
        The header.
    config, state, devices
        As in `model_card`.
    introduction, trained_on
        Lines about the model, and about its training data.
    evaluated_on
        The development data, in words.
    settings
        The settings to list.
    """
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


def _file_settings(config: TrainConfig) -> dict[str, str]:
    files = {"samples": config.samples, "dev": config.dev}
    if Path(config.start).is_dir():
        files["start"] = config.start
    return files


def markdown_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
