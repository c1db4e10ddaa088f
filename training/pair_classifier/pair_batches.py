"""Encoded pairs, and the endless stream of batches of an epoch after the other."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from admiral.errors import AdmiralError
from proofs.verifier.pair_input import PairEncoder, PairInput
from training.data.verification_pairs import PAIR_LABELS, Pair, read_pairs
from training.loop.model_card import SourceFile

_CHUNK = 4096  # pairs that are encoded together
_LENGTH_STEP = 8  # lengths that count as equal


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """A pair as numbers.

    Attributes
    ----------
    ids, segments
        See `PairInput`; arrays, since there are hundreds of thousands of pairs.
    label
        Position in `PAIR_LABELS`.
    relevant
        1 or 0; -1 if unknown.
    weight
        How often an epoch contains the pair, on average.
    """

    ids: array[int]
    segments: array[int]
    label: int
    relevant: int
    weight: float


@dataclass(frozen=True, slots=True)
class PairBatch:
    """Padded pairs.

    Attributes
    ----------
    ids, mask, segments
        Inputs of the model, (pairs, length).
    labels
        Positions in `PAIR_LABELS`, (pairs,).
    relevant
        1, 0 or -1, (pairs,).
    """

    ids: Tensor
    mask: Tensor
    segments: Tensor
    labels: Tensor
    relevant: Tensor


@dataclass(frozen=True, slots=True)
class PairSet:
    """The pairs of a file.

    Attributes
    ----------
    pairs, items
        The pairs, and their encodings.
    source
        The file, and its number of pairs by source.
    """

    pairs: list[Pair]
    items: list[EncodedPair]
    source: SourceFile


def read_pair_set(
    role: str, path: Path, encoder: PairEncoder, limit: int | None = None, seed: int = 0
) -> PairSet:
    """Read and encode the pairs of a file.

    Parameters
    ----------
    role
        Use of the file, for the model card.
    path
        The file.
    encoder
        Encoder of the pairs.
    limit
        Most pairs of each source, drawn at random; None for all.
    seed
        Seed of the draw.

    Raises
    ------
    AdmiralError
        If the file cannot be read, holds a bad record, or no pairs.
    """
    pairs = list(read_pairs(path))
    if not any(pair.weight for pair in pairs):
        raise AdmiralError(
            f"{path}: holds no pairs of a weight above 0. Build them with training.build_pairs."
        )
    if limit is not None:
        pairs = draw_pairs(pairs, limit, seed)
    counts = dict(sorted(Counter(pair.source for pair in pairs).items()))
    return PairSet(pairs, _encoded(pairs, encoder), SourceFile.of(role, path, counts))


def draw_pairs(pairs: Sequence[Pair], limit: int, seed: int) -> list[Pair]:
    """Return at most `limit` pairs of each source, drawn at random, in their order."""
    by_source: dict[str, list[int]] = {}
    for position, pair in enumerate(pairs):
        by_source.setdefault(pair.source, []).append(position)
    rng = random.Random(seed)
    chosen = [rng.sample(at, min(limit, len(at))) for at in by_source.values()]
    return [pairs[position] for position in sorted(p for some in chosen for p in some)]


def _encoded(pairs: Sequence[Pair], encoder: PairEncoder) -> list[EncodedPair]:
    items: list[EncodedPair] = []
    for begin in range(0, len(pairs), _CHUNK):
        chunk = pairs[begin : begin + _CHUNK]
        inputs = encoder.encode([p.claim for p in chunk], [p.evidence for p in chunk])
        for pair, one in zip(chunk, inputs, strict=True):
            relevant = -1 if pair.relevance is None else int(pair.relevance)
            label = PAIR_LABELS.index(pair.label)
            ids, segments = array("i", one.ids), array("b", one.segments)
            items.append(EncodedPair(ids, segments, label, relevant, pair.weight))
    return items


def batches_of_pairs(
    items: Sequence[EncodedPair], max_tokens: int, seed: int
) -> Iterator[list[EncodedPair]]:
    """Yield batches forever, epoch after epoch, in an order that depends on the seed alone."""
    epoch = 0
    while True:
        rng = random.Random(f"{seed} {epoch}")
        yield from pair_epoch(items, max_tokens, rng)
        epoch += 1


def pair_epoch(
    items: Sequence[EncodedPair], max_tokens: int, rng: random.Random
) -> list[list[EncodedPair]]:
    """Return the batches of an epoch, which contains each pair as often as its weight says.

    Parameters
    ----------
    items
        The pairs. A pair of weight 1.5 occurs once or twice.
    max_tokens
        Maximum number of padded tokens of a batch.
    rng
        Generator of the order.
    """
    chosen = []
    for item in items:
        whole = int(item.weight)
        chosen += [item] * (whole + (rng.random() < item.weight - whole))
    rng.shuffle(chosen)
    # The sort is stable, so pairs of about the same length stay shuffled.
    chosen.sort(key=lambda item: len(item.ids) // _LENGTH_STEP)
    batches: list[list[EncodedPair]] = []
    longest = 0
    for item in chosen:
        longest = max(longest, len(item.ids))
        if batches and (len(batches[-1]) + 1) * longest <= max_tokens:
            batches[-1].append(item)
        else:
            batches.append([item])
            longest = len(item.ids)
    rng.shuffle(batches)
    return batches


def collate_pairs(items: Sequence[EncodedPair], encoder: PairEncoder) -> PairBatch:
    """Pad pairs to a batch."""
    inputs = [PairInput(item.ids.tolist(), item.segments.tolist()) for item in items]
    labels = torch.tensor([item.label for item in items])
    relevant = torch.tensor([item.relevant for item in items])
    return PairBatch(*encoder.collate(inputs), labels, relevant)
