"""Training pairs of the verifier: claim and evidence with a label, and their JSON Lines form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import json_objects
from admiral.storage.atomic_files import encode_record, write_atomically
from proofs.verifier.label_names import LABELS

#: The label of evidence that does not entail the claim, where it is not known whether it
#: contradicts it.
NOT_ENTAILMENT = "not_entailment"
PAIR_LABELS = (*LABELS, NOT_ENTAILMENT)
_REMEDY = "Correct the record, or build the pairs again with training.build_pairs"


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim and evidence.

    Attributes
    ----------
    claim, evidence
        The texts.
    label
        One of `PAIR_LABELS`: what the evidence does to the claim.
    source
        Name of the data set.
    weight
        How often an epoch contains the pair, on average.
    relevance
        Whether the evidence bears on the claim; None if unknown.
    """

    claim: str
    evidence: str
    label: str
    source: str
    weight: float = 1.0
    relevance: bool | None = None


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs to a file of JSON Lines, which replaces an existing one when it is complete."""
    write_atomically(path, (encode_record(asdict(pair)) for pair in pairs))


def read_pairs(path: Path) -> Iterator[Pair]:
    """Yield the pairs of a file.

    Raises
    ------
    RecordError
        For a bad record, with file, line and field.
    AdmiralError
        If the file cannot be read.
    """
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        yield parse_pair(record, f"{path}:{number}")


def parse_pair(record: Mapping[str, Any], where: str) -> Pair:
    """Return the pair of a record.

    Raises
    ------
    RecordError
        If a field is missing or bad.
    """
    for name in ("claim", "evidence", "label", "source"):
        if not isinstance(record.get(name), str):
            problem = "is missing" if name not in record else f"{record[name]!r} is not a text"
            raise RecordError(where, name, problem, _REMEDY)
    if record["label"] not in PAIR_LABELS:
        problem = f"{record['label']!r} is none of {', '.join(PAIR_LABELS)}"
        raise RecordError(where, "label", problem, _REMEDY)
    weight, relevance = record.get("weight", 1.0), record.get("relevance")
    is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not is_number or not (math.isfinite(weight) and weight >= 0):
        raise RecordError(where, "weight", f"{weight!r} is not a number of at least 0", _REMEDY)
    if relevance is not None and not isinstance(relevance, bool):
        raise RecordError(where, "relevance", f"{relevance!r} is not true, false or null", _REMEDY)
    texts = (record["claim"], record["evidence"], record["label"], record["source"])
    return Pair(*texts, float(weight), relevance)


def weighted(
    pairs: Sequence[Pair], weights: Mapping[str, float], temperature: float
) -> Iterator[Pair]:
    """Yield the pairs with weights by source; pairs of weight 0 are left out.

    Parameters
    ----------
    pairs
        The pairs. Their own weights are kept as factors.
    weights
        Weights of sources. They take precedence over the temperature.
    temperature
        The number of pairs that an epoch takes from a source of n pairs is proportional to
        n ** `temperature`: 1 takes each pair once, 0 takes as many from each source. The sources
        together keep their size.

    Raises
    ------
    AdmiralError
        If a weight is given for a source of which there are no pairs.
    """
    counts = Counter(pair.source for pair in pairs)
    for source in weights:
        if source not in counts:
            raise AdmiralError(
                f"--weight {source}: there are no pairs of this source; there are "
                f"{', '.join(sorted(counts)) or 'none'}"
            )
    tempered = {name: count for name, count in counts.items() if name not in weights}
    total = sum(tempered.values())
    shares = {name: count**temperature for name, count in tempered.items()}
    scale = total / (sum(shares.values()) or 1)
    factors = {name: scale * shares[name] / count for name, count in tempered.items()}
    factors |= weights
    for pair in pairs:
        weight = pair.weight * factors[pair.source]
        if weight > 0:
            yield replace(pair, weight=round(weight, 6))
