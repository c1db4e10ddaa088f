"""Files: atomic writes, locks, checksums, settings; and the names of the bundled data."""

from importlib import resources
from pathlib import Path

MODELS = ("mini",)
VERIFIER = "mini-verifier"
DEMO = "demo"  # the knowledge base


def is_bundled(name: str) -> bool:
    """Return whether a name stands for a bundled model, verifier or knowledge base."""
    return name in (*MODELS, VERIFIER, DEMO)


def verifier_directory(name: str) -> Path:
    """Return the directory of a verifier, the bundled one or another."""
    if name == VERIFIER:
        return Path(str(resources.files("admiral"))) / "data" / VERIFIER
    return Path(name)
