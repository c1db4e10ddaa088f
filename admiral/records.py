"""The typed records that the stages exchange, and their JSON, written and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, repeat
from typing import Any, Literal, TypeVar

from admiral.errors import AdmiralError
from proofs import Judgement, Proof, Verdict
from proofs.judges.judgement import Conflict
from proofs.verifier import Comparison

T = TypeVar("T")
Record = Mapping[str, Any]

Stopped = Literal["sufficient", "max_hops", "dead_end"]

# Between the headings in `Document.sections`.
SECTION_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim to verify; `id` is unique within a run."""

    id: str
    text: str


def as_claim(claim: str | Claim, number: int) -> Claim:
    """Return a claim as a record; the id of a plain text is its number.

    Raises AdmiralError if `claim` is neither a text nor a `Claim`.
    """
    if isinstance(claim, str):
        return Claim(str(number), claim)
    if isinstance(claim, Claim):
        return claim
    raise AdmiralError(f"claim {number}: is of type {type(claim).__name__}; give a text or a Claim")


def check_claims(claims: T) -> T:
    """Return a collection of claims unchanged.

    Raises AdmiralError if `claims` is a single text, which would be taken for a list of its
    letters.
    """
    if isinstance(claims, str):
        raise AdmiralError("claims: is a single text; give a list of claims, or use retrieve")
    return claims


