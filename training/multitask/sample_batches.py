"""Encode the samples of a run as token ids, and collate them into padded batches of similar cost.

The unit of cost is a source token. A target token costs two, because of its softmax over the
vocabulary.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from admiral.errors import AdmiralError
from admiral.retrieval.rerankers import (
    POINTWISE_ANSWERS,
    RerankerInput,
    pointwise_input,
    reranker_inputs,
)
from proofs import NatOp, ProofError, target_ids
from proofs.generation.proof_grammar import encode_source, missing_proof_marks
from training.data.samples import (
    ProveSample,
    RerankSample,
    RetrieveSample,
    Sample,
    Target,
    read_samples,
)
from training.loop.run_files import SourceFile
from training.multitask.multitask_settings import TrainConfig
from trie import SafeTokenizer
from trie.safe_tokenizer import IDENTIFIERS
from trie.seq2seq import pad_batch


def copy_alignment(
    source: Sequence[int], target: Sequence[int], separators: frozenset[int]
) -> list[tuple[int, int]]:
    """Return pairs (target position, source position) of tokens that the target copies.

    A target token is aligned with the source tokens on the longest common runs through it. A run of
    a single token counts only if the token is a separator, or if it is the whole text between two
    separators, as a title of one token is.

    `separators`: tokens with the same meaning at every position, such as sentence identifiers, and
    tokens that delimit text, such as brackets. No run extends across them.
    """
    positions: dict[int, list[int]] = {}
    for j, token in enumerate(source):
        positions.setdefault(token, []).append(j)
    # Length of the common run that ends at (i, j), then of the whole run through it.
    runs: dict[tuple[int, int], int] = {}
    for i, token in enumerate(target):
        begins = token in separators or (i > 0 and target[i - 1] in separators)
        for j in positions.get(token, ()):
            runs[i, j] = 1 if begins else runs.get((i - 1, j - 1), 0) + 1
    for i in range(len(target) - 2, -1, -1):
        if target[i] in separators or target[i + 1] in separators:
            continue
        for j in positions.get(target[i], ()):
            runs[i, j] = max(runs[i, j], runs.get((i + 1, j + 1), 0))
    longest: dict[int, int] = {}
    for (i, _), length in runs.items():
        longest[i] = max(longest.get(i, 0), length)

    def may_be_single(i: int) -> bool:
        begins = i == 0 or target[i - 1] in separators
        ends = i + 1 == len(target) or target[i + 1] in separators
        return target[i] in separators or (begins and ends)

    return [
        (i, j)
        for (i, j), length in runs.items()
        if length == longest[i] and (length > 1 or may_be_single(i))
    ]


@dataclass(frozen=True, slots=True)
class GenerationExample:
    """An encoder input and its valid targets, as token ids."""

    source: list[int]  # the encoder's input
    targets: list[list[int]]  # the valid output sequences, each with its end token
    # pairs (target position, source position) of `copy_alignment`, for each target
    copies: list[list[tuple[int, int]]]

    @property
    def length(self) -> int:
        """Total number of target tokens."""
        return sum(map(len, self.targets))


@dataclass(frozen=True, slots=True)
class RerankingExample:
    """The encoder passes of the reranker for one claim; `gold` marks its gold sentences."""

    passes: list[RerankerInput]
    gold: list[list[bool]]


Example = GenerationExample | RerankingExample


def encode(tokens: SafeTokenizer, sample: Sample, config: TrainConfig) -> list[Example]:
    """Return the examples of a sample: none if it is too long or holds nothing to rank.

    There is one, or one for each sentence that a pointwise reranker learns from, or for each target
    of the objective ``single``. Longer targets of a retrieval sample than `max_target` are dropped.
    """
    if isinstance(sample, RerankSample):
        encode_one = _pointwise_examples if config.reranker == "pointwise" else _reranking_example
        return encode_one(tokens, sample, config.max_source)
    task = "prove" if isinstance(sample, ProveSample) else "retrieve"
    hop = None
    if isinstance(sample, RetrieveSample):
        hop = min(sample.hop, len({title for title, _ in sample.evidence}))
    source = encode_source(tokens, task, sample.claim, sample.evidence, config.max_source, hop)
    if source.truncated:
        return []  # the target may refer to the cut text, which would teach guessing
    if isinstance(sample, RetrieveSample):
        every = [_retrieval_target(tokens, sample, t, config.target) for t in sample.targets()]
        targets = [ids for ids in every if len(ids) <= config.max_target]
    else:
        evidence, longest = sample.evidence, config.max_target
        try:
            targets = [target_ids(tokens, sample.proof, sample.claim, evidence, max_length=longest)]
        except ProofError:
            targets = []
    if not targets:
        return []
    symbols, separators = _symbols_and_separators(tokens)
    copies = [
        [(i, j) for i, j in copy_alignment(source.ids, ids, separators) if ids[i] not in symbols]
        for ids in targets
    ]
    if config.objective == "single":
        pairs = zip(targets, copies, strict=True)
        return [GenerationExample(source.ids, [ids], [copied]) for ids, copied in pairs]
    return [GenerationExample(source.ids, targets, copies)]


@cache
def _symbols_and_separators(tokens: SafeTokenizer) -> tuple[frozenset[int], frozenset[int]]:
    """Return the tokens that are generated rather than copied, and these plus identifiers.

    Identifiers are not part of a text either, but they are copied from the source.
    """
    marks = {*"[]{}", *(op.value for op in NatOp)} - set(missing_proof_marks(tokens))
    symbols = {tokens.single_token(mark) for mark in marks} | {tokens.eos}
    identifiers = set()
    if tokens.task("retrieve") is not None:
        identifiers = {tokens.identifier(i) for i in range(IDENTIFIERS)}
    return frozenset(symbols), frozenset(symbols | identifiers)


def _retrieval_target(
    tokens: SafeTokenizer, sample: RetrieveSample, target: Target, named: str
) -> list[int]:
    """Return ``e_i e_j [ title ] </s>``, or titles in place of the identifiers."""
    titles, ids = [target.title], []
    if named == "titles":
        titles = [*(sample.evidence[i][0] for i in target.identifiers), target.title]
    else:
        ids = [tokens.identifier(i) for i in target.identifiers]
    for title in titles:
        ids += [tokens.single_token("["), *tokens.encode(title), tokens.single_token("]")]
    return [*ids, tokens.eos]


def _reranking_example(
    tokens: SafeTokenizer, sample: RerankSample, max_source: int
) -> list[Example]:
    passes: list[RerankerInput] = []
    gold: list[list[bool]] = []
    for document in sample.documents:
        for rerank_pass in reranker_inputs(
            tokens, sample.claim, sample.evidence, document.title, document.sentences, max_source
        ):
            is_gold = [number in document.relevant for number, _, _ in rerank_pass.spans]
            # One pass of a long negative document is enough.
            if not passes or rerank_pass.spans[0][0] == 0 or any(is_gold):
                passes.append(rerank_pass)
                gold.append(is_gold)
    flat = [mark for marks in gold for mark in marks]
    return [RerankingExample(passes, gold)] if any(flat) and not all(flat) else []


def _pointwise_examples(
    tokens: SafeTokenizer, sample: RerankSample, max_source: int
) -> list[Example]:
    """Return the gold sentences and as many others, with whether they are relevant as targets.

    There are none if there are not both.
    """
    sentences = [
        (number in document.relevant, document.title, sentence)
        for document in sample.documents
        for number, sentence in enumerate(document.sentences)
        if sentence.strip()
    ]
    gold = [one for one in sentences if one[0]]
    others = [one for one in sentences if not one[0]]
    count = min(len(gold), len(others))
    rng = random.Random(sample.claim)
    true, false = ([*tokens.encode(answer), tokens.eos] for answer in POINTWISE_ANSWERS)
    return [
        GenerationExample(
            pointwise_input(tokens, sample.claim, title, sentence, max_source),
            [true if relevant else false],
            [[]],
        )
        for relevant, title, sentence in [*rng.sample(gold, count), *rng.sample(others, count)]
    ]


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The usable samples of a file, and the examples of all of them."""

    samples: list[Sample]
    examples: list[Example]
    source: SourceFile  # the file and the number of its usable samples
    left_out: int  # number of samples that are too long, or that have nothing to rank


