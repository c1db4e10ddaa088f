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
#: Where a claim stands on its page.
Kind = Literal["sentence", "list"]


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference of a claim to a source.

    Attributes
    ----------
    url
        URL of the source; empty if the reference has none, as a printed book.
    name
        Name or number of the reference on its page.
    title, archive_url, date, template, quote, access_date, work, publisher
        As far as the reference states them; empty otherwise. Archived URLs are unwrapped.
    """

    url: str
    name: str = ""
    title: str = ""
    archive_url: str = ""
    date: str = ""
    template: str = ""
    quote: str = ""
    access_date: str = ""
    work: str = ""
    publisher: str = ""


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A sentence of a page with its context and its references.

    Attributes
    ----------
    claim
        The whole sentence, without reference marks.
    page
        Title of the page; may be empty.
    section
        Headings above the claim, outermost first.
    before, after
        Text of the page before and after the claim.
    span
        Offsets in `claim` of the part up to the reference mark.
    kind
        Whether the claim is a sentence of running text or an item of a list.
    tags
        Maintenance tags after the reference, such as ``failed-verification``.
    citations
        The references that stand together after the claim.
    """

    id: str
    claim: str
    page: str = ""
    section: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    span: tuple[int, int] | None = None
    kind: Kind = "sentence"
    tags: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()


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
    """A source judged for a claim.

    Attributes
    ----------
    url, title
        Of the source, or of the citation if there is none.
    status
        Whether the source was scored, and otherwise why not.
    score, probability, percentile
        Unbounded score, calibrated probability of support, and the share (0 to 100) of reference
        citations with a lower score; None unless scored.
    passage
        The best passage; None unless scored.
    sentences
        The sentences of the passage that say most of the claim, in the order of the text.
    parts
        The parts of the claim with their own best passages.
    missing
        Parts of the claim that nothing in the source covers.
    """

    url: str
    title: str
    status: Status
    score: float | None = None
    probability: float | None = None
    percentile: float | None = None
    passage: Passage | None = None
    sentences: tuple[ScoredSentence, ...] = ()
    parts: tuple[ScoredPart, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JointScore:
    """The sources of a claim, judged as one text.

    Attributes
    ----------
    score, probability, percentile
        As of a `ScoredSource`.
    missing
        Parts of the claim that none of the sources covers.
    """

    score: float
    probability: float | None
    percentile: float | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CitationVerdict:
    """The verdict on a claim's citations.

    Attributes
    ----------
    existing
        The sources that the claim cites, in the order of its references.
    suggestions
        Other sources, best first.
    warnings
        What the reader should know, such as sources that could not be read.
    query
        What the library was searched for; empty if it was not.
    together
        The existing sources as one, if several were scored. They may support together what none
        supports alone.
    """

    claim: CitedClaim
    decision: Decision
    existing: tuple[ScoredSource, ...]
    suggestions: tuple[ScoredSource, ...]
    warnings: tuple[str, ...] = ()
    query: str = ""
    seconds: float = 0.0
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