@dataclass(frozen=True, slots=True)
class Page:
    """The fields of a document that make it a source to cite.

    Attributes
    ----------
    url
        As given; empty for a file that has none.
    name
        The title of the page; unlike that of its document, it need not be unique.
    site, date, language, archive_url
        Empty if unknown; `date` is ISO 8601.
    gaps
        The white space after each sentence.
    passages
        The (start, end) offsets in the text of what BM25 and encoders read as one; they may
        overlap.
    """

    url: str = ""
    name: str = ""
    site: str = ""
    date: str = ""
    language: str = ""
    archive_url: str = ""
    gaps: tuple[str, ...] = ()
    passages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the knowledge base.

    Attributes
    ----------
    title
        Unique within a knowledge base.
    sentences
        In the order of the source; may be empty.
    links
        For each sentence, the titles that it links to; empty if the corpus has no hyperlinks.
    source
        The path or URL of the file that the document was read from; empty for a record of a corpus.
    sections
        For each sentence, the headings above it, such as ``Options > Output``; empty if there are
        none.
    offsets
        For each sentence, the position of its first character in the text that was extracted from
        the file; empty for a record of a corpus.
    id
        The id of the document in its corpus; empty unless the format has ids (BEIR, KILT).
    file, line
        Of a record of a corpus, the path or URL of its file, and its line there, from 1 (in an
        array or a database, its number); empty and 0 for other documents, and in knowledge bases
        of earlier releases. Equal documents may differ in them.
    page
        Of a source that can be cited.
    """

    title: str
    sentences: tuple[str, ...]
    links: tuple[tuple[str, ...], ...] = ()
    source: str = ""
    sections: tuple[str, ...] = ()
    offsets: tuple[int, ...] = ()
    id: str = ""
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    page: Page | None = None

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
    """A sentence of a document with its score.

    Attributes
    ----------
    title
        The title of the document.
    index
        The position of the sentence in the document, from 0.
    text
        The sentence.
    score
        Higher is more relevant. The reranker's score; that of evidence also includes the relevance
        of its document.
    source, section, offset
        As in `Document`; set in results whose documents were read from files.
    """

    title: str
    index: int
    text: str
    score: float = 0.0
    source: str = ""
    section: str = ""
    offset: int | None = None

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
    """How close a document is in the graph of mentions to a claim and its evidence.

    Attributes
    ----------
    arrivals
        Natural log of the share of a random walk from the claim and the evidence that other
        documents lead here.
    mentions
        Share of the documents of the evidence that this one mentions.
    """

    arrivals: float
    mentions: float


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """A set of documents that are scored jointly.

    Attributes
    ----------
    titles
        In the order of retrieval: first the documents of the chosen sentences, then the new one.
    score
        From hop 2 on, a natural log probability (paper, equations 1 and 2); at hop 1, the score of
        the first stage.
    """

    titles: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Hop:
    """A completed hop.

    Attributes
    ----------
    number
        From 1.
    document_sets
        Best first.
    evidence
        The sentences that the hop kept, best first.
    judgement
        What the judge decided of the evidence, with the places of all spans of its proof.
    seconds
        Duration; claims in one batch share its time equally.
    read
        The titles of the documents whose sentences were scored, sorted by their best sentence.
    """

    number: int
    document_sets: tuple[DocumentSet, ...]
    evidence: tuple[Sentence, ...]
    judgement: Judgement
    seconds: float
    read: tuple[str, ...] = ()

    @property
    def proof(self) -> Proof | None:
        """The proof of the judge; None if the judge writes none."""
        return self.judgement.proof

    @property
    def sufficient(self) -> bool:
        """Whether the judge found the evidence sufficient."""
        return self.judgement.sufficient

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The parts of the claim that the evidence does not cover yet; None without a proof."""
        return self.judgement.missing

    def repeats(self, earlier: Hop) -> bool:
        """Return whether this hop has changed neither the evidence of another nor its verdict."""
        same = {s.key for s in self.evidence} == {s.key for s in earlier.evidence}
        return same and self.judgement.verdict is earlier.judgement.verdict


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document of the final ranking.

    Attributes
    ----------
    title
        The title of the document.
    score
        Higher is better.
    hop
        The hop that contributed most to its score; 0 for the first stage.
    source
        The path or URL of the file that the document was read from, if any.
    id
        The id of the document in its corpus, if any.
    """

    title: str
    score: float
    hop: int
    source: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The result for one claim.

    Attributes
    ----------
    claim
        The claim.
    documents
        Best first, without repetition.
    evidence
        The sentences of the last hop, best first.
    hops
        All hops in order.
    stopped
        ``sufficient`` (the judge found the evidence sufficient), ``max_hops``, or ``dead_end`` (no
        further document set or evidence).
    warnings
        For example, that the claim is longer than a stage can read.
    """

    claim: Claim
    documents: tuple[RankedDocument, ...]
    evidence: tuple[Sentence, ...]
    hops: tuple[Hop, ...]
    stopped: Stopped
    warnings: tuple[str, ...] = field(default=())

    @property
    def judgement(self) -> Judgement | None:
        """The judgement of the last hop's evidence; None without hops."""
        return self.hops[-1].judgement if self.hops else None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the last hop's evidence, which is not the truth; None without a proof.

        See `proofs.Judgement.verdict`.
        """
        return None if self.judgement is None else self.judgement.verdict

    def to_json(self) -> dict[str, Any]:
        """Return the record that the command line writes (one JSON object per claim)."""
        record: dict[str, Any] = {
            "id": self.claim.id,
            "claim": self.claim.text,
            "documents": [
                {
                    "title": d.title,
                    **({"id": d.id} if d.id else {}),
                    "score": round(d.score, 6),
                    "hop": d.hop,
                    **({"source": d.source} if d.source else {}),
                }
                for d in self.documents
            ],
            "evidence": [sentence_json(s) for s in self.evidence],
            "hops": [hop_json(hop) for hop in self.hops],
            "stopped": self.stopped,
            "verdict": None if self.judgement is None else verdict_json(self.judgement),
        }
        if self.warnings:
            record["warnings"] = list(self.warnings)
        return record


def verdict_json(judgement: Judgement) -> dict[str, Any] | None:
    """Return a verdict as a JSON object, with the probabilities that it follows from, if any."""
    if judgement.verdict is None:
        return None
    record: dict[str, Any] = {"label": judgement.verdict.value}
    if judgement.verdicts is not None:
        record["confidence"] = judgement.confidence
        record["probabilities"] = {v.value: share for v, share in judgement.verdicts.items()}
        record["stop_at"] = judgement.stop_at
    if judgement.outweighed is not None:
        record["outweighed"] = judgement.outweighed.value
    return record


def judgement_json(judgement: Judgement) -> dict[str, Any]:
    """Return the fields of a judgement, the same in every record."""
    proof, share, conflict = judgement.proof, judgement.probability, judgement.conflict
    record: dict[str, Any] = {
        "sufficient": judgement.sufficient,
        "verdict": verdict_json(judgement),
        "missing": None if judgement.missing is None else list(judgement.missing),
        "proof": None if proof is None else proof.to_json(),
    }
    if share is not None:
        record["probability"] = round(share, 6)
    if judgement.comparisons:
        record["comparisons"] = [asdict(one) for one in judgement.comparisons]
    if conflict is not None:
        sides = {"supporting": conflict.supporting, "refuting": conflict.refuting}
        record["conflict"] = {
            side: {"title": title, "sentence_id": number} for side, (title, number) in sides.items()
        }
    return record


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence of the evidence as a JSON object."""
    return {
        "title": sentence.title,
        "sentence_id": sentence.index,
        "text": sentence.text,
        "score": round(sentence.score, 6),
        **_origin_json(sentence),
    }