def read_training_set(
    role: str,
    name: str,
    config: TrainConfig,
    tasks: tuple[str, ...],
    tokens: SafeTokenizer,
    limit: int | None = None,
) -> TrainingSet:
    """Read and encode the samples of the tasks and hops of a run.

    `limit`: most samples of each task, drawn at random; None for all.

    Raises `AdmiralError` if the file cannot be read or holds no usable sample.
    """
    path = Path(name)
    samples = list(read_samples(path))
    selected = [s for s in samples if s.task in tasks and _is_of_hops(s, config.hop_numbers)]
    encoded = [(sample, encode(tokens, sample, config)) for sample in selected]
    usable = [(sample, examples) for sample, examples in encoded if examples]
    if not usable:
        raise AdmiralError(
            f"{path}: holds no sample to {role} on: {len(samples) - len(selected)} of other tasks "
            f"or hops than {', '.join(tasks)} and {config.hops}, {len(selected)} longer than "
            "max_source or max_target, or with nothing to rank. Build others, or change these "
            "settings."
        )
    counts = Counter(sample.task for sample, _ in usable)
    source = SourceFile.of(role, path, dict(sorted(counts.items())))
    left_out = len(selected) - len(usable)
    if limit is not None:
        rng = random.Random(config.seed)
        by_task = [[at for at, (s, _) in enumerate(usable) if s.task == task] for task in counts]
        drawn = [at for own in by_task for at in rng.sample(own, min(limit, len(own)))]
        usable = [usable[at] for at in sorted(drawn)]
    examples = [example for _, own in usable for example in own]
    return TrainingSet([sample for sample, _ in usable], examples, source, left_out)


