"""Verdicts on citations as JSON records and in files, with the settings that decide them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import admiral
from admiral.citations.citation_records import CitationVerdict, CitedClaim, ScoredSource
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer
from admiral.citations.claim_texts import covered_claim
from admiral.citations.decide import summary
from admiral.config import RetrievalConfig
from admiral.errors import RecordError
from admiral.io.progress import track_claims
from admiral.io.result_writer import ResumableWriter
from admiral.io.streams import json_objects
from admiral.models.checkpoint import choose_precision
from admiral.records import Claim, json_of
from admiral.retrieval.provenance import identity

_DIGITS = 6
# What a record says of all sources as one.
_JOINT = ("finding", "score", "probability", "percentile", "denial", "denied_by", "missing")


def verdict_record(verdict: CitationVerdict) -> dict[str, Any]:
    """Return the record of a verdict; `found` and `ranking` are there if the verdict has them."""
    claim, written = verdict.claim, json_of(verdict)
    joint = written["together"]
    record = {
        "id": claim.id,
        "page": claim.page,
        "claim": claim.claim,
        "covered": covered_claim(claim).claim,
        "decision": verdict.decision,
        "finding": verdict.finding,
        "summary": summary(verdict),
        "missing": list(verdict.missing),
        "tags": list(claim.tags),
        "flagged": verdict.flagged,
        "existing": written["existing"],
        "together": joint and {name: joint[name] for name in _JOINT},
        "suggestions": [
            suggestion_record(rank, one, verdict.existing_score)
            for rank, one in enumerate(verdict.suggestions, 1)
        ],
        **{name: written[name] for name in ("supported_beside", "query", "warnings")},
        "seconds": round(verdict.seconds, 3),
    }
    more = ("found", "ranking") if verdict.found else ()
    return record | {name: written[name] for name in more}


def suggestion_record(rank: int, source: ScoredSource, existing: float | None) -> dict[str, Any]:
    """Return the record of a suggestion.

    `rank`: its rank, from 1. `existing`: the score of the existing sources, which the margin refers
    to; None without one.
    """
    margin = None
    if existing is not None and source.score is not None:
        margin = round(source.score - existing, _DIGITS)
    return {"rank": rank, **json_of(source), "margin": margin, "wikitext": source.wikitext}


_REMEDY = "Give a file that `admiral verify-citation` wrote"


def recorded_citation_settings(config: CitationConfig, kb: str) -> dict[str, Any]:
    """Return everything that decides verdicts, to be stored with them.

    The knowledge base is recorded with the version that it has now: a run that is resumed after
    it has changed is refused.
    """
    runtime = RetrievalConfig(device=config.device, precision=config.precision)
    settings = config.settings() | {"precision": choose_precision(runtime)}
    named = ("classifier", "weights", "blocked_sites", "expander", "encoder")
    files = {key: identity(settings[key]) for key in named if settings[key]}
    return {**settings, **files, "kb": identity(kb), "version": admiral.__version__}


def read_verdicts(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a file of verdicts by id."""
    records = {}
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        for field in ("id", "decision", "existing", "suggestions"):
            if field not in record:
                raise RecordError(f"{path}:{number}", field, "is missing", _REMEDY)
        records[str(record["id"])] = record
    return records


def write_verdicts(
    output: Path,
    kb: str | Path,
    config: CitationConfig,
    claims: Sequence[CitedClaim],
    *,
    overwrite: bool = False,
    quiet: bool = False,
    on_resume: Callable[[int], object] = lambda done: None,
) -> None:
    """Write the verdicts that a file does not hold yet; an interrupted run is resumed.

    `on_resume` receives the number of verdicts that are there already.
    """
    by_id = {one.id: one for one in claims}
    texts = [Claim(one.id, one.claim) for one in by_id.values()]
    settings = recorded_citation_settings(config, str(kb))
    with ResumableWriter(output, settings, overwrite=overwrite) as writer:
        pending = [by_id[one.id] for one in writer.pending(texts)]
        if done := len(writer.finished):
            on_resume(done)
        if pending:
            with Citer.open(kb, config=config) as citer:
                verdicts = citer.verify_many(pending)
                for verdict in track_claims(verdicts, done=done, total=len(by_id), quiet=quiet):
                    writer.write(verdict_record(verdict))
        writer.finish()
