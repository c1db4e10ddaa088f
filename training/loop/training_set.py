"""Read the samples of a run, select them by task and hop, and encode them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from admiral.errors import AdmiralError
from training.data.sample_encoding import GenerationExample, RerankingExample, encode_all
from training.data.samples import ProveSample, RerankSample, RetrieveSample, Sample, read_samples
from training.loop.model_card import SourceFile
from training.loop.run_config import TrainConfig
from trie import SafeTokenizer


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The usable samples of a file.

    Attributes
    ----------
    samples, items
        The samples, and their encodings.
    source
        The file and the number of its usable samples.
    left_out
        Number of samples that are too long, or that have nothing to rank.
    """

    samples: list[Sample]
    items: list[GenerationExample | RerankingExample]
    source: SourceFile
    left_out: int


def read_training_set(
    role: str, name: str, config: TrainConfig, tasks: tuple[str, ...], tokens: SafeTokenizer
) -> TrainingSet:
    """Read and encode the samples of the tasks and hops of a run.

    Raises
    ------
    AdmiralError
        If the file cannot be read or holds no usable sample.
    """
    path = Path(name)
    selected: list[Sample] = []
    skipped = 0
    try:
        for sample in read_samples(path):
            if task_of(sample) in tasks and _is_of_hops(sample, config.hop_numbers):
                selected.append(sample)
            else:
                skipped += 1
        source = SourceFile.of(role, path, {})
    except (OSError, UnicodeDecodeError) as error:
        raise AdmiralError(
            f"{path}: the samples cannot be read ({error}). Build them with training.build_data."
        ) from error
    encoded = encode_all(tokens, selected, config.max_source, config.max_target, config.target)
    usable = [(s, item) for s, item in zip(selected, encoded, strict=True) if item is not None]
    left_out = len(selected) - len(usable)
    if not usable:
        raise AdmiralError(
            f"{path}: holds no sample to {role} on: {skipped} of other tasks or hops than "
            f"{', '.join(tasks)} and {config.hops}, {left_out} longer than max_source or "
            "max_target, or with nothing to rank. Build others, or change these settings."
        )
    counts = Counter(task_of(sample) for sample, _ in usable)
    source = replace(source, samples=dict(sorted(counts.items())))
    return TrainingSet([s for s, _ in usable], [item for _, item in usable], source, left_out)


def subsample(training_set: TrainingSet, count: int, seed: int) -> TrainingSet:
    """Return a random sample of at most `count` samples per task."""
    positions: dict[str, list[int]] = {}
    for position, sample in enumerate(training_set.samples):
        positions.setdefault(task_of(sample), []).append(position)
    rng = random.Random(seed)
    chosen = sorted(
        position
        for of_task in positions.values()
        for position in rng.sample(of_task, min(count, len(of_task)))
    )
    return replace(
        training_set,
        samples=[training_set.samples[position] for position in chosen],
        items=[training_set.items[position] for position in chosen],
    )


def task_of(sample: Sample) -> str:
    """Return the name of a sample's task."""
    match sample:
        case RetrieveSample():
            return "retrieve"
        case RerankSample():
            return "rerank"
        case ProveSample():
            return "prove"


def _is_of_hops(sample: Sample, hops: frozenset[int] | None) -> bool:
    """Return whether a retrieval sample is of one of the hops; other samples always are."""
    return hops is None or not isinstance(sample, RetrieveSample) or sample.hop in hops
