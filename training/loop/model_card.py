"""The model card of a trained checkpoint: what it is, what it was trained on, how it scores."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from huggingface_hub import ModelCardData

import admiral
from training.loop.run_state import Progress
from training.run_config import TrainConfig

_PACKAGES = ("torch", "transformers", "tokenizers", "accelerate")
_USES = {
    "retrieve": "hop retrieval: sentence identifiers and the title of the next document",
    "rerank": "sentence reranking, with the head in `rerank_head.safetensors`",
    "prove": "natural-logic proofs",
}
# Places on a machine, and what does not change the weights.
_LEFT_OUT = {"out", "kb", "device", "tracker", "push_to_hub", "log_every", "save_every"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a checkpoint comes from.

    Attributes
    ----------
    role
        What it was for.
    name
        Its name without the folder.
    sha256
        Its checksum in hexadecimal.
    samples
        Usable samples of each task, where it holds samples.
    """

    role: str
    name: str
    sha256: str
    samples: Mapping[str, int]

    @classmethod
    def of(cls, role: str, path: Path, samples: Mapping[str, int] | None = None) -> SourceFile:
        """Describe the file at `path`."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(role, path.name, digest, samples or {})


def model_card(
    config: TrainConfig,
    tasks: tuple[str, ...],
    base: str,
    files: list[SourceFile],
    progress: Progress,
    machine: str,
) -> str:
    """Return the text of the card.

    Parameters
    ----------
    config
        The settings; of the files that they name, only the names are told.
    base
        The name of the checkpoint that training started from.
    files
        What it was trained and evaluated on.
    progress
        How far the run is, and how the checkpoint scores.
    machine
        Number and kind of devices.
    """
    data = ModelCardData(
        library_name="transformers",
        tags=["fact-verification", "multi-hop-retrieval", "natural-logic", "bart"],
        base_model=base if base == config.start and base.count("/") == 1 else None,
    )
    named = {key: Path(value).name for key, value in _places(config).items()}
    settings = {key: v for key, v in asdict(config).items() if key not in _LEFT_OUT} | named
    lines = [
        "---",
        data.to_yaml(),
        "---",
        "",
        f"# {Path(config.out).name}",
        "",
        f"A BART sequence-to-sequence model for AdMIRaL {admiral.__version__}, started from "
        f"{base}. Its uses:",
        "",
        *(f"- {_USES[task]}" for task in tasks),
        "",
        '    admiral retrieve --model DIRECTORY "A claim."',
        "",
        "## Trained on",
        "",
        *_table(
            ("file", "for", "samples", "sha256"),
            [
                (f.name, f.role, ", ".join(f"{n} {t}" for t, n in f.samples.items()), f.sha256)
                for f in files
            ],
        ),
        "",
        f"{progress.step} of {config.steps} steps in {progress.seconds / 60:.0f} minutes, by "
        f"{machine}.",
        "",
        "## Scores",
        "",
    ]
    if progress.metrics:
        lines += [
            f"After {progress.measured} steps, on at most {config.eval_samples} development "
            "samples of each task:",
            "",
            *_table(("metric", "value"), [(k, f"{v:.4f}") for k, v in progress.metrics.items()]),
        ]
    else:
        lines.append("It was not evaluated while it was trained.")
    lines += ["", "## Settings", ""]
    lines += _table(("setting", "value"), [(k, str(v)) for k, v in settings.items()])
    versions = [("Python", platform.python_version())] + [(p, version(p)) for p in _PACKAGES]
    lines += ["", "## Versions", "", *_table(("package", "version"), versions), ""]
    return "\n".join(lines)


def _places(config: TrainConfig) -> dict[str, str]:
    places = {"samples": config.samples, "dev": config.dev}
    if Path(config.start).is_dir():
        places["start"] = config.start
    return places


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
