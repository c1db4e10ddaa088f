"""What a run did for a claim, hop by hop, as its record tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.evaluation.predictions import Prediction, parse_result, read_results, same_title
from proofs import Proof

_REMEDY = "Give the results that `admiral retrieve` wrote, unchanged"


@dataclass(frozen=True, slots=True)
class HopTrace:
    """One hop: the documents that it read, the best sets, the evidence, the proof, the decision."""

    number: int
    read: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    evidence: tuple[tuple[str, int], ...]
    proof: Proof | None
    sufficient: bool

    @property
    def titles(self) -> frozenset[str]:
        """The documents of the evidence."""
        return frozenset(title for title, _ in self.evidence)


@dataclass(frozen=True, slots=True)
class Trace:
    """The way to an answer.

    Attributes
    ----------
    answer
        What evaluation measures.
    texts
        The sentences that the record holds, by title and number.
    stopped
        Why it ended, such as ``sufficient``.
    """

    answer: Prediction
    hops: tuple[HopTrace, ...]
    texts: dict[tuple[str, int], str]
    stopped: str


def read_traces(path: Path) -> Iterator[Trace]:
    """Yield the traces of a file of results in its order; `RecordError` for a bad record."""
    for where, record in read_results(path):
        answer = parse_result(record, where)
        try:
            hops = tuple(_hop(one) for one in record["hops"])
            texts = {
                (same_title(one["title"]), one["sentence_id"]): str(one["text"])
                for one in record["evidence"]
            }
            stopped = str(record["stopped"])
        except (KeyError, TypeError, ValueError) as error:
            problem = f"a hop or a sentence is not as it was written ({error})"
            raise RecordError(where, "hops", problem, _REMEDY) from error
        yield Trace(answer, hops, texts, stopped)


def _hop(one: dict[str, Any]) -> HopTrace:
    sets = tuple(tuple(map(same_title, found["titles"])) for found in one["document_sets"])
    # Records of before hops told what they read: what they could have read.
    read = one["read"] if "read" in one else [title for found in sets for title in found]
    steps = one["proof"]
    return HopTrace(
        int(one["number"]),
        tuple(dict.fromkeys(map(same_title, read))),
        sets,
        tuple((same_title(title), int(number)) for title, number in one["evidence"]),
        None if steps is None else Proof.from_json(steps),
        bool(one["sufficient"]),
    )
