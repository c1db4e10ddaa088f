"""Division of a claim into parts that can be checked one by one, without a language model.

A claim is cut before clauses: after commas and semicolons, at relative clauses, coordinated verbs
and participles. The rules are those that `admiral.synthesis.clauses` shortens sentences by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from admiral.synthesis.clauses import LONGEST_SENTENCE, clause_ends
from proofs.drafting.chunking import chunk
from proofs.logic.words import split_words

#: Most parts of a claim.
MAX_PARTS = 8
# A part needs this many content words to be checked by itself.
_MIN_WORDS = 3
# Cuts before prepositions separate a verb from its complement, so they are not used.
_CLAUSE = re.compile(
    r",|;| (?:and|but) | (?:who|which|that|whose|where|when|while)\b| [a-z]+(?:ing|ed)\b"
)
_EDGE = " ,;"


@dataclass(frozen=True, slots=True)
class SubClaim:
    """A part of a claim.

    Attributes
    ----------
    start, end
        Offsets in the claim.
    text
        ``claim[start:end]``.
    share
        Its share of the content words of all parts.
    """

    start: int
    end: int
    text: str
    share: float


def subclaims(claim: str, *, max_parts: int = MAX_PARTS) -> tuple[SubClaim, ...]:
    """Return the parts of a claim in order; the whole claim if it cannot be divided.

    The parts do not overlap, and all content words are in one of them. A text without content words
    is one part; an empty text has none.
    """
    spans = [span for span in _spans(claim, max_parts) if claim[span[0] : span[1]].strip()]
    if not spans:
        return ()
    counts = [content_words(claim[start:end]) for start, end in spans]
    total = sum(counts)
    return tuple(
        SubClaim(start, end, claim[start:end], count / total if total else 1 / len(spans))
        for (start, end), count in zip(spans, counts, strict=True)
    )


def content_words(text: str) -> int:
    """Return the number of content words of a text."""
    return sum(word.is_content for word in split_words(text))


def _spans(claim: str, max_parts: int) -> list[tuple[int, int]]:
    if len(claim) > LONGEST_SENTENCE:  # the clause rules take quadratic time
        return chunk(claim, max_words=len(claim), max_chunks=max_parts)
    cuts = [at for at in clause_ends(claim) if at < len(claim) and _CLAUSE.match(claim, at)]
    edges = [0, *cuts, len(claim)]
    spans = _join_small(claim, list(pairwise(edges)))
    while len(spans) > max_parts:
        sizes = [content_words(claim[a:b]) for a, b in spans]
        at = min(range(len(spans) - 1), key=lambda i: sizes[i] + sizes[i + 1])
        spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
    return [_trimmed(claim, *span) for span in spans]


def _join_small(claim: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join parts with too few content words to the part before them, the first to the next."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        is_small = content_words(claim[start:end]) < _MIN_WORDS
        if joined and (is_small or content_words(claim[slice(*joined[-1])]) < _MIN_WORDS):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _trimmed(claim: str, start: int, end: int) -> tuple[int, int]:
    text = claim[start:end]
    start += len(text) - len(text.lstrip(_EDGE))
    return start, max(start, end - (len(text) - len(text.rstrip(_EDGE))))
