"""Titles to measure with: those of a file, as `mini` spells them, and others that are like them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.models import MINI
from trie import SafeTokenizer
from trie.token_trie import Ints, Unsigned, concatenate, row_positions

_MIX = np.uint64(0x9E3779B97F4A7C15)  # an odd number with well mixed bits, for hashing


@dataclass(frozen=True)
class Titles:
    """Sequences of tokens behind each other, and the length of each."""

    flat: Unsigned
    lengths: Ints

    @classmethod
    def spelt(cls, path: Path | None, vocabulary: int | None = None) -> Titles:
        """Return the titles of a file, spelt by `mini`; its tokens spread over a vocabulary."""
        tokens, stream = SafeTokenizer.load(MINI), read_titles(path)
        batches = iter(lambda: list(islice(stream, 8192)), [])
        flat, lengths = concatenate(ids for batch in batches for ids in tokens.encode_batch(batch))
        if vocabulary is not None:
            flat = (flat.astype(np.int64) * vocabulary // tokens.size).astype(np.uint32)
        return cls(flat, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def lists(self) -> list[list[int]]:
        """Return the sequences."""
        tokens, ends = self.flat.tolist(), np.cumsum(self.lengths).tolist()
        return [tokens[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    def some(self, count: int, seed: int = 0) -> Titles:
        """Return so many of them, random ones; if there are not so many, generated ones."""
        if count > len(self):
            return self.like(count, seed)
        if count == len(self):
            return self
        chosen = np.random.default_rng(seed).permutation(len(self))[:count]
        return Titles(*take_rows(self.flat, self.lengths, chosen))

    def like(self, count: int, seed: int = 0) -> Titles:
        """Return so many other titles, all different, with the same statistics of tokens.

        A title is put together from pieces of those that are there: behind each token it goes on
        with what follows the same token at the same place in a random one of them. So lengths, the
        tokens at each place and the pairs of neighbours are as frequent as they are there, but for
        what is left out because it came up before.
        """
        rng = np.random.default_rng(seed)
        parts: list[tuple[Unsigned, Ints]] = []
        hashes, found = np.empty(0, dtype=np.uint64), 0
        while found < count:
            flat, lengths, these = self._draw(min(max(count, 1 << 12), 1 << 20), rng)
            _, firsts = np.unique(these, return_index=True)
            new = np.sort(firsts[~np.isin(these[firsts], hashes)])[: count - found]
            if not new.size:
                raise ValueError(f"these titles are like no more than {found:,} others")
            hashes, found = np.concatenate([hashes, these[new]]), found + len(new)
            parts.append(take_rows(flat, lengths, new))
        return Titles(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))

    def _draw(self, count: int, rng: np.random.Generator) -> tuple[Unsigned, Ints, Unsigned]:
        """Return the tokens of random titles, their lengths, and a hash of each."""
        pieces = self._pieces
        rows, at = np.arange(count), pieces.starts[rng.integers(len(self), size=count)]
        lengths, hashes = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.uint64)
        drawn: list[tuple[Ints, Unsigned]] = []
        while rows.size:
            goes_on = pieces.tokens[at] >= 0
            rows, at = rows[goes_on], at[goes_on]
            tokens = pieces.tokens[at].astype(self.flat.dtype)
            drawn.append((rows, tokens))
            lengths[rows] += 1
            mixed = (hashes[rows] ^ (tokens + np.uint64(1))) * _MIX
            hashes[rows] = mixed ^ mixed >> np.uint64(29)
            among = (rng.random(at.size) * pieces.counts[at]).astype(np.int64)
            at = pieces.order[pieces.firsts[at] + among] + 1
        flat = np.empty(int(lengths.sum()), dtype=self.flat.dtype)
        starts = np.cumsum(lengths) - lengths
        for place, (rows, tokens) in enumerate(drawn):
            flat[starts[rows] + place] = tokens
        return flat, lengths, hashes

    @cached_property
    def _pieces(self) -> _Pieces:
        ends = np.cumsum(self.lengths)
        tokens = np.insert(self.flat.astype(np.int64), ends, -1)
        starts = ends - self.lengths + np.arange(len(self))
        places = np.arange(tokens.size) - np.repeat(starts, self.lengths + 1)
        keys = places * (int(tokens.max()) + 2) + tokens + 1
        order = keys.argsort(kind="stable")
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        firsts = np.cumsum(counts) - counts
        return _Pieces(tokens, starts, order, firsts[inverse], counts[inverse])


@dataclass(frozen=True)
class _Pieces:
    """Titles with an end, -1, behind each; and where there is the same token at the same place.

    Those of token ``i`` are ``order[firsts[i] : firsts[i] + counts[i]]``.
    """

    tokens: Ints
    starts: Ints
    order: Ints
    firsts: Ints
    counts: Ints


def take_rows(flat: Unsigned, sizes: Ints, order: Ints) -> tuple[Unsigned, Ints]:
    """Return the rows `order` of a CSR array whose rows lie one after another, and their sizes."""
    offsets = (np.cumsum(sizes) - sizes)[order]
    return flat[row_positions(offsets, sizes[order])], sizes[order]


def read_titles(path: Path | None) -> Iterator[str]:
    """Yield the titles of a file, one a line, or those of the demo knowledge base."""
    if path is None:
        from admiral.kb import KnowledgeBase, demo_kb

        with KnowledgeBase.open(demo_kb()) as kb:
            yield from kb.titles()
        return
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        yield from filter(None, (line.rstrip("\n") for line in lines))
