"""Examples of the verifier and of the reader as numbers, in batches, one epoch after another."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from admiral.errors import AdmiralError
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import padded_positions
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
from training.loop.run_files import SourceFile

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

    @classmethod
    def fields_of(cls, example: Example, read: Any) -> dict[str, Any]:
        """Return the fields of an example whose tokens and markers an encoder has `read`."""
        names = example.sentences or [None] * len(read.markers)
        return {
            "ids": array("H", read.ids),
            "markers": array("H", read.markers),
            "label": POSSIBLE[example.label],
            "sentences": array("B", [POSSIBLE[name] if name else UNKNOWN for name in names]),
            "weight": example.weight,
        }


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
    encoder: Any,
    encoded: Callable[[Example, Any], Item],
    limit: int | None = None,
    seed: int = 0,
    weights: Mapping[str, float] | None = None,
) -> ExampleSet[Item]:
    """Read and encode the examples of files. Those that are too long for the model are left out.

    - `encoder`: an `EvidenceEncoder` or a `ReaderEncoder`.
    - `encoded`: returns an example that the encoder has read as numbers.
    - `limit`: most examples of each source, drawn at random with their groups; None for all.
    - `weights`: factors of the weights of examples, as `weighted` takes them.

    Raises `AdmiralError` if a file cannot be read, holds a bad record, or no example is left.
    """
    data: ExampleSet[Item] = ExampleSet([], [], [])
    by_file = {path: list(read_examples([path])) for path in paths}
    check_weights([one for read in by_file.values() for one in read], weights or {})
    for path, every in by_file.items():
        own = weighted(every, weights or {})
        if limit is not None:
            own = draw_examples(own, limit, seed)
        for begin in range(0, len(own), _CHUNK):
            chunk = own[begin : begin + _CHUNK]
            inputs = encoder.encode([e.claim for e in chunk], [e.evidence for e in chunk])
            for example, read in zip(chunk, inputs, strict=True):
                if not read.cut:
                    data.examples.append(example)
                    data.items.append(encoded(example, read))
        counts = dict(sorted(Counter(one.source for one in own).items()))
        data.files.append(SourceFile.of(role, path, counts))
    if not data.items:
        raise AdmiralError(f"{', '.join(map(str, paths))}: no example fits the model")
    return data


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


def padded_labels(rows: Sequence[array[int]]) -> Tensor:
    """Return possible labels as a tensor, (rows, longest row); padding is unknown."""
    values, missing = padded_positions([row.tolist() for row in rows])
    return values.masked_fill(missing, UNKNOWN)


def marginal_losses(logits: Tensor, possible: Tensor) -> Tensor:
    """Return the negative log-probability that one of the possible answers holds.

    `logits`: (..., answers), such as those of `LABELS`, or log-probabilities. `possible`: possible
    answers as bits (see `POSSIBLE`), (...).
    """
    excluded = (
        possible[..., None] >> torch.arange(logits.shape[-1], device=possible.device) & 1 == 0
    )
    return -logits.log_softmax(-1).masked_fill(excluded, -torch.inf).logsumexp(-1)
