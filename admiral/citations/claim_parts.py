"""Cut a claim into parts that can be checked by themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from proofs.drafting.spans import chunk
from proofs.logic.words import LONGEST_SENTENCE, clause_ends, split_words

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
    """A part of a claim."""

    start: int
    end: int
    text: str
    share: float  # its share of the content words of all parts


def subclaims(claim: str) -> tuple[SubClaim, ...]:
    """Return the parts of a claim in order; the whole claim if it cannot be divided.

    The parts do not overlap, and all content words are in one of them. A text without content words
    is one part; an empty text has none.
    """
    spans = [span for span in _spans(claim) if claim[span[0] : span[1]].strip()]
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


def _spans(claim: str) -> list[tuple[int, int]]:
    if len(claim) > LONGEST_SENTENCE:  # the clause rules take quadratic time
        return chunk(claim, max_words=len(claim), max_chunks=MAX_PARTS)
    cuts = [at for at in clause_ends(claim) if at < len(claim) and _CLAUSE.match(claim, at)]
    spans: list[tuple[int, int]] = []
    for start, end in pairwise([0, *cuts, len(claim)]):
        # A part with too few words joins the one before it, and the first one the next.
        before = claim[slice(*spans[-1])] if spans else ""
        if spans and min(map(content_words, (before, claim[start:end]))) < _MIN_WORDS:
            start = spans.pop()[0]
        spans.append((start, end))
    while len(spans) > MAX_PARTS:
        sizes = [content_words(claim[start:end]) for start, end in spans]
        at = min(range(len(spans) - 1), key=lambda i: sizes[i] + sizes[i + 1])
        spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
    return [_trimmed(claim, *span) for span in spans]


def _trimmed(claim: str, start: int, end: int) -> tuple[int, int]:
    text = claim[start:end]
    start += len(text) - len(text.lstrip(_EDGE))
    return start, max(start, end - (len(text) - len(text.rstrip(_EDGE))))
