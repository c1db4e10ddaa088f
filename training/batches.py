"""Samples as padded tensors, in length-bucketed batches of about the same number of tokens."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import torch

from admiral.stages.passes import RerankPass, rerank_passes
from proofs import NatOp, ProofError, target_ids
from training.guide import alignment
from training.samples import ProveSample, RerankSample, RetrieveSample, Sample
from trie import Tokens, evidence_input
from trie.tokens import IDENTIFIERS

IGNORED = -100  # label of padding, as everywhere in transformers


@dataclass(frozen=True, slots=True)
class Pair:
    """An encoder input and what the decoder shall write, both as token ids.

    `copies` are the pairs (target position, source position) of `training.guide.alignment`.
    """

    source: list[int]
    target: list[int]
    copies: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Group:
    """The reranker passes of one claim; `gold` marks the sentences that are evidence."""

    passes: list[RerankPass]
    gold: list[list[bool]]


@dataclass(frozen=True, slots=True)
class SequenceBatch:
    """Tensors of shape (batch, length); labels hold `IGNORED` where padded.

    `copies` has shape (batch, target length, source length), bool.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    labels: torch.Tensor
    copies: torch.Tensor


@dataclass(frozen=True, slots=True)
class RerankBatch:
    """Reranker passes of several claims.

    Attributes
    ----------
    input_ids, attention_mask
        Shape (passes, length).
    pooling
        Shape (sentences, passes * length), sparse: row ``i`` averages the tokens of sentence ``i``.
    group
        Shape (sentences,): the claim that each sentence belongs to.
    gold
        Shape (sentences,), bool.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    pooling: torch.Tensor
    group: torch.Tensor
    gold: torch.Tensor


def encode(tokens: Tokens, sample: Sample, max_source: int, max_target: int) -> Pair | Group | None:
    """Return a sample as token ids; None where it is too long to learn from."""
    if isinstance(sample, RerankSample):
        return _group(tokens, sample, max_source)
    task = "prove" if isinstance(sample, ProveSample) else "retrieve"
    source = evidence_input(tokens, task, sample.claim, sample.evidence, max_source)
    if source.cut:
        return None  # what the target speaks of may be what was cut: that would teach guessing
    if isinstance(sample, RetrieveSample):
        target = retrieval_target(tokens, sample)
        return _pair(tokens, source.ids, target) if len(target) <= max_target else None
    try:
        target = target_ids(
            tokens, sample.proof, sample.claim, sample.evidence, max_length=max_target
        )
    except ProofError:
        return None
    return _pair(tokens, source.ids, target)


def _pair(tokens: Tokens, source: list[int], target: list[int]) -> Pair:
    symbols, alone = _marks(tokens)
    copies = alignment(source, target, alone)
    return Pair(source, target, [(i, j) for i, j in copies if target[i] not in symbols])


@cache
def _marks(tokens: Tokens) -> tuple[frozenset[int], frozenset[int]]:
    """Return brackets, operators and the end, which are written, and these with identifiers.

    Identifiers are no part of a text either, but they are pointed at in the source.
    """
    symbols = {tokens.symbol(s) for s in "[]{}"} | {tokens.eos}
    symbols |= {tokens.symbol(op.value) for op in NatOp}
    identifiers = set()
    if tokens.task("retrieve") is not None:
        identifiers = {tokens.identifier(i) for i in range(IDENTIFIERS)}
    return frozenset(symbols), frozenset(symbols | identifiers)


def retrieval_target(tokens: Tokens, sample: RetrieveSample) -> list[int]:
    """Return ``e_i e_j [ title ] </s>``."""
    return [
        *(tokens.identifier(i) for i in sample.identifiers),
        tokens.symbol("["),
        *tokens.encode(sample.title),
        tokens.symbol("]"),
        tokens.eos,
    ]


def _group(tokens: Tokens, sample: RerankSample, max_source: int) -> Group | None:
    passes: list[RerankPass] = []
    gold: list[list[bool]] = []
    for document in sample.documents:
        for one in rerank_passes(
            tokens, sample.claim, sample.evidence, document.title, document.sentences, max_source
        ):
            marks = [number in document.relevant for number, _, _ in one.spans]
            # Of a long negative document the first pass is enough.
            if not passes or one.spans[0][0] == 0 or any(marks):
                passes.append(one)
                gold.append(marks)
    flat = [mark for marks in gold for mark in marks]
    return Group(passes, gold) if any(flat) and not all(flat) else None


def bucket(
    items: Sequence[Pair | Group], budget: int, seed: int
) -> list[list[Pair]] | list[list[Group]]:
    """Group items of like length so that a padded batch costs at most `budget`.

    The unit of cost is a source token; a target token, with its softmax over the vocabulary, costs
    two. The order of the batches is shuffled by `seed`; the same seed gives the same batches.
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


def _size(item: Pair | Group) -> tuple[int, int, int]:
    """Return rows, source length and target length."""
    if isinstance(item, Group):
        return len(item.passes), max(len(one.ids) for one in item.passes), 0
    return 1, len(item.source), len(item.target)


def collate(batch: Sequence[Pair] | Sequence[Group], pad: int) -> SequenceBatch | RerankBatch:
    """Pad a batch of one kind."""
    if isinstance(batch[0], Group):
        return _collate_groups([g for g in batch if isinstance(g, Group)], pad)
    pairs = [p for p in batch if isinstance(p, Pair)]
    ids, mask = padded([p.source for p in pairs], pad)
    labels, _ = padded([p.target for p in pairs], IGNORED)
    copies = torch.zeros((*labels.shape, ids.shape[1]), dtype=torch.bool)
    for row, pair in enumerate(pairs):
        if pair.copies:
            copies[row][tuple(torch.tensor(pair.copies).T)] = True
    return SequenceBatch(ids, mask, labels, copies)


def _collate_groups(groups: Sequence[Group], pad: int) -> RerankBatch:
    ids, mask = padded([one.ids for g in groups for one in g.passes], pad)
    width = ids.shape[1]
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    owner: list[int] = []
    gold: list[bool] = []
    number = 0
    for claim, group in enumerate(groups):
        for one, marks in zip(group.passes, group.gold, strict=True):
            for (_, start, end), mark in zip(one.spans, marks, strict=True):
                rows += [len(owner)] * (end - start)
                columns += range(number * width + start, number * width + end)
                values += [1.0 / (end - start)] * (end - start)
                owner.append(claim)
                gold.append(mark)
            number += 1
    pooling = torch.sparse_coo_tensor(
        torch.tensor([rows, columns]),
        torch.tensor(values),
        (len(owner), ids.numel()),
        check_invariants=False,
    )
    return RerankBatch(ids, mask, pooling, torch.tensor(owner), torch.tensor(gold))


def padded(rows: Iterable[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask, both of shape (rows, longest)."""
    lists = [list(r) for r in rows]
    width = max(len(r) for r in lists)
    ids = torch.full((len(lists), width), pad, dtype=torch.long)
    mask = torch.zeros((len(lists), width), dtype=torch.long)
    for i, row in enumerate(lists):
        ids[i, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[i, : len(row)] = 1
    return ids, mask
