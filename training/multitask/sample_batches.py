"""Collate encoded samples into padded batches, bucketed by length and of similar cost.

The unit of cost is a source token. A target token costs two, because of its softmax over the
vocabulary.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from training.multitask.sample_encoding import GenerationExample, RerankingExample
from trie.model.packed_encoder import pad_batch

KINDS = ("generation", "reranking")  # of batches and of their losses
IGNORED = -100  # label of padding, as everywhere in torch


@dataclass(frozen=True, slots=True)
class SequenceBatch:
    """Encoder inputs, each with all its targets packed into one decoder row.

    Attributes
    ----------
    input_ids, attention_mask
        Shape (batch, source length).
    decoder_ids, labels
        Shape (batch, target length): the targets of an input, concatenated. Decoder inputs begin
        with the start token, labels end with the end token; padding is `IGNORED` in labels.
    positions, segments
        Shape (batch, target length): position of a token within its target, and number of the
        target; -1 for padding.
    copies
        Shape (batch, target length, source length), bool: alignment of copied tokens.
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
    """Encoder passes of the reranker for several claims.

    Attributes
    ----------
    input_ids, attention_mask
        Shape (passes, length).
    begins, ends
        Shape (claims, sentences): span of each sentence in the flattened passes. Each pass counts
        one position more than its length, so that an end never equals the next begin.
    real, gold
        Shape (claims, sentences), bool: whether there is a sentence, and whether it is gold.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    begins: torch.Tensor
    ends: torch.Tensor
    real: torch.Tensor
    gold: torch.Tensor


Batch = SequenceBatch | RerankBatch
Examples = list[GenerationExample] | list[RerankingExample]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts that the loss of a batch is averaged over, also for the parts of a split batch.

    Attributes
    ----------
    tokens, copied
        Generation: target tokens (the mean over the targets of an input), and copied tokens.
    claims, sentences
        Reranking: claims and their sentences.
    """

    tokens: float = 0
    copied: int = 0
    claims: int = 0
    sentences: int = 0

    @classmethod
    def of(cls, items: Examples) -> Counts:
        """Count the items of a batch."""
        pairs = [item for item in items if isinstance(item, GenerationExample)]
        groups = [item for item in items if isinstance(item, RerankingExample)]
        return cls(
            sum(pair.length / len(pair.targets) for pair in pairs),
            sum(len({i for i, _ in pair.copies}) for pair in pairs),
            len(groups),
            sum(len(marks) for group in groups for marks in group.gold),
        )


def bucket(
    items: Sequence[GenerationExample | RerankingExample], budget: int, seed: int
) -> list[Examples]:
    """Group examples of similar length into batches that cost at most `budget`.

    `seed` shuffles the examples and the batches; the same seed gives the same batches.
    """
    order = list(range(len(items)))
    rng = random.Random(seed)
    rng.shuffle(order)
    sizes = [_size(item) for item in items]
    # The sort is stable, so equal lengths stay shuffled. Long targets are batched together.
    order.sort(key=lambda i: (sizes[i][2] // 32, sizes[i][1] // 8))
    batches: list[list[GenerationExample | RerankingExample]] = []
    batch: list[GenerationExample | RerankingExample] = []
    rows = source = target = 0
    for i in order:
        grown = (rows + sizes[i][0], max(source, sizes[i][1]), max(target, sizes[i][2]))
        if batch and grown[0] * (grown[1] + 2 * grown[2]) > budget:
            batches.append(batch)
            batch, grown = [], sizes[i]
        batch.append(items[i])
        rows, source, target = grown
    if batch:
        batches.append(batch)
    rng.shuffle(batches)
    return batches  # type: ignore[return-value]


def cost(items: Examples) -> int:
    """Return the cost of a padded batch."""
    sizes = [_size(item) for item in items]
    longest = max(size[1] for size in sizes) + 2 * max(size[2] for size in sizes)
    return sum(size[0] for size in sizes) * longest


def _size(item: GenerationExample | RerankingExample) -> tuple[int, int, int]:
    """Return rows, source length and target length."""
    if isinstance(item, RerankingExample):
        return len(item.passes), max(len(p.ids) for p in item.passes), 0
    return 1, len(item.source), item.length


def collate(items: Examples, pad: int, start: int) -> Batch:
    """Pad a batch of one kind; `start` is the decoder's start token."""
    groups = [item for item in items if isinstance(item, RerankingExample)]
    pairs = [item for item in items if isinstance(item, GenerationExample)]
    if groups and pairs:
        raise ValueError("a batch mixes generation and reranking examples")
    if groups:
        return _collate_groups(groups, pad)
    ids, mask = pad_batch([p.source for p in pairs], pad)
    targets = [p.targets for p in pairs]
    labels, _ = pad_batch([[t for ids in row for t in ids] for row in targets], IGNORED)
    shifted = [[t for ids in row for t in (start, *ids[:-1])] for row in targets]
    decoder_ids, _ = pad_batch(shifted, pad)
    positions, _ = pad_batch([[i for ids in row for i in range(len(ids))] for row in targets], 0)
    segments, _ = pad_batch(
        [[number for number, ids in enumerate(row) for _ in ids] for row in targets], -1
    )
    copies = torch.zeros((*labels.shape, ids.shape[1]), dtype=torch.bool)
    for row, pair in enumerate(pairs):
        if pair.copies:
            copies[row][tuple(torch.tensor(pair.copies).T)] = True
    return SequenceBatch(ids, mask, decoder_ids, labels, positions, segments, copies)


def _collate_groups(groups: Sequence[RerankingExample], pad: int) -> RerankBatch:
    ids, mask = pad_batch([p.ids for group in groups for p in group.passes], pad)
    width = ids.shape[1] + 1
    begins, ends, gold = [], [], []
    row = 0
    for group in groups:
        spans = [(row + i, span) for i, p in enumerate(group.passes) for span in p.spans]
        begins.append([i * width + begin for i, (_, begin, _) in spans])
        ends.append([i * width + end for i, (_, _, end) in spans])
        gold.append([int(mark) for marks in group.gold for mark in marks])
        row += len(group.passes)
    marks, real = pad_batch(gold, 0)
    # Padding gets a span of one token, so that its mean is defined.
    return RerankBatch(
        ids, mask, pad_batch(begins, 0)[0], pad_batch(ends, 1)[0], real.bool(), marks.bool()
    )


def batches_of(
    items: Sequence[GenerationExample | RerankingExample],
    pair_budget: int,
    group_budget: int,
    seed: int,
) -> Iterator[Examples]:
    """Yield batches forever, epoch after epoch, in an order that depends on the seed alone."""
    epoch = seed
    while True:
        yield from one_epoch(items, pair_budget, group_budget, epoch)
        epoch += 1


def one_epoch(
    items: Sequence[GenerationExample | RerankingExample],
    pair_budget: int,
    group_budget: int,
    seed: int,
) -> list[Examples]:
    """Return batches that hold each example once, in random order and each of one kind."""
    pairs = [item for item in items if isinstance(item, GenerationExample)]
    groups = [item for item in items if isinstance(item, RerankingExample)]
    batches = bucket(pairs, pair_budget, seed) + bucket(groups, group_budget, seed)
    random.Random(seed).shuffle(batches)
    return batches


def kind_of(batch: Batch) -> str:
    """Return the name of the loss of a batch, one of `KINDS`."""
    return "generation" if isinstance(batch, SequenceBatch) else "reranking"
