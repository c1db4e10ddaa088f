"""Claims in context as JSON Lines: `citations.jsonl`, and records of WAFER and WiCE.

WiCE (Kamoi et al., 2023) has the text of the cited page and no URLs; its sources have names instead
(`admiral.library.readers.wice_url`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from admiral.citations.citation_records import Citation, CitedClaim, Kind
from admiral.citations.decide import FAILING_TAG
from admiral.errors import AdmiralError, RecordError
from admiral.io.claims import cited_sentence, is_wafer
from admiral.io.streams import Place, json_objects
from admiral.io.text_cleaning import clean_text
from admiral.library import Source
from admiral.library.readers import wice_url

_EXAMPLE = 'Write {"id": "1", "claim": "...", "citations": [{"url": "https://..."}]}'
_CITATION_FIELDS = tuple(each.name for each in fields(Citation))
_FAILED = "failed verification"
_MARK = "[CIT]"
_SEPARATOR = " [SEP] "


def claim_record(claim: CitedClaim) -> dict[str, Any]:
    """Return a claim as a JSON object; what a citation does not state is null."""
    record = asdict(claim)
    record["section"], record["tags"] = list(claim.section), list(claim.tags)
    record["span"] = None if claim.span is None else list(claim.span)
    record["citations"] = [
        {key: value if value or key in ("url", "name") else None for key, value in each.items()}
        for each in map(asdict, claim.citations)
    ]
    return record


def read_citations(path: Place) -> Iterator[CitedClaim]:
    """Yield the claims of a file of `citations.jsonl`, WAFER or WiCE, recognised by their fields.

    Raises RecordError for a record without a claim, with a field of another type, or with the id of
    another.
    """
    seen: dict[str, int] = {}
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        claim = parse_claim(record, where, default_id=str(number))
        if claim.id in seen:
            problem = f"{claim.id!r} occurs on line {seen[claim.id]}, too"
            raise RecordError(where, "id", problem, "Give each claim an id of its own")
        seen[claim.id] = number
        yield claim


def parse_claim(record: Mapping[str, Any], where: str, default_id: str = "") -> CitedClaim:
    """Return the claim of a record.

    `record`: JSON object of one of the three formats. `default_id`: id of a record without one.
    """
    if "input" in record and "output" in record:
        return _wafer(record, where, default_id)
    if "evidence" in record and isinstance(record.get("meta"), dict):
        return _wice(record, where, default_id)
    return _own(record, where, default_id)


def _own(record: Mapping[str, Any], where: str, default_id: str) -> CitedClaim:
    claim = _text(record, "claim", where)
    if not claim.strip():
        raise RecordError(where, "claim", "is missing or empty", _EXAMPLE)
    kind = _text(record, "kind", where) or "sentence"
    if kind not in get_args(Kind):
        raise RecordError(
            where, "kind", f"is {kind!r}", f"Write one of {', '.join(get_args(Kind))}"
        )
    citations = record.get("citations") or [{"url": url} for url in _texts(record, "urls", where)]
    if not isinstance(citations, list) or not all(isinstance(each, dict) for each in citations):
        raise RecordError(where, "citations", "is not a list of objects", _EXAMPLE)
    return CitedClaim(
        id=_id(record.get("id"), where, default_id),
        claim=clean_text(claim) if record.get("span") is None else claim,
        page=_text(record, "page", where),
        section=_texts(record, "section", where),
        before=_text(record, "before", where),
        after=_text(record, "after", where),
        span=_span(record.get("span"), claim, where),
        kind=kind,  # type: ignore[arg-type]  # checked above
        tags=_texts(record, "tags", where),
        citations=tuple(
            Citation(**{key: _text(each, key, where) for key in _CITATION_FIELDS})
            for each in citations
        ),
    )


def _wafer(record: Mapping[str, Any], where: str, default_id: str) -> CitedClaim:
    """Return the claim of a record of WAFER (Petroni et al. 2022).

    `input` is page, section and text with the mark ``[CIT]``, of which the first or the first two
    may be missing. The claim is the last of the sentences in front of the mark.
    """
    meta = record.get("meta") if isinstance(record.get("meta"), dict) else {}
    assert isinstance(meta, dict)
    parts = [" ".join(part.split()) for part in _text(record, "input", where).split(_SEPARATOR)]
    text = parts[-1]
    page = parts[0] if len(parts) > 1 else _text(meta, "wikipedia_title", where)
    section = parts[1] if len(parts) > 2 else _text(meta, "wikipedia_section", where)
    before, _, after = text.partition(_MARK)
    before = before.rstrip()
    claim = cited_sentence(text, _texts(meta, "sentences", where))
    if not claim:
        raise RecordError(where, "input", "has no text before [CIT]", "Leave out the record")
    head, found, _ = before.rpartition(claim)
    outputs = record.get("output")
    if not isinstance(outputs, list):
        raise RecordError(where, "output", "is not a list", 'Write [{"answer": "https://..."}]')
    citations, tags = _wafer_output(outputs, where)
    return CitedClaim(
        id=_id(record.get("id"), where, default_id),
        claim=claim,
        page=page,
        section=_wiki_section(section),
        before=head.rstrip() if found else before,
        after=after.lstrip(),
        span=(0, len(claim)),
        tags=tags,
        citations=citations,
    )


def _wafer_output(outputs: list[Any], where: str) -> tuple[tuple[Citation, ...], tuple[str, ...]]:
    citations: dict[str, Citation] = {}
    tags: tuple[str, ...] = ()
    for output in outputs:
        if not isinstance(output, dict):
            raise RecordError(where, "output", "is not a list of objects", "Correct the record")
        answer = _text(output, "answer", where).strip()
        if answer.lower() == _FAILED:
            tags = (_FAILED.replace(" ", "-"),)
        elif answer:
            citations.setdefault(answer, Citation(answer))
        for source in output.get("provenance") or []:
            if isinstance(source, dict) and (url := _text(source, "url", where).strip()):
                title = _text(source, "title", where)
                if not citations.get(url, Citation("")).title:
                    citations[url] = Citation(url, title=title)
    return tuple(citations.values()), tags


def _wice(record: Mapping[str, Any], where: str, default_id: str) -> CitedClaim:
    """Return the claim of a record of WiCE (Kamoi et al. 2023), whose sources have names."""
    meta = record["meta"]
    identity = _id(meta.get("id"), where, default_id)
    claim = _text(record, "claim", where).strip()
    if not claim:
        raise RecordError(where, "claim", "is missing or empty", "Leave out the record")
    return CitedClaim(
        id=identity,
        claim=claim,
        page=_text(meta, "claim_title", where),
        section=_wiki_section(_text(meta, "claim_section", where)),
        before=_text(meta, "claim_context", where).strip(),
        span=(0, len(claim)),
        citations=(Citation(wice_url(identity)),),
    )


def _wiki_section(section: str) -> tuple[str, ...]:
    """Return the headings of ``Section::::Career.:Solo album.``, outermost first."""
    parts = re.split(r"\.?:+", section.removeprefix("Section::::"))
    return tuple(name for part in parts if (name := part.strip().removesuffix(".").strip()))


def _id(value: Any, where: str, default: str) -> str:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int) or str(value) == "":
        raise RecordError(where, "id", "is not a text or a number", _EXAMPLE)
    return str(value)


def _text(record: Mapping[str, Any], key: str, where: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RecordError(where, key, f"is of type {type(value).__name__}, not a text", _EXAMPLE)
    return value


def _texts(record: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = record.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise RecordError(where, key, "is not a list of texts", _EXAMPLE)
    return tuple(value)


def _span(value: Any, claim: str, where: str) -> tuple[int, int] | None:
    if value is None:
        return None
    remedy = "Write two offsets within the claim, such as [0, 118], or leave it out"
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(type(each) is int for each in value)
        or not 0 <= value[0] <= value[1] <= len(claim)
    ):
        raise RecordError(where, "span", f"is {value!r}", remedy)
    return value[0], value[1]


#: Labels in ascending order of support.
WICE_LABELS = ("not_supported", "partially_supported", "supported")
_FIELDS = ("claim", "evidence", "label", "meta", "supporting_sentences")
_META = re.compile(r"\(meta data\) ([A-Z ]+): ?")
_REMEDY = "Give a file of WiCE's claims or sub-claims, unchanged"


@dataclass(frozen=True, slots=True)
class WiceCitation:
    """A labelled citation of WiCE."""

    claim: CitedClaim  # the claim; it cites `source`
    source: Source  # the cited page. Its text has one line for each of `sentences`.
    sentences: tuple[str, ...]  # the sentences of the page, without the lines of metadata
    # alternative sets of positions in `sentences` that support the claim
    gold: tuple[frozenset[int], ...]
    label: str

    @property
    def page(self) -> str:
        """The page of the claim, by which folds are divided."""
        return self.claim.page


def read_wice(path: Path) -> list[WiceCitation]:
    """Read the labelled citations of a file of WiCE's claims.

    Raises RecordError for a record that is not WiCE's, with file, line and field. Raises
    AdmiralError if the file cannot be read.
    """
    citations = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        citations.append(_citation(record, f"{path}:{number}", number))
    return citations


def _citation(record: dict[str, Any], where: str, number: int) -> WiceCitation:
    for field in _FIELDS:
        if field not in record:
            raise RecordError(where, field, "is missing", _REMEDY)
    if record["label"] not in WICE_LABELS:
        raise RecordError(where, "label", f"is not one of {', '.join(WICE_LABELS)}", _REMEDY)
    claim = parse_claim(record, where, default_id=str(number))
    title, sentences, positions = page_of(record["evidence"])
    gold = tuple(
        frozenset(positions[at] for at in own if at in positions)
        for own in record["supporting_sentences"]
    )
    source = Source(claim.citations[0].url, title, "\n".join(sentences), language="en")
    return WiceCitation(claim, source, sentences, tuple(filter(None, gold)), record["label"])


def page_of(evidence: list[str]) -> tuple[str, tuple[str, ...], dict[int, int]]:
    """Return the title and the sentences of a page, and the new position of each of its lines.

    `evidence`: the lines of the page, with metadata and with marks of headings.
    """
    title = ""
    sentences: list[str] = []
    positions: dict[int, int] = {}
    for at, line in enumerate(evidence):
        if match := _META.match(line):
            if match[1] == "TITLE":
                title = " ".join(line[match.end() :].split())
            continue
        text = " ".join(line.lstrip("# ").split())
        if text:
            positions[at] = len(sentences)
            sentences.append(text)
    return title, tuple(sentences), positions


_WAFER_REMEDY = "Give a file of WAFER, or of records in its form"


@dataclass(frozen=True, slots=True)
class WaferCitation:
    """A citation of Wikipedia."""

    claim: CitedClaim  # its citations are the valid sources
    featured: bool  # whether it stands in a featured article

    @property
    def failed(self) -> bool:
        """Whether editors have tagged it: the source does not support the claim."""
        return FAILING_TAG in self.claim.tags


def holds_wafer(path: Path) -> bool:
    """Return whether the first record of a file is one of WAFER.

    Raises AdmiralError if the file cannot be read.
    """
    first = next(iter(json_objects(path)), None)
    return first is not None and not isinstance(first, RecordError) and is_wafer(first[1])


def read_wafer(path: Path) -> list[WaferCitation]:
    """Read the citations of a file.

    Raises RecordError for a record that is not WAFER's, with file, line and field. Raises
    AdmiralError if the file cannot be read, or holds no records.
    """
    citations = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        if not is_wafer(record):
            raise RecordError(where, "input", "has no mark [CIT]", _WAFER_REMEDY)
        meta = record.get("meta")
        featured = meta.get("featured", False) if isinstance(meta, dict) else False
        if not isinstance(featured, bool):
            raise RecordError(where, "meta.featured", "is not true or false", _WAFER_REMEDY)
        citations.append(WaferCitation(parse_claim(record, where, str(number)), featured))
    if not citations:
        raise AdmiralError(f"{path}: holds no records. {_WAFER_REMEDY}")
    return citations
