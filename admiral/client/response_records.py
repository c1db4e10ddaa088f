"""Typed records from the JSON that a service answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from admiral.errors import AdmiralError
from admiral.records import (
    Claim,
    Document,
    DocumentSet,
    Hop,
    RankedDocument,
    RetrievalResult,
    Sentence,
)
from proofs import Judgement, Proof, Verdict
from proofs.judges.judgement import Conflict
from proofs.verifier.reading import Comparison

Record = Mapping[str, Any]


def hop_from_event(event: Record) -> Hop:
    """Return a hop from the record of its event, which has the sentences of its evidence."""
    return Hop(
        event["number"],
        tuple(DocumentSet(tuple(each["titles"]), each["score"]) for each in event["document_sets"]),
        tuple(map(_sentence, event["evidence"])),
        judgement_from_record(event),
        event["seconds"],
        tuple(event["read"]),
    )


def result_from_record(claim: Claim, hops: Sequence[Hop], record: Record) -> RetrievalResult:
    """Return a result from its record and its hops; `claim` has the id that the caller gave."""
    return RetrievalResult(
        replace(claim, text=record["claim"]),
        tuple(
            RankedDocument(
                each["title"],
                each["score"],
                each["hop"],
                each.get("source", ""),
                each.get("id", ""),
            )
            for each in record["documents"]
        ),
        tuple(map(_sentence, record["evidence"])),
        tuple(hops),
        record["stopped"],
        tuple(record.get("warnings", ())),
    )


def judgement_from_record(record: Record) -> Judgement:
    """Return a judgement from the record of a hop, or of the evidence of a request to prove."""
    verdict, conflict = record["verdict"] or {}, record.get("conflict")
    shares = verdict.get("probabilities")
    return Judgement(
        record["sufficient"],
        None if record["proof"] is None else Proof.from_json(record["proof"]),
        record.get("probability"),
        None if shares is None else {Verdict(label): share for label, share in shares.items()},
        verdict.get("stop_at"),
        tuple(Comparison(**one) for one in record.get("comparisons", ())),
        None
        if conflict is None
        else Conflict(_named(conflict["supporting"]), _named(conflict["refuting"])),
    )


def document_from_record(record: Record) -> Document:
    """Return a document from its record."""
    return Document(
        record["title"],
        tuple(record["sentences"]),
        links=tuple(map(tuple, record.get("links", ()))),
        source=record.get("source", ""),
        sections=tuple(record.get("sections", ())),
        id=record.get("id", ""),
    )


def problem_error(url: str, status: int, problem: Record | None) -> AdmiralError:
    """Return the error for a problem record, or for an answer of that status without one."""
    if problem is None or "detail" not in problem:
        return AdmiralError(f"{url}: answered with status {status}. Check that it is admiral serve")
    field = f"field {problem['field']!r}: " if problem.get("field") else ""
    return AdmiralError(f"{url}: {field}{problem['detail']}. {problem.get('remedy', '')}".strip())


def _sentence(record: Record) -> Sentence:
    return Sentence(
        record["title"],
        record["sentence_id"],
        record["text"],
        record["score"],
        record.get("source", ""),
        record.get("section", ""),
        record.get("offset"),
    )


def _named(record: Record) -> tuple[str, int]:
    return record["title"], record["sentence_id"]
