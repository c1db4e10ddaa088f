"""What a run came from: its settings, and the content of its checkpoint and knowledge base."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import admiral
from admiral.config import FILE_SETTINGS, RetrievalConfig
from admiral.kb.store.member_manifests import find_join, read_combined_manifest
from admiral.storage.bundled_names import is_bundled


def recorded_settings(config: RetrievalConfig) -> dict[str, Any]:
    """Return what decides the results of a run, to be kept beside them.

    The precision ``auto`` is told as what it stands for here.
    """
    if config.precision == "auto":
        # Imported here: who names the precision needs no torch for this.
        from admiral.models.devices import choose_precision

        config = replace(config, precision=choose_precision(config))
    names = ("model", "kb", *(key for key in FILE_SETTINGS if getattr(config, key)))
    return config.settings() | {
        "version": admiral.__version__,
        **{name: identity(getattr(config, name)) for name in names},
    }


def identity(name: str) -> str:
    """Return what tells one checkpoint, knowledge base or file from another.

    A bundled one is known by its name, a file by its name and a hash of it. A directory is known by
    its own name and a hash of its manifest (of a joined knowledge base, of what identifies the
    versions of all members), or else of its configuration and weights.

    Raises
    ------
    AdmiralError
        If it is a knowledge base that joins others and one of these cannot be used.
    """
    directory = Path(name)
    if is_bundled(name) or not directory.exists():
        return name
    if find_join(directory) is not None:
        return f"{directory.resolve().name} ({read_combined_manifest(directory).digest[:12]})"
    digest = hashlib.sha256()
    for path in _files(directory):
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"{directory.resolve().name} ({digest.hexdigest()[:12]})"


def _files(place: Path) -> list[Path]:
    """Return what makes up a file, a knowledge base or a checkpoint, as far as it is there."""
    if place.is_file():
        return [place]
    manifest = place / "manifest.json"
    if manifest.is_file():
        return [manifest]
    return [place / "config.json", *sorted(place.glob("*.safetensors"))]
