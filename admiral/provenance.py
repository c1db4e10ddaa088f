"""What a run came from: its settings, and the content of its checkpoint and knowledge base."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import admiral
from admiral.bundled import is_bundled
from admiral.config import RetrievalConfig
from admiral.kb.manifest import is_knowledge_base
from admiral.kb.members import read_holdings, read_join


def recorded_settings(config: RetrievalConfig) -> dict[str, Any]:
    """Return what decides the results of a run, to be kept beside them."""
    return config.settings() | {
        "version": admiral.__version__,
        "model": identity(config.model),
        "kb": identity(config.kb),
    }


def identity(name: str) -> str:
    """Return what tells one checkpoint or knowledge base from another.

    A bundled one is known by its name; a directory by its own name and a hash of its manifest (of a
    joined knowledge base, of what identifies the versions of all members), or else of its
    configuration and weights.

    Raises
    ------
    AdmiralError
        If it is a knowledge base that joins others and one of these cannot be used.
    """
    directory = Path(name)
    if is_bundled(name) or not directory.is_dir():
        return name
    if (joined := _joined_digest(directory)) is not None:
        return f"{directory.resolve().name} ({joined[:12]})"
    digest = hashlib.sha256()
    manifest = directory / "manifest.json"
    weights = sorted(directory.glob("*.safetensors"))
    for path in [manifest] if manifest.is_file() else [directory / "config.json", *weights]:
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{directory.resolve().name} ({digest.hexdigest()[:12]})"


def _joined_digest(directory: Path) -> str | None:
    """Return the digest of a knowledge base that joins others; None of anything else."""
    if is_knowledge_base(directory) and read_join(directory) is not None:
        return read_holdings(directory).digest
    return None
