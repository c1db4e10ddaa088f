"""Search traces: what a run did for each claim, and where it lost the gold evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.evaluation.predictions import (
    REMEDY,
    Prediction,
    normalise_title,
    parse_result,
    read_results,
)
from proofs import Proof


@dataclass(frozen=True, slots=True)
class HopTrace:
    """One hop of a trace."""

    number: int
    read: tuple[str, ...]  # documents whose sentences the reranker scored
    document_sets: tuple[tuple[str, ...], ...]  # titles of the best document sets, best first
    evidence: tuple[tuple[str, int], ...]
    proof: Proof | None
    sufficient: bool
    probability: float | None = None

    @property
    def titles(self) -> frozenset[str]:
        """Documents of the evidence."""
        return frozenset(title for title, _ in self.evidence)


@dataclass(frozen=True, slots=True)
class Trace:
    """The search for one claim."""

    prediction: Prediction
    hops: tuple[HopTrace, ...]
    # text of the sentences that the record holds, by (title, sentence number)
    sentence_texts: dict[tuple[str, int], str]
    stopped: str
    # path or URL of the documents of the ranking that were read from files, by title
    sources: dict[str, str] = field(default_factory=dict)


def read_traces(path: Path) -> Iterator[Trace]:
    """Yield the traces of a file of results in the order of the file.

    Raises RecordError for an invalid record. Raises AdmiralError if the file cannot be read, is
    empty or is a TREC run.
    """
    for where, record in read_results(path):
        prediction = parse_result(record, where)
        try:
            hops = tuple(_parse_hop(hop) for hop in record["hops"])
            sentence_texts = {
                (normalise_title(sentence["title"]), sentence["sentence_id"]): str(sentence["text"])
                for sentence in record["evidence"]
            }
            stopped = str(record["stopped"])
            sources = {
                normalise_title(document["title"]): str(document["source"])
                for document in record["documents"]
                if "source" in document
            }
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"a hop or a sentence is not as it was written ({error})"
            raise RecordError(where, "hops", problem, REMEDY) from error
        yield Trace(prediction, hops, sentence_texts, stopped, sources)


def _parse_hop(record: dict[str, Any]) -> HopTrace:
    document_sets = tuple(
        tuple(map(normalise_title, entry["titles"])) for entry in record["document_sets"]
    )
    # Records of early versions do not say what a hop read: take all documents of its sets.
    read = record.get("read", [title for titles in document_sets for title in titles])
    steps, probability = record["proof"], record.get("probability")
    return HopTrace(
        int(record["number"]),
        tuple(dict.fromkeys(map(normalise_title, read))),
        document_sets,
        tuple((normalise_title(title), int(number)) for title, number in record["evidence"]),
        None if steps is None else Proof.from_json(steps),
        bool(record["sufficient"]),
        None if probability is None else float(probability),
    )


class Outcome(Enum):
    """Outcome of a claim. A gold document is found if the evidence has a sentence of it."""

    FOUND = "found"
    LATE = "stopped late"
    FIRST = "first stage missed"
    RERANKER = "reranker dropped"
    HOP = "hop missed"
    EARLY = "stopped early"
    NO_ANSWER = "no answer"
    NO_GOLD = "no gold evidence"

    @property
    def meaning(self) -> str:
        """The outcome explained in one sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Outcome.FOUND: "The last evidence has a sentence of every gold document.",
    Outcome.LATE: "The evidence of an earlier hop had one of every gold document; it went on.",
    Outcome.FIRST: "No gold document was among those that the first hop read, or found later.",
    Outcome.RERANKER: "A missing document was read, and the last evidence has no sentence of it.",
    Outcome.HOP: "No hop read a missing document, and no more hops were made.",
    Outcome.EARLY: "It stopped as sufficient before any hop read a missing document.",
    Outcome.NO_ANSWER: "The run does not answer the claim.",
    Outcome.NO_GOLD: "There is nothing to find.",
}


def classify_outcome(
    gold_sets: Sequence[Set[str]], trace: Trace | None, *, min_hops: int = 1, dynamic: bool = True
) -> Outcome:
    """Return the outcome of a claim: found, or the first stage that lost its gold documents.

    `dynamic`: whether the run decides itself when to stop. A run with a fixed number of hops can
    stop neither early nor late.
    """
    if not gold_sets:
        return Outcome.NO_GOLD
    if trace is None or not trace.hops:
        return Outcome.NO_ANSWER
    last = trace.hops[-1]
    complete = [hop.number for hop in trace.hops if any(s <= hop.titles for s in gold_sets)]
    if dynamic and any(min_hops <= number < last.number for number in complete):
        return Outcome.LATE
    if last.number in complete:
        return Outcome.FOUND
    nearest = max(gold_sets, key=lambda titles: len(titles & last.titles) / len(titles))
    missing = nearest - last.titles
    in_evidence = frozenset().union(*(hop.titles for hop in trace.hops))
    if not nearest & (set(trace.hops[0].read) | in_evidence):
        return Outcome.FIRST
    if missing & (frozenset().union(*(hop.read for hop in trace.hops)) | in_evidence):
        return Outcome.RERANKER
    return Outcome.EARLY if dynamic and trace.stopped == "sufficient" else Outcome.HOP
