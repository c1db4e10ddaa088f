"""Bit vectors with rank and select, and integers packed to an arbitrary width.

Rank ("how many bits are set before position i") and select ("where is the k-th set bit") use one
cumulative popcount per 64-bit word. The counts are computed when a vector is opened; they are not
stored. Single words are read through memoryviews (``array.data``), which is several times faster
than indexing a numpy array.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]

_LOW_BITS = 16  # bits of a packed integer that are stored together


class BitVector:
    """An immutable vector of `size` bits with constant-time rank and logarithmic select.

    Parameters
    ----------
    words
        Bit ``i`` is bit ``i % 64`` of word ``i // 64``. Bits from `size` on are zero.
    size
        Number of bits.

    Attributes
    ----------
    counts
        Number of set bits before each word, and the total at the end; (words + 1,).
    total
        Number of set bits.
    """

    def __init__(self, words: Words, size: int) -> None:
        self.words, self.size = words, size
        dtype = np.uint32 if size < 2**32 else np.uint64
        self.counts: Unsigned = np.zeros(words.size + 1, dtype=dtype)
        np.cumsum(np.bitwise_count(words), dtype=dtype, out=self.counts[1:])
        self._words, self._counts = words.data, self.counts.data
        self.total: int = self._counts[-1]

    @classmethod
    def pack(cls, flags: Bools) -> BitVector:
        """Return the bit vector of an array of booleans."""
        return cls(pack_bits(flags), flags.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the words and of their counts."""
        return self.words.nbytes + self.counts.nbytes

    def __getitem__(self, index: int) -> int:
        index = int(index)  # a signed numpy integer cannot be mixed with a uint64 word
        word: int = self._words[index >> 6]
        return word >> (index & 63) & 1

    def rank(self, index: int) -> int:
        """Return the number of set bits before `index`, which may equal the size."""
        index = int(index)
        count: int = self._counts[index >> 6]
        offset = index & 63
        if offset:
            count += (self._words[index >> 6] & (1 << offset) - 1).bit_count()
        return count

    def select(self, number: int) -> int:
        """Return the index of the set bit that has `number` set bits before it."""
        place = bisect_right(self._counts, number) - 1
        number -= self._counts[place]
        word: int = self._words[place]
        index = place << 6
        for half in (32, 16, 8, 4, 2, 1):
            low = word & (1 << half) - 1
            count = low.bit_count()
            if number < count:
                word = low
            else:
                number -= count
                word >>= half
                index += half
        return index

    def next_set(self, index: int) -> int:
        """Return the index of the first set bit at or after `index`; the size if there is none."""
        if index >= self.size:
            return self.size
        place = index >> 6
        word: int = self._words[place] >> (index & 63)
        if word:
            return index + (word & -word).bit_length() - 1
        number: int = self._counts[place + 1]
        return self.size if number == self.total else self.select(number)

    def flags(self) -> Bools:
        """Return the bits as an array of booleans."""
        return unpack_bits(self.words, self.size)


class PackedIntegers:
    """Immutable integers of one bit width: the low 16 bits together, one bit plane per higher bit.

    The numbers take no more bits than they need, but can be read and checked without shifting each
    of them into place.

    Parameters
    ----------
    low
        The low 8 or 16 bits; (size,).
    high
        One bit plane for each higher bit, the lowest first; (planes, words).
    """

    def __init__(self, low: Unsigned, high: Words) -> None:
        self.low, self.high = low, high
        self._low = low.data
        self._high = [(words.data, _LOW_BITS + plane) for plane, words in enumerate(high)]

    @classmethod
    def pack(cls, values: Ints) -> PackedIntegers:
        """Pack integers that are all below their number, such as a permutation."""
        dtype, shape = cls.layout(values.size)
        planes = [
            pack_bits((values >> _LOW_BITS + plane & 1).astype(bool)) for plane in range(shape[0])
        ]
        words = np.concatenate([np.empty(0, np.uint64), *planes]).reshape(shape)
        return cls((values & (1 << _LOW_BITS) - 1).astype(dtype), words)

    @staticmethod
    def layout(size: int) -> tuple[np.dtype[Any], tuple[int, int]]:
        """Return the dtype of `low` and the shape of `high` for `size` integers below `size`."""
        width = max(size - 1, 0).bit_length()
        dtype = np.dtype(np.uint8 if width <= 8 else np.uint16)
        return dtype, (max(width - _LOW_BITS, 0), size + 63 >> 6)

    def __getitem__(self, index: int) -> int:
        value: int = self._low[index]
        for words, shift in self._high:
            value |= (words[index >> 6] >> (index & 63) & 1) << shift
        return value

    def block(self, begin: int, end: int) -> PackedIntegers:
        """Return the integers ``[begin, end)``; `begin` is a multiple of 64."""
        return PackedIntegers(self.low[begin:end], self.high[:, begin >> 6 : end + 63 >> 6])

    def unpack(self) -> npt.NDArray[np.uint32]:
        """Return all integers as an array."""
        values = self.low.astype(np.uint32)
        for plane, words in enumerate(self.high):
            bits = unpack_bits(words, values.size).astype(np.uint32)
            values |= bits << np.uint32(_LOW_BITS + plane)
        return values


def pack_bits(flags: Bools) -> Words:
    """Pack booleans into 64-bit words, the lowest bit first."""
    packed = np.zeros((flags.size + 63 >> 6) * 8, dtype=np.uint8)
    packed[: flags.size + 7 >> 3] = np.packbits(flags, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack_bits(words: Words, size: int) -> Bools:
    """Return the first `size` bits of some words as booleans."""
    packed = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").view(np.bool_)


def narrow(values: Ints) -> Unsigned:
    """Cast non-negative integers to the narrowest unsigned dtype that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
