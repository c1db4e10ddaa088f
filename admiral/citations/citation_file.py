"""Claims in context as JSON Lines: `citations.jsonl`, and records of WAFER and WiCE.

WiCE (Kamoi et al., 2023) has the text of the cited page and no URLs; its sources have names instead
(`admiral.sources.source_files.wice_url`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel

from admiral.citations.citation_records import Citation, CitedClaim, Id, Text, Texts, WrittenText
from admiral.citations.decide import FAILING_TAG
from admiral.errors import AdmiralError, RecordError
from admiral.io.claims import cited_sentence, distinct, is_wafer
from admiral.io.streams import Place, json_objects
from admiral.io.text_cleaning import clean_text
from admiral.records import read_record
from admiral.sources import Source
from admiral.sources.source_files import wice_url

_EXAMPLE = 'Write {"id": "1", "claim": "...", "citations": [{"url": "https://..."}]}'
_FAILED = "failed verification"
_MARK = "[CIT]"
_SEPARATOR = " [SEP] "


def _records(path: Place) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        yield f"{path}:{number}", str(number), record


def read_citations(path: Place) -> Iterator[CitedClaim]:
    """Yield the claims of a file of `citations.jsonl`, WAFER or WiCE, told by their fields."""
    return distinct((where, parse_claim(each, where, id)) for where, id, each in _records(path))


def parse_claim(record: Mapping[str, Any], where: str, default_id: str = "1") -> CitedClaim:
    """Return the claim of a record of one of the three formats; `default_id` if it has no id."""
    if "input" in record and "output" in record:
        return _wafer_claim(read_record(_Wafer, record, where, _EXAMPLE), where, default_id)
    if "evidence" in record and isinstance(record.get("meta"), dict):
        return _wice_claim(read_record(_Wice, record, where, _EXAMPLE), default_id)
    given = {key: value for key, value in record.items() if value is not None}
    urls = {"citations": [{"url": url} for url in given.get("urls", ())]}
    claim = read_record(CitedClaim, {"id": default_id, **urls, **given}, where, _EXAMPLE)
    return claim if claim.span is not None else replace(claim, claim=clean_text(claim.claim))


class _WaferPage(BaseModel):
    url: Text = ""
    title: Text = ""


class _WaferOutput(BaseModel):
    answer: Text = ""
    provenance: tuple[_WaferPage, ...] | None = None


class _WaferMeta(BaseModel):
    wikipedia_title: Text = ""
    wikipedia_section: Text = ""
    sentences: Texts = ()
    featured: bool = False


class _Wafer(BaseModel):
    """A record of WAFER (Petroni et al. 2022).

    `input` is page, section and text with the mark ``[CIT]``, of which the first or the first two
    may be missing. The claim is the last of the sentences in front of the mark.
    """

    input: str
    output: tuple[_WaferOutput, ...]
    id: Id | None = None
    meta: _WaferMeta | None = None


def _wafer_claim(record: _Wafer, where: str, default_id: str) -> CitedClaim:
    meta = record.meta or _WaferMeta()
    parts = [" ".join(part.split()) for part in record.input.split(_SEPARATOR)]
    text = parts[-1]
    before, _, after = text.partition(_MARK)
    before = before.rstrip()
    claim = cited_sentence(text, meta.sentences)
    if not claim:
        raise RecordError(where, "input", "has no text before [CIT]", "Leave out the record")
    head, found, _ = before.rpartition(claim)
    citations: dict[str, Citation] = {}
    tags: tuple[str, ...] = ()
    for output in record.output:
        answer = output.answer.strip()
        if answer.lower() == _FAILED:
            tags = (FAILING_TAG,)
        elif answer:
            citations.setdefault(answer, Citation(answer))
        for page in output.provenance or ():
            if (url := page.url.strip()) and not citations.get(url, Citation("")).title:
                citations[url] = Citation(url, title=page.title)
    return CitedClaim(
        id=record.id or default_id,
        claim=claim,
        page=parts[0] if len(parts) > 1 else meta.wikipedia_title,
        section=_wiki_section(parts[1] if len(parts) > 2 else meta.wikipedia_section),
        before=head.rstrip() if found else before,
        after=after.lstrip(),
        span=(0, len(claim)),
        tags=tags,
        citations=tuple(citations.values()),
    )


class _WiceMeta(BaseModel):
    id: Id | None = None
    claim_title: Text = ""
    claim_section: Text = ""
    claim_context: Text = ""


class _Wice(BaseModel):
    """A record of WiCE (Kamoi et al. 2023), whose sources have names."""

    claim: WrittenText
    meta: _WiceMeta


#: Labels in ascending order of support.
WiceLabel = Literal["not_supported", "partially_supported", "supported"]
WICE_LABELS = get_args(WiceLabel)


class _LabelledWice(_Wice):
    evidence: list[str]
    label: WiceLabel


def _wice_claim(record: _Wice, default_id: str) -> CitedClaim:
    identity, claim = record.meta.id or default_id, record.claim.strip()
    return CitedClaim(
        id=identity,
        claim=claim,
        page=record.meta.claim_title,
        section=_wiki_section(record.meta.claim_section),
        before=record.meta.claim_context.strip(),
        span=(0, len(claim)),
        citations=(Citation(wice_url(identity)),),
    )


def _wiki_section(section: str) -> tuple[str, ...]:
    """Return the headings of ``Section::::Career.:Solo album.``, outermost first."""
    parts = re.split(r"\.?:+", section.removeprefix("Section::::"))
    return tuple(name for part in parts if (name := part.strip().removesuffix(".").strip()))


_META = re.compile(r"\(meta data\) ([A-Z ]+): ?")


@dataclass(frozen=True, slots=True)
class WiceCitation:
    """A labelled citation of WiCE."""

    claim: CitedClaim  # it cites `source`
    source: Source  # the cited page, with one line for each sentence
    label: str

    @property
    def page(self) -> str:
        """The page of the claim, by which folds are divided."""
        return self.claim.page


def read_wice(path: Path) -> list[WiceCitation]:
    """Read the labelled citations of a file of WiCE's claims."""
    remedy = "Give a file of WiCE's claims or sub-claims, unchanged"
    citations = []
    for where, id, given in _records(path):
        record = read_record(_LabelledWice, given, where, remedy)
        claim = _wice_claim(record, id)
        source = wice_source(claim.citations[0].url, record.evidence)
        citations.append(WiceCitation(claim, source, record.label))
    return citations


def wice_source(url: str, evidence: list[str]) -> Source:
    """Return a page of WiCE: its lines, without metadata and marks of headings."""
    title, lines = "", []
    for line in evidence:
        if match := _META.match(line):
            if match[1] == "TITLE":
                title = " ".join(line[match.end() :].split())
        elif text := " ".join(line.lstrip("# ").split()):
            lines.append(text)
    return Source(url, title, "\n".join(lines), language="en")


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
    """Return whether the first record of a file is one of WAFER."""
    first = next(iter(json_objects(path)), None)
    return first is not None and not isinstance(first, RecordError) and is_wafer(first[1])


def read_wafer(path: Path) -> list[WaferCitation]:
    """Read the citations of a file."""
    remedy = "Give a file of WAFER, or of records in its form"
    citations = []
    for where, id, given in _records(path):
        if not is_wafer(given):
            raise RecordError(where, "input", "has no mark [CIT]", remedy)
        record = read_record(_Wafer, given, where, remedy)
        featured = record.meta is not None and record.meta.featured
        citations.append(WaferCitation(_wafer_claim(record, where, id), featured))
    if not citations:
        raise AdmiralError(f"{path}: holds no records. {remedy}")
    return citations
