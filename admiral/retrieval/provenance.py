"""The provenance of results: settings, version, checkpoint and knowledge base of a run."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import admiral
from admiral.config import FILE_SETTINGS, RetrievalConfig, names_of_retrievers
from admiral.requirements import is_bundled
from proofs.verifier import CALIBRATION
from proofs.verifier.evidence_verifier import ONNX_FILE, SETTINGS_FILE


def recorded_settings(config: RetrievalConfig) -> dict[str, Any]:
    """Return everything that decides the results of a run, to be stored with them.

    The precision ``auto`` is recorded as the precision that it selects on this machine.
    """
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

    For a bundled one, this is its name. For a file, it is its name and a hash of its content. For a
    directory, it is the directory's name and a hash: of the contents of a knowledge base, or of the
    configuration and weights of a checkpoint or verifier.
    """
    directory = Path(name)
    if is_bundled(name) or not directory.exists():
        return name
    if (directory / "kb.sqlite").is_file():
        from admiral.kb.store import current_digest

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
    names = ("config.json", CALIBRATION, SETTINGS_FILE, ONNX_FILE)
    return [*(path / name for name in names), *sorted(path.glob("*.safetensors"))]
