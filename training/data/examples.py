"""Training examples of the verifier: a claim with sentences of evidence, and their JSON Lines form.

Every example has a label; its sentences, and spans of the claim, may have labels of their own. Two
labels leave open which of two others holds: `NOT_ENTAILMENT`, for evidence that does not entail the
claim, and `RELEVANT`, for a sentence that entails a part of the claim or contradicts it. The label
`UNLABELLED` says nothing; such an example has labels of its sentences.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from admiral.errors import AdmiralError
from proofs.verifier import LABELS
from training.data.records import read_records

NOT_ENTAILMENT = "not_entailment"
RELEVANT = "relevant"
UNLABELLED = "unlabelled"
EXAMPLE_LABELS = (*LABELS, NOT_ENTAILMENT, RELEVANT)
#: Data sets whose licences forbid commercial use. Weights that are published are not trained on
#: them.
NON_COMMERCIAL = frozenset({"anli", "sick"})
REMEDY = "Correct the record, or build the examples again"


Sentence = tuple[str, str]  # title, which may be empty, and text
Labelled = tuple[Sentence, str | None]  # a sentence and what it does, None if that is unknown
_CONTENT = re.compile(r"\d+|\w{4,}")


def content_words(text: str) -> set[str]:
    """Return the numbers and the longer words of a text, in small letters."""
    return set(_CONTENT.findall(text.casefold()))


def _one_of(names: Sequence[str]) -> Any:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"{name!r} is none of {', '.join(names)}")
        return name

    return AfterValidator(check)


def _each_has_one(labels: tuple[str | None, ...], others: ValidationInfo) -> tuple[str | None, ...]:
    count = len(others.data.get("evidence", labels))
    if labels and len(labels) != count:
        raise ValueError(f"has {len(labels)} labels of {count} sentences")
    return labels


def _begins_before_its_end(span: tuple[int, int, str]) -> tuple[int, int, str]:
    if not 0 <= span[0] < span[1]:
        raise ValueError(f"{list(span)} is not [begin, end, label]")
    return span


Label = Annotated[str, _one_of((*LABELS, NOT_ENTAILMENT, UNLABELLED))]
SentenceLabel = Annotated[str, _one_of(EXAMPLE_LABELS)]
Span = tuple[int, int, Annotated[str, _one_of(LABELS)]]


@dataclass(frozen=True, slots=True)
class Example:
    """A claim with evidence."""

    claim: str
    evidence: tuple[Sentence, ...]
    # what the evidence as a whole does to the claim: one of `LABELS`, or one of the others above
    label: Label
    source: str  # name of the data set
    # what each sentence does, one of `EXAMPLE_LABELS` or None if unknown; empty if nothing is known
    sentences: Annotated[tuple[SentenceLabel | None, ...], AfterValidator(_each_has_one)] = ()
    # begin, end and label of spans of the claim
    spans: tuple[Annotated[Span, AfterValidator(_begins_before_its_end)], ...] = ()
    # examples of a source with the same group belong together and stand in one batch
    group: str = ""
    # how often an epoch contains the example, on average
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0

    def with_evidence(self, items: Sequence[Labelled], label: str | None = None) -> Example:
        """Return an example with labelled sentences as its evidence, and perhaps another label."""
        evidence, sentences = tuple(s for s, _ in items), tuple(name for _, name in items)
        return replace(self, evidence=evidence, sentences=sentences, label=label or self.label)


def read_examples(paths: Sequence[Path]) -> Iterator[Example]:
    """Yield the examples of files, which `write_records` has written.

    Raises AdmiralError if all are empty.
    """
    found = False
    for path in paths:
        for example in read_records(path, Example, REMEDY):
            found = True
            yield example
    if not found:
        raise AdmiralError(f"{', '.join(map(str, paths))}: no examples; build them first")


def weighted(examples: Sequence[Example], weights: Mapping[str, float]) -> list[Example]:
    """Return examples with other weights; those of weight 0 are left out.

    `weights`: factors of the weights of a source, ``SOURCE``, or of a label of a source,
    ``SOURCE/LABEL``.
    """
    chosen = []
    for one in examples:
        factor = weights.get(one.source, 1.0) * weights.get(f"{one.source}/{one.label}", 1.0)
        if weight := round(one.weight * factor, 6):
            chosen.append(replace(one, weight=weight))
    return chosen


def check_weights(examples: Sequence[Example], weights: Mapping[str, float]) -> None:
    """Refuse weights of sources or labels of which there are no examples.

    Raises AdmiralError if there are such weights.
    """
    names = {name for e in examples for name in (e.source, f"{e.source}/{e.label}")}
    if unknown := sorted(weights.keys() - names):
        sources = sorted({example.source for example in examples})
        raise AdmiralError(
            f"weights: there are no examples of {unknown[0]!r}; the sources are "
            f"{', '.join(sources) or 'none'}"
        )


def draw_examples(examples: Sequence[Example], limit: int, seed: int) -> list[Example]:
    """Return about `limit` examples of each source, in whole groups drawn at random."""
    groups: dict[str, dict[str, list[int]]] = {}
    for at, example in enumerate(examples):
        name = example.group or f" {at}"
        groups.setdefault(example.source, {}).setdefault(name, []).append(at)
    rng = random.Random(seed)
    chosen: list[int] = []
    for by_name in groups.values():
        names, taken = list(by_name), 0
        rng.shuffle(names)
        for name in names:
            if taken >= limit:
                break
            chosen += by_name[name]
            taken += len(by_name[name])
    return [examples[at] for at in sorted(chosen)]


def summary_by_source(examples: Iterable[Example]) -> list[tuple[str, str, str]]:
    """Return the name, the examples by label and the examples in an epoch of each source."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    weights: defaultdict[str, float] = defaultdict(float)
    for example in examples:
        counts[example.source][example.label] += 1
        weights[example.source] += example.weight
    return [
        (
            source,
            ", ".join(f"{count:,} {label}" for label, count in sorted(counts[source].items())),
            f"{weights[source]:,.0f}",
        )
        for source in sorted(counts)
    ]
