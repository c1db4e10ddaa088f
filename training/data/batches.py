"""Encoded samples as padded tensors, in length-bucketed batches of about the same cost.

The unit of cost is a source token; a target token, with its softmax over the vocabulary, costs two.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from training.data.sample_encoding import Group, Pair
from trie.model.padding import padded

IGNORED = -100  # label of padding, as everywhere in torch


@dataclass(frozen=True, slots=True)
class SequenceBatch:
    """Encoder inputs, each with all its targets packed into one row of the decoder.

    Attributes
    ----------
    input_ids, attention_mask
        Shape (batch, source length).
    decoder_ids, labels
        Shape (batch, target length): the targets of an input one after the other, each with the
        start token in front and with its end token; labels are `IGNORED` where padded.
    positions, segments
        Shape (batch, target length): the position of a token in its target, and the number of
        this target; the segment of padding is -1.
    copies
        Shape (batch, target length, source length), bool.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    decoder_ids: torch.Tensor
    labels: torch.Tensor
    positions: torch.Tensor
    segments: torch.Tensor
    copies: torch.Tensor


@dataclass(frozen=True, slots=True)
class RerankBatch:
    """Reranker passes of several claims.

    Attributes
    ----------
    input_ids, attention_mask
        Shape (passes, length).
    begins, ends
        Shape (claims, sentences): where the tokens of each sentence lie in the flattened passes,
        counted as if each pass had one place more, so that an end is no begin.
    real, gold
        Shape (claims, sentences), bool: which places hold a sentence, and which of them is gold.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    begins: torch.Tensor
    ends: torch.Tensor
    real: torch.Tensor
    gold: torch.Tensor


Batch = SequenceBatch | RerankBatch
Items = list[Pair] | list[Group]


@dataclass(frozen=True, slots=True)
class Counts:
    """What a batch's loss is averaged over; a part of a batch is divided by the whole's counts.

    Attributes
    ----------
    tokens, copied
        Of pairs: target tokens (of several targets of an input, their mean), and target tokens
        that are copies.
    claims, sentences
        Of groups.
    """

    tokens: float = 0
    copied: int = 0
    claims: int = 0
    sentences: int = 0

    @classmethod
    def of(cls, items: Items) -> Counts:
        """Count the items of a batch."""
        pairs = [item for item in items if isinstance(item, Pair)]
        groups = [item for item in items if isinstance(item, Group)]
        return cls(
            sum(pair.length / len(pair.targets) for pair in pairs),
            sum(len({at for at, _ in pair.copies}) for pair in pairs),
            len(groups),
            sum(len(marks) for group in groups for marks in group.gold),
        )


def bucket(items: Sequence[Pair | Group], budget: int, seed: int) -> list[Items]:
    """Group items of like length so that a padded batch costs at most `budget`.

    The order of the batches is shuffled by `seed`; the same seed gives the same batches.
    """
    order = list(range(len(items)))
    rng = random.Random(seed)
    rng.shuffle(order)
    sizes = [_size(item) for item in items]
    # Stable, so equal lengths stay shuffled. Long targets (proofs) stay among themselves.
    order.sort(key=lambda i: (sizes[i][2] // 32, sizes[i][1] // 8))
    batches: list[list[Pair | Group]] = []
    batch: list[Pair | Group] = []
    rows = source = target = 0
    for i in order:
        more = (rows + sizes[i][0], max(source, sizes[i][1]), max(target, sizes[i][2]))
        if batch and more[0] * (more[1] + 2 * more[2]) > budget:
            batches.append(batch)
            batch, more = [], sizes[i]
        batch.append(items[i])
        rows, source, target = more
    if batch:
        batches.append(batch)
    rng.shuffle(batches)
    return batches  # type: ignore[return-value]


def cost(items: Items) -> int:
    """Return what a batch costs."""
    sizes = [_size(item) for item in items]
    longest = max(size[1] for size in sizes) + 2 * max(size[2] for size in sizes)
    return sum(size[0] for size in sizes) * longest


def halved(items: Items, ceiling: float) -> list[Items]:
    """Halve a batch until no part costs more than `ceiling`, or is of a single item."""
    if len(items) == 1 or cost(items) <= ceiling:
        return [items]
    middle = len(items) // 2
    return halved(items[:middle], ceiling) + halved(items[middle:], ceiling)


def _size(item: Pair | Group) -> tuple[int, int, int]:
    """Return rows, source length and target length."""
    if isinstance(item, Group):
        return len(item.passes), max(len(one.ids) for one in item.passes), 0
    return 1, len(item.source), item.length


def collate(items: Items, pad: int, start: int) -> Batch:
    """Pad a batch of one kind; `start` is the token that the decoder begins with."""
    groups = [item for item in items if isinstance(item, Group)]
    pairs = [item for item in items if isinstance(item, Pair)]
    if groups and pairs:
        raise ValueError("a batch holds pairs or groups, not both")
    if groups:
        return _collate_groups(groups, pad)
    ids, mask = padded([p.source for p in pairs], pad)
    targets = [p.targets for p in pairs]
    labels, _ = padded([[t for one in row for t in one] for row in targets], IGNORED)
    before, _ = padded([[t for one in row for t in (start, *one[:-1])] for row in targets], pad)
    positions, _ = padded([[at for one in row for at in range(len(one))] for row in targets], 0)
    segments, _ = padded(
        [[number for number, one in enumerate(row) for _ in one] for row in targets], -1
    )
    copies = torch.zeros((*labels.shape, ids.shape[1]), dtype=torch.bool)
    for row, pair in enumerate(pairs):
        if pair.copies:
            copies[row][tuple(torch.tensor(pair.copies).T)] = True
    return SequenceBatch(ids, mask, before, labels, positions, segments, copies)


def _collate_groups(groups: Sequence[Group], pad: int) -> RerankBatch:
    ids, mask = padded([one.ids for group in groups for one in group.passes], pad)
    width = ids.shape[1] + 1
    begins, ends, gold = [], [], []
    row = 0
    for group in groups:
        spans = [(row + at, span) for at, one in enumerate(group.passes) for span in one.spans]
        begins.append([at * width + begin for at, (_, begin, _) in spans])
        ends.append([at * width + end for at, (_, _, end) in spans])
        gold.append([int(mark) for marks in group.gold for mark in marks])
        row += len(group.passes)
    marks, real = padded(gold, 0)
    # A place without a sentence is given one token, so that its mean is a number.
    return RerankBatch(
        ids, mask, padded(begins, 0)[0], padded(ends, 1)[0], real.bool(), marks.bool()
    )


def moved(batch: Batch, device: torch.device) -> Batch:
    """Return the batch on a device; from pinned memory without waiting for it."""
    values = {f.name: getattr(batch, f.name).to(device, non_blocking=True) for f in fields(batch)}
    return type(batch)(**values)


def pinned(batch: Batch) -> Batch:
    """Return the batch in page-locked memory, from where a GPU fetches it by itself."""
    return type(batch)(**{f.name: getattr(batch, f.name).pin_memory() for f in fields(batch)})
