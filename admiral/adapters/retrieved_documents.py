"""What the adapters hand on: each document of a ranking with its text and what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from admiral.pipeline import Admiral
from admiral.records import RetrievalResult


@dataclass(frozen=True, slots=True)
class Found:
    """A document of the answer for a claim.

    Attributes
    ----------
    title
        Identifies the document.
    text
        Its sentences, joined by spaces.
    score
        Of the ranking, higher is better.
    metadata
        JSON values: of the document `title`, `rank` (from 1), `hop` and `evidence`, a list of its
        sentences that count (`sentence_id`, `text`, `score`; best first, mostly empty); of the
        answer `claim`, `stopped`, `sufficient`, `proof` (its steps, or None) and `missing`, the
        last three of the last hop.
    """

    title: str
    text: str
    score: float
    metadata: dict[str, Any]


def found_documents(system: Admiral, result: RetrievalResult, limit: int) -> list[Found]:
    """Return the first `limit` documents of an answer of a system, best first.

    Raises
    ------
    AdmiralError
        If the system was closed.
    """
    record = result.to_json()
    last = record["hops"][-1]
    found = []
    for rank, ranked in enumerate(record["documents"][:limit], 1):
        title = ranked["title"]
        evidence = [
            {key: sentence[key] for key in ("sentence_id", "text", "score")}
            for sentence in record["evidence"]
            if sentence["title"] == title
        ]
        metadata = {
            "title": title,
            "rank": rank,
            "hop": ranked["hop"],
            "evidence": evidence,
            "claim": record["claim"],
            "stopped": record["stopped"],
            **{key: last[key] for key in ("sufficient", "proof", "missing")},
        }
        with system.uses:
            sentences = system.kb.document(title).sentences
        found.append(Found(title, " ".join(filter(None, sentences)), ranked["score"], metadata))
    return found
