"""Encoded examples of the verifier, and the endless stream of batches, one epoch after another."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import Tensor

from admiral.errors import AdmiralError
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import pad_inputs, padded_positions
from proofs.verifier.evidence_verifier import EvidenceEncoder
from training.data.examples import (
    NOT_ENTAILMENT,
    RELEVANT,
    UNLABELLED,
    Example,
    check_weights,
    draw_examples,
    read_examples,
    weighted,
)
from training.loop.model_card import SourceFile

_CHUNK = 4096  # examples that are encoded together
_LENGTH_STEP = 16  # lengths that count as equal
_LARGEST_GROUP = 8
#: The labels that are possible, a bit each in the order of `LABELS`.
POSSIBLE = {name: 1 << at for at, name in enumerate(LABELS)}
UNKNOWN = 0b111
POSSIBLE |= {NOT_ENTAILMENT: 0b110, RELEVANT: 0b101, UNLABELLED: UNKNOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """An example as numbers; arrays, since there are hundreds of thousands."""

    ids: array[int]
    markers: array[int]
    label: int  # possible labels of the whole
    sentences: array[int]  # possible labels of each sentence
    weight: float  # how often an epoch contains the example, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedExample(Encoded):
    """An example for the verifier (see `EvidenceInput`)."""

    claim: int
    tokens: array[int]  # possible labels of each token of the claim

    @property
    def segments(self) -> list[int]:
        """The segment of each token."""
        return [0] * self.claim + [1] * (len(self.ids) - self.claim)


@dataclass(frozen=True, slots=True)
class ExampleBatch:
    """Padded examples."""

    # inputs of the model, (examples, length)
    ids: Tensor
    mask: Tensor
    segments: Tensor
    labels: Tensor  # possible labels of the whole, (examples,)
    # positions and possible labels of sentences, (examples, most sentences)
    markers: Tensor
    sentences: Tensor
    # positions and possible labels of the tokens of claims, (examples, most tokens)
    tokens: Tensor
    token_labels: Tensor


Item = TypeVar("Item", bound=Encoded)


@dataclass(frozen=True, slots=True)
class ExampleSet(Generic[Item]):
    """The examples of files."""

    # the examples that fit the model, and their encodings
    examples: list[Example]
    items: list[Item]
    files: list[SourceFile]  # the files, with the number of examples by source


def read_example_set(
    role: str,
    paths: Sequence[Path],
    encoder: EvidenceEncoder,
    limit: int | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
) -> ExampleSet[EncodedExample]:
    """Read the examples of files for the verifier (see `encoded_set`)."""
    return encoded_set(role, paths, partial(_encoded, encoder=encoder), limit, seed, weights)


def encoded_set(
    role: str,
    paths: Sequence[Path],
    encode: Callable[[Sequence[Example]], Iterator[tuple[Example, Item]]],
    limit: int | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
) -> ExampleSet[Item]:
    """Read and encode the examples of files. Those that are too long for the model are left out.

    `encode`: yields each of some examples that fits the model, and its encoding.
    `limit`: most examples of each source, drawn at random with their groups; None for all.
    `weights`: factors of the weights of examples, as `weighted` takes them.

    Raises `AdmiralError` if a file cannot be read, holds a bad record, or no example is left.
    """
    examples: list[Example] = []
    items: list[Item] = []
    files = []
    by_file = {path: list(read_examples([path])) for path in paths}
    check_weights([one for read in by_file.values() for one in read], weights or {})
    for path, every in by_file.items():
        read = weighted(every, weights or {})
        if limit is not None:
            read = draw_examples(read, limit, seed)
        for begin in range(0, len(read), _CHUNK):
            for example, item in encode(read[begin : begin + _CHUNK]):
                examples.append(example)
                items.append(item)
        counts = dict(sorted(Counter(one.source for one in read).items()))
        files.append(SourceFile.of(role, path, counts))
    if not items:
        raise AdmiralError(f"{', '.join(map(str, paths))}: no example fits the model")
    return ExampleSet(examples, items, files)


def _encoded(
    chunk: Sequence[Example], encoder: EvidenceEncoder
) -> Iterator[tuple[Example, EncodedExample]]:
    """Yield each example that fits, and its encoding."""
    inputs = encoder.encode([e.claim for e in chunk], [e.evidence for e in chunk])
    for example, one in zip(chunk, inputs, strict=True):
        if one.cut:
            continue
        unknown = [None] * len(one.markers)
        sentences = [
            UNKNOWN if name is None else POSSIBLE[name] for name in example.sentences or unknown
        ]
        spans = example.spans
        if not spans and example.label == "entailment":
            spans = ((0, len(example.claim), "entailment"),)
        tokens = [_token_label(offsets, spans) for offsets in one.offsets]
        yield (
            example,
            EncodedExample(
                ids=array("H", one.ids),
                markers=array("H", one.markers),
                claim=one.claim,
                label=POSSIBLE[example.label],
                sentences=array("B", sentences),
                tokens=array("B", tokens),
                weight=example.weight,
            ),
        )


def _token_label(offsets: tuple[int, int], spans: Sequence[tuple[int, int, str]]) -> int:
    for begin, end, name in spans:
        if offsets[0] < end and begin < offsets[1]:
            return POSSIBLE[name]
    return UNKNOWN


def batches_of(data: ExampleSet[Item], max_tokens: int, seed: int) -> Iterator[list[Item]]:
    """Yield batches forever, epoch after epoch, in an order that depends on the seed alone."""
    epoch = 0
    while True:
        yield from epoch_batches(data, max_tokens, random.Random(f"{seed} {epoch}"))
        epoch += 1


def epoch_batches(data: ExampleSet[Item], max_tokens: int, rng: random.Random) -> list[list[Item]]:
    """Return the batches of an epoch, which contains each example as often as its weight says.

    Examples of a group stand in one batch, with groups of similar length.

    `max_tokens`: maximum number of padded tokens of a batch, unless a single group is longer.
    """
    groups: dict[object, list[Item]] = {}
    for number, (example, item) in enumerate(zip(data.examples, data.items, strict=True)):
        whole = int(item.weight)
        for copy in range(whole + (rng.random() < item.weight - whole)):
            key = (example.source, example.group, copy) if example.group else (number, copy)
            groups.setdefault(key, []).append(item)
    units: list[list[Item]] = []
    for members in groups.values():
        rng.shuffle(members)
        size = _LARGEST_GROUP
        units += [members[at : at + size] for at in range(0, len(members), size)]
    rng.shuffle(units)
    # The sort is stable, so units of about the same length stay shuffled.
    units.sort(key=lambda unit: max(len(item.ids) for item in unit) // _LENGTH_STEP)
    batches: list[list[Item]] = []
    longest = 0
    for unit in units:
        longest = max(longest, *(len(item.ids) for item in unit))
        if batches and (len(batches[-1]) + len(unit)) * longest <= max_tokens:
            batches[-1] += unit
        else:
            batches.append(list(unit))
            longest = max(len(item.ids) for item in unit)
    rng.shuffle(batches)
    return batches


def collate(items: Sequence[EncodedExample], encoder: EvidenceEncoder) -> ExampleBatch:
    """Pad examples to a batch."""
    ids, segments = [i.ids.tolist() for i in items], [i.segments for i in items]
    inputs = pad_inputs(ids, segments, encoder.special.pad)
    markers, _ = padded_positions([i.markers.tolist() for i in items])
    tokens, _ = padded_positions([list(range(i.claim, i.claim + len(i.tokens))) for i in items])
    return ExampleBatch(
        *inputs,
        torch.tensor([i.label for i in items]),
        markers,
        _padded_labels([i.sentences.tolist() for i in items]),
        tokens,
        _padded_labels([i.tokens.tolist() for i in items]),
    )


def _padded_labels(rows: Sequence[Sequence[int]]) -> Tensor:
    values, missing = padded_positions(rows)
    return values.masked_fill(missing, UNKNOWN)
