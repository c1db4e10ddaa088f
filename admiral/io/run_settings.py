"""The settings that made some results: kept beside them, compared before more are appended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import write_atomically

FORMAT = 1
_REMEDY = "Choose another output, or give --overwrite to start anew"


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings to their file beside the results, as a whole."""
    text = json.dumps({"format": FORMAT, "settings": settings}, indent=1) + "\n"
    write_atomically(path, [text.encode()])


def check_settings(results: Path, path: Path, settings: Mapping[str, Any]) -> None:
    """Raise unless results were made with some settings.

    Parameters
    ----------
    results
        What is there, also a part of it.
    path
        The file of its settings.
    settings
        Those of now, as JSON gives them back.

    Raises
    ------
    AdmiralError
        If there is no such file, or it holds other settings.
    """
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        if there["format"] != FORMAT:
            raise ValueError
        before = dict(there["settings"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        problem = f"exists, but {path.name} does not say which settings made it"
        raise AdmiralError(f"{results}: {problem}. {_REMEDY}") from None
    keys = sorted(before.keys() | settings.keys())
    different = [key for key in keys if before.get(key) != settings.get(key)]
    if different:
        found = "; ".join(
            f"{key} was {before.get(key, 'unset')}, now {settings.get(key, 'unset')}"
            for key in different
        )
        # The one that the machine decides, where nobody names it.
        same = f", or go on with --set precision={before.get('precision')}"
        problem = f"was written with other settings ({found})"
        raise AdmiralError(
            f"{results}: {problem}. {_REMEDY}{same if different == ['precision'] else ''}"
        )
