"""Retrievers for other frameworks; each module needs the extra of its name.

Documents of a ranking come with their text and metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from admiral.client import Client
from admiral.pipeline import Admiral
from admiral.records import RetrievalResult


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """A document of a result."""

    title: str
    text: str
    score: float  # score in the ranking; higher is better
    # JSON values. Of the document: `title`, `rank` (from 1), `hop` and `evidence`, a list of its
    # evidence sentences (`sentence_id`, `text`, `score`), best first. Of the result: `claim`,
    # `stopped`, and of the last hop `sufficient`, `proof` (its steps, or None) and `missing`.
    metadata: dict[str, Any]


def retrieved_documents(
    system: Admiral | Client, result: RetrievalResult, limit: int
) -> list[RetrievedDocument]:
    """Return the first documents of a result, best first.

    `system`: the system or the client that returned the result.
    """
    record = result.to_json()
    last = record["hops"][-1] if record["hops"] else {"sufficient": False}
    documents = []
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
            **{key: last.get(key) for key in ("sufficient", "proof", "missing")},
        }
        sentences = system.document(title).sentences
        documents.append(
            RetrievedDocument(title, " ".join(filter(None, sentences)), ranked["score"], metadata)
        )
    return documents