def _is_of_hops(sample: Sample, hops: frozenset[int] | None) -> bool:
    """Return whether a retrieval sample is of one of the hops; other samples always are."""
    return hops is None or not isinstance(sample, RetrieveSample) or sample.hop in hops


KINDS = ("generation", "reranking")  # of batches and of their losses
IGNORED = -100  # label of padding, as everywhere in torch


@dataclass(frozen=True, slots=True)
class SequenceBatch:
    """Encoder inputs, and a row of the decoder for each of their targets."""

    # shape (inputs, source length)
    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    owners: torch.Tensor  # number of the input of each target, ascending, (targets,)
    # shape (targets, target length). Decoder inputs begin with the start token, labels end with the
    # end token; padding is `IGNORED` in labels.
    decoder_ids: torch.Tensor
    labels: torch.Tensor
    # shape (targets, target length, source length), bool: alignment of copied tokens
    copies: torch.Tensor


@dataclass(frozen=True, slots=True)
class RerankBatch:
    """Encoder passes of the reranker for several claims."""

    # shape (passes, length)
    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    # shape (claims, sentences): span of each sentence in the flattened passes. Each pass counts one
    # position more than its length, so that an end never equals the next begin.
    begins: torch.Tensor
    ends: torch.Tensor
    # shape (claims, sentences), bool: whether there is a sentence, and whether it is gold
    real: torch.Tensor
    gold: torch.Tensor


Batch = SequenceBatch | RerankBatch
Examples = list[GenerationExample] | list[RerankingExample]


def bucket(items: Sequence[Example], budget: int, seed: int) -> list[Examples]:
    """Group examples of similar length into batches that cost at most `budget`.

    `seed` shuffles the examples and the batches; the same seed gives the same batches.
    """
    order = list(range(len(items)))
    rng = random.Random(seed)
    rng.shuffle(order)
    sizes = [_size(item) for item in items]
    # The sort is stable, so equal lengths stay shuffled. Long targets are batched together.
    order.sort(key=lambda i: (sizes[i][2] // 32, sizes[i][1] // 8))
    batches: list[list[Example]] = []
    batch: list[Example] = []
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


def _size(item: Example) -> tuple[int, int, int]:
    """Return rows, source length and target length."""
    if isinstance(item, RerankingExample):
        return len(item.passes), max(len(p.ids) for p in item.passes), 0
    return 1, len(item.source), item.length


def collate(items: Examples, pad: int, start: int) -> Batch:
    """Pad a batch of one kind; `start` is the decoder's start token."""
    groups = [item for item in items if isinstance(item, RerankingExample)]
    pairs = [item for item in items if isinstance(item, GenerationExample)]
    if groups:
        return _collate_groups(groups, pad)
    ids, mask = pad_batch([p.source for p in pairs], pad)
    owners = [at for at, pair in enumerate(pairs) for _ in pair.targets]
    targets = [target for pair in pairs for target in pair.targets]
    labels, _ = pad_batch(targets, IGNORED)
    decoder_ids, _ = pad_batch([(start, *target[:-1]) for target in targets], pad)
    copies = torch.zeros((*labels.shape, ids.shape[1]), dtype=torch.bool)
    for row, aligned in enumerate(aligned for pair in pairs for aligned in pair.copies):
        if aligned:
            copies[row][tuple(torch.tensor(aligned).T)] = True
    return SequenceBatch(ids, mask, torch.tensor(owners), decoder_ids, labels, copies)


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


def one_epoch(
    items: Sequence[Example], pair_budget: int, group_budget: int, seed: int
) -> list[Examples]:
    """Return batches that hold each example once, in random order and each of one kind."""
    pairs = [item for item in items if isinstance(item, GenerationExample)]
    groups = [item for item in items if isinstance(item, RerankingExample)]
    batches = bucket(pairs, pair_budget, seed) + bucket(groups, group_budget, seed)
    random.Random(seed).shuffle(batches)
    return batches
