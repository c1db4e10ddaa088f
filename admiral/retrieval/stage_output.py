"""Check what the stages return, which may be those of a user."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from admiral.errors import AdmiralError
from admiral.records import Document, DocumentSet, ScoredTitle, Sentence

# Larger scores are refused, so that sums and squares of scores stay finite.
_MAX_SCORE = 1e100

Scored = TypeVar("Scored", Sentence, DocumentSet, ScoredTitle)


def checked_sentences(
    reranked: Iterable[Sequence[Sentence]], documents: Sequence[Sequence[Document]]
) -> list[Sequence[Sentence]]:
    """Return the output of the reranker, which has sentences for each claim that has documents.

    A reranker may leave sentences out. If it left out all of them, the search would end as if
    nothing had been found.

    Parameters
    ----------
    reranked
        What it returned.
    documents
        The documents that it read for each claim.

    Raises
    ------
    AdmiralError
        If there is not one list for each claim, or none of the sentences of a claim.
    """
    results = list(reranked)
    if len(results) != len(documents):
        raise AdmiralError(
            f"stage 'reranker': returned sentences for {len(results)} claims instead of "
            f"{len(documents)}. Return one list for each claim."
        )
    for sentences, read in zip(results, documents, strict=True):
        if not sentences and any(s.strip() for document in read for s in document.sentences):
            raise AdmiralError(
                f"stage 'reranker': returned none of the sentences of {read[0].title!r} and "
                f"{len(read) - 1} other documents. Return them with scores, or with minus infinity "
                "to leave them out."
            )
    return results


def checked_scores(stage: str, scored: Iterable[Scored]) -> list[Scored]:
    """Return the output of a stage with its scores as Python floats.

    Entries with a score of minus infinity are left out. NumPy scalars are converted, because JSON
    cannot hold them.

    Parameters
    ----------
    stage
        The name of the stage, for the error message.
    scored
        The sentences, titles or document sets that it returned.

    Raises
    ------
    AdmiralError
        If a score is not a number, or is infinite or too large.
    """
    kept = []
    for entry in scored:
        score = float(entry.score)
        if abs(score) <= _MAX_SCORE:
            kept.append(entry if type(entry.score) is float else replace(entry, score=score))
        elif score != -math.inf:
            raise AdmiralError(
                f"stage {stage!r}: the score of {_name(entry)} is {score}. Return finite scores, "
                "or minus infinity for entries to leave out."
            )
    return kept


def _name(entry: Sentence | DocumentSet | ScoredTitle) -> str:
    if isinstance(entry, DocumentSet):
        return " + ".join(map(repr, entry.titles))
    if isinstance(entry, Sentence):
        return f"sentence {entry.index} of {entry.title!r}"
    return repr(entry.title)
