"""Reading ``.npy`` files that may be damaged, from several threads at once.

numpy's reader parses the header of an ``.npy`` file with `ast`. Before CPython 3.12 this sometimes
fails with "AST constructor recursion depth mismatch" when several threads do it at once (cpython
issue 106905), and intact files would be reported as damaged. The headers that `np.save` writes are
simple enough to be matched by a regular expression.
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
    """Open the array in an ``.npy`` file, memory-mapped (read-only) or read into memory.

    Only arrays of numbers or booleans in C order are supported.

    Raises
    ------
    OSError, ValueError
        If the file is missing, or its header or length is damaged. The values are not checked.
    """
    with path.open("rb") as file:
        magic, length = file.read(len(_MAGIC)), file.read(2)
        header = _HEADER.fullmatch(file.read(int.from_bytes(length, "little")))
        if magic != _MAGIC or header is None:
            raise ValueError(f"{path.name}: not an array")
        try:
            dtype = np.dtype(header[1].decode())
        except TypeError as error:
            raise ValueError(f"{path.name}: not an array ({error})") from error
        shape = tuple(map(int, header[2].replace(b",", b" ").split()))
        start, count = file.tell(), math.prod(shape)
        if os.fstat(file.fileno()).st_size < start + count * dtype.itemsize:
            raise ValueError(f"{path.name}: not an array (truncated)")
        if mapped:
            return np.memmap(file, dtype, "r", start, shape)
        return np.fromfile(file, dtype, count).reshape(shape)
