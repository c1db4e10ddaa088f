"""The provenance of results: settings, version, checkpoint and knowledge base of a run."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import admiral
from admiral.config import FILE_SETTINGS, RetrievalConfig, names_of_retrievers
from admiral.kb.store import FILE, current_digest
from admiral.requirements import is_bundled
from proofs.verifier import CALIBRATION
from proofs.verifier.exports import SETTINGS_FILE


def recorded_settings(config: RetrievalConfig) -> dict[str, Any]:
    """Return everything that decides the results of a run, with the precision that ``auto`` is."""
    if config.precision == "auto":
        # Imported here, because with a named precision this function does not need torch.
        from admiral.models.checkpoint import choose_precision

        config = config.changed(precision=choose_precision(config))
    names = ("model", "kb", *(key for key in FILE_SETTINGS if getattr(config, key)))
    return config.settings() | {
        "version": admiral.__version__,
        **{name: identity(getattr(config, name)) for name in names},
        "retriever_models": ",".join(map(identity, names_of_retrievers(config))),
    }


def identity(name: str) -> str:
    """Return a string that identifies a checkpoint, a knowledge base or a file.

    For those that are not bundled, it has a hash of the documents, the weights or the content.
    """
    directory = Path(name)
    if is_bundled(name) or not directory.exists():
        return name
    if (directory / FILE).is_file():
        return f"{directory.resolve().name} ({current_digest(directory)[:12]})"
    digest = hashlib.sha256()
    for path in _files(directory):
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{directory.resolve().name} ({digest.hexdigest()[:12]})"


def _files(path: Path) -> list[Path]:
    """Return the files whose content identifies a path; some of them may not exist."""
    if path.is_file():
        return [path]
    settings = [path / name for name in ("config.json", CALIBRATION, SETTINGS_FILE)]
    return [*settings, *sorted(path.glob("*.onnx")), *sorted(path.glob("*.safetensors"))]
