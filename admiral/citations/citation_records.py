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
#: What a source says about a claim (see `decide`).
Finding = Literal["supported", "partly", "contradicted", "not_found"]
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
    # parts of the claim that nothing in the source covers; empty where this is not sure
    missing: tuple[str, ...] = ()
    finding: Finding | None = None  # None unless scored
    # probability that the source denies the claim, and the sentence that does, which is empty if
    # the finding is another; None if the verifier does not tell
    denial: float | None = None
    denied_by: str = ""
    wikitext: str = ""  # of a suggestion: the reference to paste; empty if it is not on the web

    @property
    def supports(self) -> bool:
        """Whether it was found to support the claim."""
        return self.finding == "supported"


@dataclass(frozen=True, slots=True)
class RankedSource:
    """A source that the search has found, as it ranks among the others."""

    url: str
    score: float | None  # None unless it was verified


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
    together: ScoredSource | None = None
    # names of other references of the same sentence that support the claim, where its own do not
    supported_beside: tuple[str, ...] = ()
    # found, ranking: with the setting `ranked`, the URLs of the search, best first, and these
    # sources as they rank after verification; those that were not verified come last
    found: tuple[str, ...] = ()
    ranking: tuple[RankedSource, ...] = ()

    @property
    def best(self) -> ScoredSource | None:
        """The source that the decision is based on; None if none was read."""
        return best_source(self.existing, self.together)

    @property
    def existing_score(self) -> float | None:
        """The score that the decision is based on: of the best existing source, or of all."""
        return None if self.best is None else self.best.score

    @property
    def finding(self) -> Finding | None:
        """The finding on all sources (see `joint_finding`)."""
        return joint_finding(self.existing, self.together)

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts of the claim that no source covers, where part of it is supported."""
        best = self.best
        return best.missing if best is not None and best.finding == "partly" else ()

    @property
    def flagged(self) -> bool:
        """Whether an existing source was checked and found wanting."""
        return self.decision in ("flag", "replace")


def best_source(
    existing: Iterable[ScoredSource], together: ScoredSource | None
) -> ScoredSource | None:
    """Return the source with the highest score, or all as one if that is higher; None without one.

    `together`: all sources as one; None unless there are several.
    """
    read = [one for one in (*existing, together) if one is not None and one.score is not None]
    return max(read, key=lambda one: one.score or 0.0, default=None)


def joint_finding(
    existing: Sequence[ScoredSource], together: ScoredSource | None
) -> Finding | None:
    """Return the finding on the sources of a claim; None if none was read.

    A source that contradicts the claim outweighs the others. `together`: see `best_source`.
    """
    if any(one.finding == "contradicted" for one in existing):
        return "contradicted"
    best = best_source(existing, together)
    return None if best is None else best.finding
