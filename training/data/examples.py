"""Training examples of the verifier: a claim with sentences of evidence, and their JSON Lines form.

Every example has a label; its sentences, and spans of the claim, may have labels of their own. Two
labels leave open which of two others holds: `NOT_ENTAILMENT`, for evidence that does not entail the
claim, and `RELEVANT`, for a sentence that entails a part of the claim or contradicts it. The label
`UNLABELLED` says nothing; such an example has labels of its sentences.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import json_objects
from admiral.storage.atomic_files import encode_record, write_atomically
from proofs.verifier import LABELS

NOT_ENTAILMENT = "not_entailment"
RELEVANT = "relevant"
UNLABELLED = "unlabelled"
EXAMPLE_LABELS = (*LABELS, NOT_ENTAILMENT, RELEVANT)
#: Data sets whose licences forbid commercial use. Weights that are published are not trained on
#: them.
NON_COMMERCIAL = frozenset({"anli", "sick"})
_REMEDY = "Correct the record, or build the examples again"


@dataclass(frozen=True, slots=True)
class Example:
    """A claim with evidence.

    Attributes
    ----------
    claim
        The claim.
    evidence
        Its sentences, pairs of title and text; a title may be empty.
    label
        What the evidence as a whole does to the claim, one of `LABELS`, `NOT_ENTAILMENT` or
        `UNLABELLED`.
    source
        Name of the data set.
    sentences
        What each sentence does, one of `EXAMPLE_LABELS` or None if unknown; empty if nothing is
        known.
    spans
        Begin, end and label of spans of the claim, one of `LABELS`.
    group
        Examples of a source with the same group belong together and stand in one batch.
    weight
        How often an epoch contains the example, on average.
    """

    claim: str
    evidence: tuple[tuple[str, str], ...]
    label: str
    source: str
    sentences: tuple[str | None, ...] = ()
    spans: tuple[tuple[int, int, str], ...] = ()
    group: str = ""
    weight: float = 1.0


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """Write examples as JSON Lines to a file, which replaces an existing one when complete."""
    write_atomically(path, (encode_record(asdict(example)) for example in examples))


def read_examples(paths: Sequence[Path]) -> Iterator[Example]:
    """Yield the examples of files.

    Raises RecordError for a bad record, with file, line and field. Raises AdmiralError if a file
    cannot be read, or all are empty.
    """
    found = False
    for path in paths:
        for item in json_objects(path):
            if isinstance(item, RecordError):
                raise item
            number, record = item
            found = True
            yield parse_example(record, f"{path}:{number}")
    if not found:
        raise AdmiralError(f"{', '.join(map(str, paths))}: no examples; build them first")


def parse_example(record: Mapping[str, Any], where: str) -> Example:
    """Return the example of a record.

    Raises RecordError if a field is missing or bad.
    """

    def refuse(name: str, problem: str) -> RecordError:
        return RecordError(where, name, problem, _REMEDY)

    for name in ("claim", "label", "source"):
        if not isinstance(record.get(name), str):
            raise refuse(name, "is missing" if name not in record else "is not a text")
    if record["label"] not in (*LABELS, NOT_ENTAILMENT, UNLABELLED):
        raise refuse("label", f"{record['label']!r} is none of {', '.join(LABELS)}")
    try:
        evidence = tuple((str(title), str(text)) for title, text in record["evidence"])
        sentences = tuple(record.get("sentences") or ())
        spans = tuple((int(b), int(e), str(name)) for b, e, name in record.get("spans") or ())
        weight = float(record.get("weight", 1.0))
    except (KeyError, TypeError, ValueError) as error:
        raise refuse("evidence", f"or another list is malformed ({error})") from None
    if sentences and len(sentences) != len(evidence):
        raise refuse("sentences", f"has {len(sentences)} labels of {len(evidence)} sentences")
    if any(name not in EXAMPLE_LABELS for name in sentences if name is not None):
        raise refuse("sentences", f"holds a label that is none of {', '.join(EXAMPLE_LABELS)}")
    if any(name not in LABELS or not 0 <= b < e for b, e, name in spans):
        raise refuse("spans", "holds a bad span; one is [begin, end, label]")
    if not (math.isfinite(weight) and weight >= 0):
        raise refuse("weight", f"{weight} is not a number of at least 0")
    texts = (record["claim"], evidence, record["label"], record["source"])
    return Example(*texts, sentences, spans, str(record.get("group") or ""), weight)


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
    weights: Counter[str] = Counter()
    for example in examples:
        counts[example.source][example.label] += 1
        weights[example.source] += example.weight  # type: ignore[assignment]
    return [
        (
            source,
            ", ".join(f"{count:,} {label}" for label, count in sorted(counts[source].items())),
            f"{weights[source]:,.0f}",
        )
        for source in sorted(counts)
    ]
