"""Training samples for the three tasks, and their JSON Lines form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.files import write_atomically
from proofs import NatOp, Proof, ProofStep


@dataclass(frozen=True, slots=True)
class RetrieveSample:
    """Claim and evidence (title, sentence) in; identifiers of gold sentences and a title out."""

    claim: str
    evidence: tuple[tuple[str, str], ...]
    identifiers: tuple[int, ...]
    title: str


@dataclass(frozen=True, slots=True)
class RerankDocument:
    """A candidate document and the positions of its gold sentences."""

    title: str
    sentences: tuple[str, ...]
    relevant: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RerankSample:
    """Candidate documents of one claim, scored against each other."""

    claim: str
    evidence: tuple[tuple[str, str], ...]
    documents: tuple[RerankDocument, ...]


@dataclass(frozen=True, slots=True)
class ProveSample:
    """Claim and evidence in, a natural-logic proof out."""

    claim: str
    evidence: tuple[tuple[str, str], ...]
    proof: Proof


Sample = RetrieveSample | RerankSample | ProveSample
_TASKS = {"retrieve": RetrieveSample, "rerank": RerankSample, "prove": ProveSample}


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write samples as JSON Lines and return how many; the file appears when it is complete."""
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
            except (KeyError, TypeError, ValueError) as error:
                raise RecordError(
                    f"{path}:{number}", "", f"not a training sample ({error})", "Build it again."
                ) from error


def _to_json(sample: Sample) -> dict[str, object]:
    task = next(name for name, kind in _TASKS.items() if isinstance(sample, kind))
    if isinstance(sample, ProveSample):
        return {
            "task": task,
            "claim": sample.claim,
            "evidence": sample.evidence,
            "proof": sample.proof.to_json(),
        }
    return {"task": task, **asdict(sample)}


def _from_json(record: dict[str, object]) -> Sample:
    claim = str(record["claim"])
    evidence = tuple((str(t), str(s)) for t, s in _rows(record["evidence"]))
    match record["task"]:
        case "retrieve":
            identifiers = tuple(int(i) for i in _rows(record["identifiers"]))
            return RetrieveSample(claim, evidence, identifiers, str(record["title"]))
        case "rerank":
            documents = tuple(
                RerankDocument(d["title"], tuple(d["sentences"]), tuple(d["relevant"]))
                for d in _rows(record["documents"])
            )
            return RerankSample(claim, evidence, documents)
        case "prove":
            steps = tuple(
                ProofStep(s["claim"], s["evidence"], NatOp(s["operator"]))
                for s in _rows(record["proof"])
            )
            return ProveSample(claim, evidence, Proof(steps))
        case other:
            raise ValueError(f"unknown task {other!r}")


def _rows(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a list was expected")
    return value
