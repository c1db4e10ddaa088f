"""The records of citation verification: claims in context, citations, sources and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo

from admiral.sources import Passage
from proofs.judges.judgement import LEAST_SURE, leaning_words

#: What became of a citation. Everything but `scored` means that the source was not checked, which
#: says nothing about whether it supports the claim.
Status = Literal[
    "scored", "not_in_knowledge_base", "no_text", "too_short", "not_english", "not_web", "blocked"
]
#: What to do about a claim and its citations (see `decide`).
Decision = Literal["keep", "flag", "replace", "add", "not_checked"]
#: What a source says about a claim (see `decide`).
Finding = Literal["supported", "partly", "contradicted", "not_found"]
#: Where a claim stands on its page: in running text or, if it is no sentence of it, in an item of a
#: list, a row of a table, a box of facts, the caption of a picture, a heading, or a note.
Kind = Literal["sentence", "list", "table", "infobox", "caption", "heading", "note"]


def _written(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


#: A text, or null for none; a text with at least a word; an id, also as a number; texts, or one.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
WrittenText = Annotated[str, AfterValidator(_written)]
Id = Annotated[
    str,
    BeforeValidator(lambda id: str(id) if type(id) is int else id),
    Field(min_length=1),
]
Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda given: ((given,) if given else ()) if isinstance(given, str) else given),
]
# What a reference does not state is null in its record.
_Stated = Annotated[Text, PlainSerializer(lambda text: text or None, str | None)]


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference of a claim to a source."""

    url: Text = ""
    name: Text = ""  # name or number of the reference on its page
    # title, archive_url, date, template, quote, access_date, work, publisher, author, isbn: as far
    # as the reference states them; empty otherwise. Archived URLs are unwrapped.
    title: _Stated = ""
    archive_url: _Stated = ""
    date: _Stated = ""
    template: _Stated = ""
    quote: _Stated = ""
    access_date: _Stated = ""
    work: _Stated = ""
    publisher: _Stated = ""
    author: _Stated = ""  # "Last, First", several separated by semicolons
    isbn: _Stated = ""


def _within_claim(span: tuple[int, int] | None, others: ValidationInfo) -> tuple[int, int] | None:
    if span is not None and not 0 <= span[0] <= span[1] <= len(others.data.get("claim", "")):
        raise ValueError(f"{list(span)} is not within the claim")
    return span


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """A sentence of a page with its context and its references."""

    id: Id
    claim: WrittenText  # the whole sentence, or the row of a table, without reference marks
    page: str = ""
    section: Texts = ()  # headings above the claim, outermost first
    before: str = ""  # before, after: text of the page before and after the claim
    after: str = ""
    # offsets in `claim` of the part up to the reference mark
    span: Annotated[tuple[int, int] | None, AfterValidator(_within_claim)] = None
    kind: Kind = "sentence"  # where the claim stands
    # maintenance tags after the reference, such as ``failed-verification``
    tags: Texts = ()
    citations: tuple[Citation, ...] = ()  # the references that stand together after the claim


#: A score; records round it to 6 digits.
Score = Annotated[float, PlainSerializer(lambda score: round(score, 6), float)]


@dataclass(frozen=True, slots=True)
class ScoredPart:
    """A part of a claim, the best passage for it (None if there is none) and its score."""

    text: str
    score: Score
    passage: int | None


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a passage and the share of the claim's words in it."""

    text: str
    score: Score


def _passage_record(passage: Passage) -> dict[str, Any]:
    return {name: getattr(passage, name) for name in ("number", "start", "end", "text")}


@dataclass(frozen=True, slots=True)
class ScoredSource:
    """A source judged for a claim."""

    url: str  # url, title: of the source, or of the citation if there is none
    title: str
    status: Status  # whether the source was scored, and otherwise why not
    finding: Finding | None = field(default=None, kw_only=True)  # None unless scored
    # score, probability, percentile: unbounded score, calibrated probability of support, and the
    # share (0 to 100) of reference citations with a lower score; None unless scored
    score: Score | None = None
    probability: Score | None = None
    percentile: Annotated[float, PlainSerializer(lambda rank: round(rank, 1), float)] | None = None
    # probability that the source denies the claim, and the sentence that does, which is empty if
    # the finding is another; None if the verifier does not tell
    denial: Score | None = field(default=None, kw_only=True)
    denied_by: str = field(default="", kw_only=True)
    # the best passage; None unless scored
    passage: Annotated[Passage, PlainSerializer(_passage_record)] | None = None
    # the sentences of the passage that say most of the claim, in the order of the text
    sentences: tuple[ScoredSentence, ...] = ()
    parts: tuple[ScoredPart, ...] = ()  # the parts of the claim with their own best passages
    # parts of the claim that nothing in the source covers; empty where this is not sure
    missing: tuple[str, ...] = ()
    # of a suggestion: the reference to paste; empty if it is not on the web
    wikitext: Annotated[str, Field(exclude=True)] = ""

    @property
    def supports(self) -> bool:
        """Whether it was found to support the claim."""
        return self.finding == "supported"

    @property
    def leaning(self) -> bool:
        """Whether it supports the claim less probably than a verdict without doubt."""
        return self.supports and self.probability is not None and self.probability < LEAST_SURE

    @property
    def words(self) -> str:
        """The finding in words; empty without one."""
        if self.leaning and self.probability is not None:
            return leaning_words("supported", self.probability)
        return (self.finding or "").replace("_", " ")


@dataclass(frozen=True, slots=True)
class RankedSource:
    """A source that the search has found, as it ranks among the others."""

    url: str
    score: Score | None  # None unless it was verified


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
    query: str = ""  # what the sources were searched for; empty if it was not
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
    """Return the source, or all of them as one, with the highest score; None if none was read."""
    read = [one for one in (*existing, together) if one is not None and one.score is not None]
    return max(read, key=lambda one: one.score or 0.0, default=None)


def joint_finding(
    existing: Sequence[ScoredSource], together: ScoredSource | None
) -> Finding | None:
    """Return the finding on the sources of a claim, of which a denial outweighs the others."""
    if any(one.finding == "contradicted" for one in existing):
        return "contradicted"
    best = best_source(existing, together)
    return None if best is None else best.finding
