"""The typed records that the stages exchange, and their JSON, written and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import accumulate, repeat
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, ValidationError

from admiral.errors import AdmiralError, RecordError, problem_of
from proofs import Judgement, Verdict
from proofs.judges.judgement import ScoredVerdict

T = TypeVar("T")
Record = Mapping[str, Any]

Stopped = Literal["sufficient", "max_hops", "dead_end"]

Score = Annotated[float, PlainSerializer(lambda score: round(score, 6), float)]
# Fields that records leave out if they are empty, and fields that are in no record.
_IF_ANY = Field(exclude_if=lambda value: not value)
_IF_KNOWN = Field(exclude_if=lambda value: value is None)
_UNWRITTEN = Field(exclude=True)

# Between the headings in `Document.sections`.
SECTION_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to verify; `id` is unique within a run."""

    id: str
    text: Annotated[str, Field(alias="claim")]


def as_claim(claim: str | Claim, number: int) -> Claim:
    """Return a claim as a record; the id of a plain text is its number."""
    if isinstance(claim, str):
        return Claim(str(number), claim)
    if isinstance(claim, Claim):
        return claim
    raise AdmiralError(f"claim {number}: is of type {type(claim).__name__}; give a text or a Claim")


def check_claims(claims: T) -> T:
    """Return a collection of claims unchanged."""
    if isinstance(claims, str):
        raise AdmiralError("claims: is a single text; give a list of claims, or use retrieve")
    return claims


@dataclass(frozen=True, slots=True)
class Page:
    """The fields of a document that make it a source to cite."""

    url: str = ""
    """As given; empty for a file that has none."""
    name: str = ""
    """The title of the page; unlike that of its document, it need not be unique."""
    site: str = ""
    date: str = ""
    language: str = ""
    archive_url: str = ""
    """Like site, date (ISO 8601) and language, empty if unknown."""
    gaps: tuple[str, ...] = ()
    """The white space after each sentence."""
    passages: tuple[tuple[int, int], ...] = ()
    """The (start, end) offsets in the text of what BM25 and encoders read as one; they may
    overlap."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the knowledge base."""

    title: str
    """Unique within a knowledge base."""
    sentences: tuple[str, ...]
    """In the order of the source; may be empty."""
    links: Annotated[tuple[tuple[str, ...], ...], _IF_ANY] = ()
    """For each sentence, the titles that it links to; empty if the corpus has no hyperlinks."""
    source: Annotated[str, _IF_ANY] = ""
    """The path or URL of the file that the document was read from; empty for a record of a
    corpus."""
    sections: Annotated[tuple[str, ...], _IF_ANY] = ()
    """For each sentence, the headings above it, such as ``Options > Output``; empty if there are
    none."""
    offsets: Annotated[tuple[int, ...], _UNWRITTEN] = ()
    """For each sentence, the position of its first character in the text that was extracted from
    the file; empty for a record of a corpus."""
    id: Annotated[str, _IF_ANY] = ""
    """The id of the document in its corpus; empty unless the format has ids (BEIR, KILT)."""
    file: Annotated[str, _UNWRITTEN] = field(default="", compare=False)
    line: Annotated[int, _UNWRITTEN] = field(default=0, compare=False)
    """`file` and `line`: of a record of a corpus, the path or URL of its file, and its line there,
    from 1 (in an array or a database, its number); empty and 0 for other documents. Equal documents
    may differ in them."""
    page: Annotated[Page | None, _UNWRITTEN] = None
    """Of a source that can be cited."""

    @property
    def text(self) -> str:
        """The sentences as one text, with the white space of the page if it is one."""
        if self.page is None:
            return " ".join(self.sentences)
        return "".join(map("".join, zip(self.sentences, self.page.gaps, strict=True)))

    @property
    def sentence_starts(self) -> list[int]:
        """The offset in the text of the first character of each sentence."""
        gaps = repeat(" ") if self.page is None else self.page.gaps
        lengths = (len(s) + len(gap) for s, gap in zip(self.sentences, gaps, strict=False))
        return list(accumulate(lengths, initial=0))[:-1]

    def part_span(self, number: int) -> tuple[int, int]:
        """Return the (start, end) offsets in the text of one of the `parts`."""
        if self.page is not None:
            return self.page.passages[number]
        start = self.sentence_starts[number]
        return start, start + len(self.sentences[number])

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that an encoder reads: the sentences, or the passages of a page."""
        if self.page is None:
            return self.sentences
        text = self.text
        return tuple(text[start:end] for start, end in self.page.passages)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document with its score."""

    title: str
    index: Annotated[int, Field(alias="sentence_id", ge=0)]
    """The position of the sentence in the document, from 0."""
    text: str = ""
    score: Score = 0.0
    """Higher is more relevant. The reranker's score; that of evidence also includes the relevance
    of its document."""
    source: Annotated[str, _IF_ANY] = ""
    section: Annotated[str | None, _IF_KNOWN] = None
    offset: Annotated[int | None, _IF_KNOWN] = None
    """Like source and section as in `Document`; set in results of documents read from files."""

    @property
    def key(self) -> tuple[str, int]:
        """The pair (title, sentence index) that identifies the sentence in its knowledge base."""
        return self.title, self.index


