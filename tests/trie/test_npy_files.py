"""Reading intact and damaged ``.npy`` files."""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trie.npy_files import open_array


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 0, 3)])
@pytest.mark.parametrize("kind", ["?", "u1", "u2", "i4", "i8", "u8", "f4", "f8"])
def test_arrays_are_read_back(shape, kind, tmp_path):
    array = np.arange(math.prod(shape)).astype(kind).reshape(shape)
    np.save(tmp_path / "a.npy", array)
    for mapped in (False, True):
        found = open_array(tmp_path / "a.npy", mapped=mapped)
        assert found.dtype == array.dtype
        assert found.shape == shape
        assert np.array_equal(found, array)


def test_reading_is_thread_safe(tmp_path):
    """numpy's reader fails about once in a few thousand reads."""
    np.save(tmp_path / "a.npy", np.arange(5))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: open_array(tmp_path / "a.npy").sum(), range(4000))
        assert set(found) == {10}


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '|O', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<q8', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<a8', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<m8', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<i3', 'fortran_order': False, 'shape': (5,), }",
        b"{'descr': '<i8', 'fortran_order': True, 'shape': (5, 1), }",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (6,), }",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (5), }",
        b"{'descr': '<i8', 'fortran_order': False, 'shape': (999999999999999999,), }",
        b"{" * 300,
        b"",
    ],
)
def test_unsupported_headers_are_rejected(header, tmp_path):
    content = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    (tmp_path / "a.npy").write_bytes(content + np.arange(5).tobytes())
    for mapped in (False, True):
        with pytest.raises(ValueError, match="not an array"):
            open_array(tmp_path / "a.npy", mapped=mapped)


@given(
    at=st.integers(0, 127), byte=st.integers(0, 255), mapped=st.booleans(), keep=st.integers(0, 200)
)
def test_damaged_headers_raise_two_kinds_of_errors(at, byte, mapped, keep, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "a.npy"
    np.save(path, np.arange(5))
    content = bytearray(path.read_bytes())
    content[at] = byte
    path.unlink()  # it may still be mapped
    path.write_bytes(content[:keep])
    with suppress(OSError, ValueError):
        open_array(path, mapped=mapped)


def test_archives_are_rejected(tmp_path):
    np.savez(tmp_path / "a.npz", np.arange(5))
    with pytest.raises(ValueError, match="not an array"):
        open_array(tmp_path / "a.npz")
