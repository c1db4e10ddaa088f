"""The records of citation verification: claims in context, citations and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from admiral.library.source_records import Passage

#: What became of a citation. Everything but `scored` means that the source was not checked, which
#: says nothing about whether it supports the claim.
Status = Literal[
    "scored", "not_in_library", "no_text", "too_short", "not_english", "not_web", "blocked"
]
#: What to do about a claim and its citations (see `decide`).
Decision = Literal["keep", "flag", "replace", "add", "not_checked"]
#: Where a claim stands on its page: in running text or, if it is no sentence of it, in an item of a
#: list, a row of a table, a box of facts, the caption of a picture, a heading, or a note.
Kind = Literal["sentence", "list", "table", "infobox", "caption", "heading", "note"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference of a claim to a source."""

    url: str
    name: str = ""  # name or number of the reference on its page
    # title, archive_url, date, template, quote, access_date, work, publisher, author, isbn: as far
    # as the reference states them; empty otherwise. Archived URLs are unwrapped.
    title: str = ""
    archive_url: str = ""
    date: str = ""
    template: str = ""
    quote: str = ""
    access_date: str = ""
    work: str = ""
    publisher: str = ""
    author: str = ""  # "Last, First", several separated by semicolons
    isbn: str = ""


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A sentence of a page with its context and its references."""

    id: str
    claim: str  # the whole sentence, or the row of a table, without reference marks
    page: str = ""
    section: tuple[str, ...] = ()  # headings above the claim, outermost first
    before: str = ""  # before, after: text of the page before and after the claim
    after: str = ""
    span: tuple[int, int] | None = None  # offsets in `claim` of the part up to the reference mark
    kind: Kind = "sentence"  # where the claim stands
    # maintenance tags after the reference, such as ``failed-verification``
    tags: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()  # the references that stand together after the claim


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """A part of a claim, the best passage for it (None if there is none) and its score."""

    text: str
    score: float
    passage: int | None


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a passage and the share of the claim's words in it."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class ScoredSource:
    """A source judged for a claim."""

    url: str  # url, title: of the source, or of the citation if there is none
    title: str
    status: Status  # whether the source was scored, and otherwise why not
    # score, probability, percentile: unbounded score, calibrated probability of support, and the
    # share (0 to 100) of reference citations with a lower score; None unless scored
    score: float | None = None
    probability: float | None = None
    percentile: float | None = None
    passage: Passage | None = None  # the best passage; None unless scored
    # the sentences of the passage that say most of the claim, in the order of the text
    sentences: tuple[ScoredSentence, ...] = ()
    parts: tuple[ScoredPart, ...] = ()  # the parts of the claim with their own best passages
    missing: tuple[str, ...] = ()  # parts of the claim that nothing in the source covers


@dataclass(frozen=True, slots=True)
class JointScore:
    """The sources of a claim, judged as one text."""

    score: float  # score, probability, percentile: as of a `ScoredSource`
    probability: float | None
    percentile: float | None
    missing: tuple[str, ...] = ()  # parts of the claim that none of the sources covers


@dataclass(frozen=True, slots=True)
class CitationVerdict:
    """The verdict on a claim's citations."""

    claim: CitedClaim
    decision: Decision
    # the sources that the claim cites, in the order of its references
    existing: tuple[ScoredSource, ...]
    suggestions: tuple[ScoredSource, ...]  # other sources, best first
    # what the reader should know, such as sources that could not be read
    warnings: tuple[str, ...] = ()
    query: str = ""  # what the library was searched for; empty if it was not
    seconds: float = 0.0
    # the existing sources as one, if several were scored. They may support together what none
    # supports alone.
    together: JointScore | None = None

    @property
    def existing_score(self) -> float | None:
        """The score that the decision is based on: of the best existing source, or of all."""
        return best_existing_score(self.existing, self.together)

    @property
    def flagged(self) -> bool:
        """Whether an existing source was checked and found wanting."""
        return self.decision in ("flag", "replace")


def best_existing_score(
    existing: Iterable[ScoredSource], together: JointScore | None
) -> float | None:
    """Return the highest score of the existing sources, alone or together; None without one."""
    scores = [one.score for one in existing if one.score is not None]
    if together is not None:
        scores.append(together.score)
    return max(scores, default=None)


def missing_everywhere(sources: Sequence[ScoredSource]) -> tuple[str, ...]:
    """Return the parts of the claim that each of the scored sources lacks."""
    scored = [each for each in sources if each.score is not None]
    if not scored:
        return ()
    first, *others = sorted(scored, key=lambda each: -(each.score or 0.0))
    return tuple(each for each in first.missing if all(each in one.missing for one in others))
