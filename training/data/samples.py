"""Training samples for the three tasks, their valid targets, and their JSON Lines form.

A hop is correct if it extends gold documents by another gold document, no matter which. So an
input has a set of targets, and the loss is the negative log of their summed probability.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.retrieval.first_stage import base_title
from admiral.storage.atomic_files import write_atomically
from proofs import NatOp, Proof, ProofStep

MAX_TARGETS = 8  # of one input; a sample is drawn from more


@dataclass(frozen=True, slots=True)
class Target:
    """Identifiers of evidence sentences, ascending, and the title that follows them."""

    identifiers: tuple[int, ...]
    title: str


def gold_continuations(
    evidence: Sequence[str],
    gold: Collection[str],
    hop: int,
    rng: random.Random,
    limit: int | None = MAX_TARGETS,
) -> tuple[Target, ...]:
    """Return the valid targets of a hop.

    A target names sentences of ``min(hop, number of documents)`` different documents, as the hop
    grammar requires, and a title. It is valid if the title is gold and not among these documents,
    and if no other choice of sentences covers more gold documents.

    - `evidence`: the title of each evidence sentence, in the order of the input.
    - `gold`: the titles of the gold documents.
    - `hop`: number of the hop; hop 0 generates a title from the claim alone.
    - `rng`: draws `limit` targets if there are more.
    - `limit`: maximum number of targets; None for all.

    There is none if the best choices of sentences name every gold document already.
    """
    count = min(hop, len(set(evidence)))
    targets: list[Target] = []
    best = 0
    for chosen in combinations(range(len(evidence)), count):
        documents = {evidence[i] for i in chosen}
        if len(documents) < count:
            continue
        covered = sum(title in documents for title in gold)
        if covered < best:
            continue
        titles = [title for title in gold if title not in documents]
        if covered > best:
            best, targets = covered, []
        targets += [Target(chosen, title) for title in titles]
    if limit is not None and len(targets) > limit:
        targets = rng.sample(targets, limit)
    return tuple(sorted(targets, key=lambda target: (target.identifiers, target.title)))


@dataclass(frozen=True, slots=True)
class RetrieveSample:
    """A sample of hop retrieval: claim and evidence in, sentence identifiers and a title out."""

    claim: str
    evidence: tuple[tuple[str, str], ...]
    hop: int  # number of the hop, counted from 0: how many documents the identifiers name
    # titles of the gold documents. The valid targets follow from them and the evidence.
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
            "proof": [
                {"claim": step.claim, "evidence": step.evidence, "operator": step.operator.value}
                for step in sample.proof.steps
            ],
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


def catalogue_heading(title: str) -> str:
    """Return the catalogue heading of a title: ``Seth Meyers`` -> ``Meyers, Seth``.

    The qualifier stays last: ``The Tonight Show (1954)`` -> ``Show, The Tonight (1954)``. A title
    whose base is one word stays as it is: ``Alien (film)``. Different titles have different
    headings if their words are separated by single spaces and only qualifiers have parentheses.
    """
    base = base_title(title)
    words = base.split()
    if len(words) < 2:
        return title
    qualifier = title[len(base) :]
    return f"{words[-1]}, {' '.join(words[:-1])}{qualifier}"


def with_headings(samples: Iterable[Sample], share: float, seed: int) -> Iterator[Sample]:
    """Yield samples, a random share of those of retrieval with headings as titles.

    A model that is trained on them learns to write titles in the form that the evidence shows. The
    titles of the evidence and of the gold documents are replaced; the texts are unchanged.

    `samples`: samples of any task; those of other tasks than retrieval are yielded unchanged.
    `share`: probability that a sample is changed, from 0 to 1. `seed`: the same seed chooses the
    same samples.
    """
    rng = random.Random(seed)
    for sample in samples:
        if isinstance(sample, RetrieveSample) and rng.random() < share:
            yield replace(
                sample,
                evidence=tuple((catalogue_heading(title), text) for title, text in sample.evidence),
                gold=tuple(map(catalogue_heading, sample.gold)),
            )
        else:
            yield sample
