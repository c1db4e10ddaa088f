"""Arrays on disk, whose headers may be damaged, and which several threads may open at once.

numpy's own reader parses the header of an ``.npy`` file as Python, by `ast`. Until CPython 3.12,
that fails now and then with "AST constructor recursion depth mismatch" where several threads do it
at once (cpython issue 106905), so that a reader would call sound files damaged. What `np.save`
writes is plain enough to be read without.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import numpy as np

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<|][biuf]\d{1,2})', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,18},)?|\d{1,18}(?:, \d{1,18})+)\), \} *\n"
)


def open_array(path: Path, *, mapped: bool = True) -> np.ndarray:
    """Return the array of an ``.npy`` file, by memory map or read as a whole.

    It must be of numbers or truth values, in the order of rows.

    Raises
    ------
    OSError, ValueError
        If the file is missing or damaged; of its numbers nothing is known.
    """
    with path.open("rb") as file:
        magic, length = file.read(len(_MAGIC)), file.read(2)
        header = _HEADER.fullmatch(file.read(int.from_bytes(length, "little")))
        if magic != _MAGIC or header is None:
            raise ValueError(f"{path.name}: not an array")
        try:
            kind = np.dtype(header[1].decode())
        except TypeError as error:
            raise ValueError(f"{path.name}: not an array ({error})") from error
        shape = tuple(map(int, header[2].replace(b",", b" ").split()))
        start, count = file.tell(), math.prod(shape)
        if os.fstat(file.fileno()).st_size < start + count * kind.itemsize:
            raise ValueError(f"{path.name}: not an array (cut)")
        if mapped:
            return np.memmap(file, kind, "r", start, shape)
        return np.fromfile(file, kind, count).reshape(shape)
