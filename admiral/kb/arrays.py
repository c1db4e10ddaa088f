"""Arrays on disk, whose headers may be damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def open_array(path: Path, *, mapped: bool = True) -> np.ndarray:
    """Return the array of an ``.npy`` file, by memory map or read as a whole.

    Raises
    ------
    OSError, ValueError
        If the file is missing or damaged; of its numbers nothing is known.
    """
    try:
        found = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # a damaged header makes numpy raise errors of many kinds
        raise ValueError(f"{path.name}: not an array ({error})") from error
    if not isinstance(found, np.ndarray):  # by its first bytes an archive of arrays
        raise ValueError(f"{path.name}: not an array")
    return found
