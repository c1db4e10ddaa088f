"""Vectors of bits, 64 to a word, and numbers cut into them.

A vector answers "how many are set before here" and "where is the k-th set one" with the help of
one number a word, which is counted when the vector is opened and not stored. Single words are read
through memoryviews (``array.data``): they cost a fraction of what indexing an array costs.
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

_LOW = 16  # bits of a number that stay together


class Bits:
    """An immutable vector of `size` bits.

    Parameters
    ----------
    words
        Bit ``i`` is bit ``i % 64`` of word ``i // 64``; those beyond `size` are not set.
    """

    def __init__(self, words: Words, size: int) -> None:
        self.words, self.size = words, size
        kind = np.uint32 if size < 2**32 else np.uint64
        #: How many are set in front of each word, and in all; (words + 1).
        self.before: Unsigned = np.zeros(words.size + 1, dtype=kind)
        np.cumsum(np.bitwise_count(words), dtype=kind, out=self.before[1:])
        self._words, self._before = words.data, self.before.data
        self.total: int = self._before[-1]

    @classmethod
    def pack(cls, flags: Bools) -> Bits:
        """Return the vector of some truth values."""
        return cls(to_words(flags), flags.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the vector and of its counts."""
        return self.words.nbytes + self.before.nbytes

    def __getitem__(self, index: int) -> int:
        index = int(index)  # numpy's integers are shorter than a word without sign
        word: int = self._words[index >> 6]
        return word >> (index & 63) & 1

    def rank(self, index: int) -> int:
        """Return how many bits are set in front of `index`, which may be the size."""
        index = int(index)
        count: int = self._before[index >> 6]
        inside = index & 63
        if inside:
            count += (self._words[index >> 6] & (1 << inside) - 1).bit_count()
        return count

    def select(self, number: int) -> int:
        """Return the index of the set bit that has `number` set ones before it."""
        place = bisect_right(self._before, number) - 1
        number -= self._before[place]
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

    def following(self, index: int) -> int:
        """Return the index of the first set bit at `index` or behind it; the size if none is."""
        if index >= self.size:
            return self.size
        place = index >> 6
        word: int = self._words[place] >> (index & 63)
        if word:
            return index + (word & -word).bit_length() - 1
        number: int = self._before[place + 1]
        return self.size if number == self.total else self.select(number)

    def flags(self) -> Bools:
        """Return the bits as truth values."""
        return from_words(self.words, self.size)


class Numbers:
    """Immutable numbers of one width: their lowest 16 bits, and a vector for each higher bit.

    So they take just as many bits as they need, and yet are read and checked without shifting
    every one of them into place.

    Parameters
    ----------
    low
        The low parts; (size,).
    high
        The higher bits, the lowest first; (bits, words).
    """

    def __init__(self, low: Unsigned, high: Words) -> None:
        self.low, self.high = low, high
        self._low = low.data
        self._high = [(words.data, _LOW + place) for place, words in enumerate(high)]

    @classmethod
    def pack(cls, values: Ints) -> Numbers:
        """Return numbers wide enough for those from 0 to the size."""
        kind, high = cls.shape(values.size)
        planes = [to_words((values >> _LOW + bit & 1).astype(bool)) for bit in range(high[0])]
        words = np.concatenate([np.empty(0, np.uint64), *planes]).reshape(high)
        return cls((values & (1 << _LOW) - 1).astype(kind), words)

    @staticmethod
    def shape(size: int) -> tuple[np.dtype[Any], tuple[int, int]]:
        """Return the type of the low parts and the shape of the high ones of `size` numbers."""
        width = max(size - 1, 0).bit_length()
        kind = np.dtype(np.uint8 if width <= 8 else np.uint16)
        return kind, (max(width - _LOW, 0), size + 63 >> 6)

    def __getitem__(self, index: int) -> int:
        value: int = self._low[index]
        for words, shift in self._high:
            value |= (words[index >> 6] >> (index & 63) & 1) << shift
        return value

    def part(self, begin: int, end: int) -> Numbers:
        """Return those from `begin`, a multiple of 64, to below `end`."""
        return Numbers(self.low[begin:end], self.high[:, begin >> 6 : end + 63 >> 6])

    def values(self) -> npt.NDArray[np.uint32]:
        """Return all numbers."""
        values = self.low.astype(np.uint32)
        for bit, words in enumerate(self.high):
            values |= from_words(words, values.size).astype(np.uint32) << np.uint32(_LOW + bit)
        return values


def to_words(flags: Bools) -> Words:
    """Put truth values into words."""
    packed = np.zeros((flags.size + 63 >> 6) * 8, dtype=np.uint8)
    packed[: flags.size + 7 >> 3] = np.packbits(flags, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def from_words(words: Words, size: int) -> Bools:
    """Return the first `size` truth values of some words."""
    packed = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").view(np.bool_)


def narrow(values: Ints) -> Unsigned:
    """Return unsigned numbers in the narrowest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
