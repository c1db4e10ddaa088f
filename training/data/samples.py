"""Training samples for the three tasks, and their JSON Lines form."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.storage.atomic_files import write_atomically
from proofs import NatOp, Proof, ProofStep
from training.data.gold_continuations import MAX_TARGETS, Target, gold_continuations


@dataclass(frozen=True, slots=True)
class RetrieveSample:
    """A sample of hop retrieval: claim and evidence in, identifiers of sentences and a title out.

    Attributes
    ----------
    hop
        Number of the hop, counted from 0: how many documents the identifiers name.
    gold
        Titles of the gold documents. The valid targets follow from them and the evidence.
    """

    claim: str
    evidence: tuple[tuple[str, str], ...]
    hop: int
    gold: tuple[str, ...]

    def targets(self, limit: int | None = MAX_TARGETS) -> tuple[Target, ...]:
        """Return at most `limit` valid targets (see `gold_continuations`)."""
        titles = [title for title, _ in self.evidence]
        return gold_continuations(titles, self.gold, self.hop, random.Random(self.claim), limit)


@dataclass(frozen=True, slots=True)
class RerankDocument:
    """A candidate document with the positions of its gold sentences."""

    title: str
    sentences: tuple[str, ...]
    relevant: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RerankSample:
    """A sample of reranking: candidate documents of one claim, scored against each other."""

    claim: str
    evidence: tuple[tuple[str, str], ...]
    documents: tuple[RerankDocument, ...]


@dataclass(frozen=True, slots=True)
class ProveSample:
    """A sample of proof generation: claim and evidence in, a natural-logic proof out."""

    claim: str
    evidence: tuple[tuple[str, str], ...]
    proof: Proof


Sample = RetrieveSample | RerankSample | ProveSample
_SAMPLE_TYPES = {"retrieve": RetrieveSample, "rerank": RerankSample, "prove": ProveSample}


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write samples as JSON Lines, atomically, and return their number."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for count, sample in enumerate(samples, start=1):  # noqa: B007
            yield json.dumps(_to_json(sample), ensure_ascii=False).encode() + b"\n"

    write_atomically(path, lines())
    return count


def read_samples(path: Path) -> Iterator[Sample]:
    """Read samples written by `write_samples`."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield _from_json(json.loads(line))
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                raise RecordError(
                    f"{path}:{number}", "", f"not a training sample ({error})", "Build it again."
                ) from error


def _to_json(sample: Sample) -> dict[str, object]:
    task = next(name for name, kind in _SAMPLE_TYPES.items() if isinstance(sample, kind))
    if isinstance(sample, ProveSample):
        return {
            "task": task,
            "claim": sample.claim,
            "evidence": sample.evidence,
            "proof": sample.proof.to_json(),
        }
    return {"task": task, **asdict(sample)}


def _from_json(record: dict[str, Any]) -> Sample:
    claim = _name(record, "claim")
    evidence = tuple(map(_sentence, _list(record, "evidence")))
    match record["task"]:
        case "retrieve":
            gold = tuple(map(_text, _list(record, "gold")))
            if not all(gold) or not gold:
                raise ValueError("field 'gold': is empty, or one of its titles is")
            return RetrieveSample(claim, evidence, _number(record, "hop"), gold)
        case "rerank":
            return RerankSample(claim, evidence, tuple(map(_document, _list(record, "documents"))))
        case "prove":
            steps = tuple(
                ProofStep(_text(s["claim"]), _text(s["evidence"]), NatOp(s["operator"]))
                for s in _list(record, "proof")
            )
            return ProveSample(claim, evidence, Proof(steps))
        case other:
            raise ValueError(f"field 'task': {other!r} is not one of {', '.join(_SAMPLE_TYPES)}")


def _document(record: dict[str, Any]) -> RerankDocument:
    sentences = tuple(map(_text, _list(record, "sentences")))
    return RerankDocument(
        _name(record, "title"), sentences, _positions(record, "relevant", len(sentences))
    )


def _sentence(row: object) -> tuple[str, str]:
    if not isinstance(row, list) or len(row) != 2:
        raise TypeError("field 'evidence': a title and a sentence were expected")
    return _text(row[0]), _text(row[1])


def _positions(record: dict[str, Any], field: str, count: int) -> tuple[int, ...]:
    """Return the positions in a field, each below `count`."""
    for position in (positions := _list(record, field)):
        if type(position) is not int or not 0 <= position < count:
            raise ValueError(f"field {field!r}: {position!r} is not a position among {count}")
    return tuple(positions)


def _list(record: dict[str, Any], field: str) -> list[Any]:
    if not isinstance(record[field], list):
        raise TypeError(f"field {field!r}: a list was expected")
    return list(record[field])


def _number(record: dict[str, Any], field: str) -> int:
    value = record[field]
    if type(value) is not int or value < 0:
        raise ValueError(f"field {field!r}: {value!r} is not a whole number of at least 0")
    return value


def _name(record: dict[str, Any], field: str) -> str:
    if not _text(record[field]).strip():
        raise ValueError(f"field {field!r}: is empty")
    return str(record[field])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {value!r:.40}")
    return value