def _origin_json(sentence: Sentence) -> Mapping[str, Any]:
    if not sentence.source:
        return {}
    return {"source": sentence.source, "section": sentence.section, "offset": sentence.offset}


def hop_json(hop: Hop) -> dict[str, Any]:
    """Return a hop as a JSON object; its evidence is named by (title, sentence index)."""
    return {
        "number": hop.number,
        "document_sets": [
            {"titles": list(s.titles), "score": round(s.score, 6)} for s in hop.document_sets
        ],
        "read": list(hop.read),
        "evidence": [[s.title, s.index] for s in hop.evidence],
        **judgement_json(hop.judgement),
        "seconds": round(hop.seconds, 4),
    }


def hop_from_event(event: Record) -> Hop:
    """Return a hop from the record of its event, which has the sentences of its evidence."""
    return Hop(
        event["number"],
        tuple(DocumentSet(tuple(each["titles"]), each["score"]) for each in event["document_sets"]),
        tuple(map(_sentence, event["evidence"])),
        judgement_from_record(event),
        event["seconds"],
        tuple(event["read"]),
    )


def result_from_record(claim: Claim, hops: Sequence[Hop], record: Record) -> RetrievalResult:
    """Return a result from its record and its hops; `claim` has the id that the caller gave."""
    return RetrievalResult(
        replace(claim, text=record["claim"]),
        tuple(
            RankedDocument(
                each["title"],
                each["score"],
                each["hop"],
                each.get("source", ""),
                each.get("id", ""),
            )
            for each in record["documents"]
        ),
        tuple(map(_sentence, record["evidence"])),
        tuple(hops),
        record["stopped"],
        tuple(record.get("warnings", ())),
    )


def judgement_from_record(record: Record) -> Judgement:
    """Return a judgement from the record of a hop, or of the evidence of a request to prove."""
    verdict, conflict = record["verdict"] or {}, record.get("conflict")
    shares = verdict.get("probabilities")
    return Judgement(
        record["sufficient"],
        None if record["proof"] is None else Proof.from_json(record["proof"]),
        record.get("probability"),
        None if shares is None else {Verdict(label): share for label, share in shares.items()},
        verdict.get("stop_at"),
        tuple(Comparison(**one) for one in record.get("comparisons", ())),
        None
        if conflict is None
        else Conflict(_named(conflict["supporting"]), _named(conflict["refuting"])),
    )


def document_from_record(record: Record) -> Document:
    """Return a document from its record."""
    return Document(
        record["title"],
        tuple(record["sentences"]),
        links=tuple(map(tuple, record.get("links", ()))),
        source=record.get("source", ""),
        sections=tuple(record.get("sections", ())),
        id=record.get("id", ""),
    )


def _sentence(record: Record) -> Sentence:
    return Sentence(
        record["title"],
        record["sentence_id"],
        record["text"],
        record["score"],
        record.get("source", ""),
        record.get("section", ""),
        record.get("offset"),
    )


def _named(record: Record) -> tuple[str, int]:
    return record["title"], record["sentence_id"]