@dataclass(frozen=True, slots=True)
class ScoredTitle:
    """A document, named by its title, with the score of a stage (higher is better)."""

    title: str
    score: float


@dataclass(frozen=True, slots=True)
class Proximity:
    """The proximity of a document to a claim and its evidence in the graph of mentions."""

    arrivals: float
    """Natural log of the share of a random walk from the claim and the evidence that other
    documents lead here."""
    mentions: float
    """Share of the documents of the evidence that this one mentions."""


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """A set of documents that are scored jointly."""

    titles: tuple[str, ...]
    """In the order of retrieval: first the documents of the chosen sentences, then the new one."""
    score: Score
    """From hop 2 on, a natural log probability (paper, equations 1 and 2); at hop 1, the score of
    the first stage."""


def _named(sentence: Any) -> Any:
    """Return the record of a sentence that a hop names by its title and number."""
    if isinstance(sentence, list | tuple) and len(sentence) == 2:
        return {"title": sentence[0], "sentence_id": sentence[1]}
    return sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop(Judgement):
    """A completed hop, and what the judge decided of its evidence.

    The proof has the places of all spans. Records name the evidence by titles and numbers.
    """

    number: int
    """From 1."""
    document_sets: tuple[DocumentSet, ...] = ()
    """Best first."""
    read: tuple[str, ...] = ()
    """The titles of the documents whose sentences were scored, sorted by their best sentence."""
    evidence: Annotated[
        tuple[Annotated[Sentence, BeforeValidator(_named)], ...],
        PlainSerializer(lambda found: [each.key for each in found], list[tuple[str, int]]),
    ] = ()
    """The sentences that the hop kept, best first, then opening sentences of their documents."""
    seconds: Annotated[float, PlainSerializer(lambda seconds: round(seconds, 4), float)] = 0.0
    """Duration; claims in one batch share its time equally."""

    def judged(self, judgement: Judgement, **changes: Any) -> Self:
        """Return the hop with another judgement, and with other changes."""
        decided = {f.name: getattr(judgement, f.name) for f in fields(Judgement) if f.init}
        return replace(self, **decided, **changes)

    def repeats(self, earlier: Hop) -> bool:
        """Return whether this hop has changed neither the evidence of another nor its verdict."""
        same = {s.key for s in self.evidence} == {s.key for s in earlier.evidence}
        return same and self.verdict is earlier.verdict


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document of the final ranking."""

    title: str
    score: Score = 0.0
    """Higher is better."""
    hop: int = 0
    """The hop that contributed most to its score; 0 for the first stage."""
    source: Annotated[str, _IF_ANY] = ""
    """The path or URL of the file that the document was read from, if any."""
    id: Annotated[str, _IF_ANY] = ""
    """The id of the document in its corpus, if any."""


@dataclass(frozen=True, slots=True)
class RetrievalResult(Claim):
    """The result for a claim."""

    documents: tuple[RankedDocument, ...]
    """Best first, without repetition."""
    evidence: tuple[Sentence, ...]
    """The sentences of the last hop, best first."""
    hops: tuple[Hop, ...]
    """All hops in order."""
    stopped: Stopped
    """``sufficient`` (the judge found the evidence sufficient), ``max_hops``, or ``dead_end`` (no
    further document set or evidence)."""
    scored_verdict: Annotated[ScoredVerdict | None, Field(alias="verdict")] = None
    """The verdict on the last hop's evidence, with its probabilities; None without a proof."""
    warnings: Annotated[tuple[str, ...], _IF_ANY] = ()
    """For example, that the claim is longer than a stage can read."""

    def __post_init__(self) -> None:
        if self.scored_verdict is None and self.hops:
            object.__setattr__(self, "scored_verdict", self.hops[-1].scored_verdict)

    @property
    def claim(self) -> Claim:
        """The claim."""
        return Claim(self.id, self.text)

    @property
    def judgement(self) -> Judgement | None:
        """The judgement of the last hop's evidence; None without hops."""
        return self.hops[-1] if self.hops else None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the last hop's evidence, which is not the truth; None without a proof.

        See `proofs.Judgement.verdict`.
        """
        return None if self.scored_verdict is None else self.scored_verdict.label

    def to_json(self) -> dict[str, Any]:
        """Return the record that the command line writes (one JSON object per claim)."""
        return json_of(self)


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def json_of(record: object) -> dict[str, Any]:
    """Return one of these records as a JSON object."""
    written: dict[str, Any] = _adapter(type(record)).dump_python(record, mode="json", by_alias=True)
    return written


def from_json(kind: type[T], record: Record) -> T:
    """Return a record of this kind from its JSON object.

    Raises pydantic.ValidationError, which `admiral.errors.problem_of` puts into words.
    """
    read: T = _adapter(kind).validate_python(record)
    return read


def read_record(kind: type[T], record: Record, where: str, remedy: str) -> T:
    """Return a record as `from_json`; raise RecordError with the place and the first bad field."""
    try:
        return from_json(kind, record)
    except ValidationError as error:
        raise RecordError(where, *problem_of(error), remedy) from error
