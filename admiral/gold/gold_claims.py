"""Claims with gold evidence, and parsers for the evidence of one record, one for each gold format.

A parser takes the record and its place (file and line). It returns the evidence sets as they are in
the record and the number of elements left out, and raises a `RecordError` that names the field if
the record has another shape.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any

from admiral.errors import RecordError
from admiral.io.text_cleaning import clean_title, fever_title

# Sentences that together are enough to verify a claim: (title, sentence number from 0), or
# (title, None) where only the document is known.
EvidenceSet = tuple[tuple[str, int | None], ...]


class Label(Enum):
    """Label of a claim, with the spellings of FEVER and HoVer as values."""

    SUPPORTS = "SUPPORTS"
    REFUTES = "REFUTES"
    NOT_ENOUGH_INFO = "NOT ENOUGH INFO"
    NOT_SUPPORTED = "NOT_SUPPORTED"  # HoVer: refuted or not enough information

    @classmethod
    def parse(cls, text: str) -> Label:
        """Return the label that a data set spells as `text`.

        Raises ValueError if `text` is not a label.
        """
        label = _SPELLINGS.get(text.replace("_", " ").strip().lower())
        if label is None:
            raise ValueError(f"{text!r} is not a label")
        return label


_SPELLINGS = {
    "supports": Label.SUPPORTS,
    "supported": Label.SUPPORTS,
    "support": Label.SUPPORTS,  # EX-FEVER
    "refutes": Label.REFUTES,
    "refuted": Label.REFUTES,
    "refute": Label.REFUTES,
    "not enough info": Label.NOT_ENOUGH_INFO,
    "not enough evidence": Label.NOT_ENOUGH_INFO,  # AVeriTeC
    "partially supported": Label.NOT_ENOUGH_INFO,  # WiCE
    "not supported": Label.NOT_SUPPORTED,
    "conflicting evidence/cherrypicking": Label.NOT_SUPPORTED,  # AVeriTeC
}


@dataclass(frozen=True, slots=True)
class GoldClaim:
    """A claim with its gold evidence."""

    id: str  # id, unique within the file; `admiral retrieve` gives the claim the same id
    claim: str  # text of the claim; empty if the file does not give it
    label: Label | None  # none if the file gives no label
    # distinct alternative evidence sets, each enough by itself. Empty if no evidence is enough, or
    # if the evidence is not in sentences.
    evidence: tuple[EvidenceSet, ...]
    annotated_hops: int | None = None  # number of hops that the file gives; None if it gives none
    # number of evidence elements other than sentences (such as table cells), whose sets were left
    # out
    n_ignored_elements: int = 0
    ordered: bool = False  # whether the documents can only be found in the order of the evidence
    # the judged documents of a query with their grades, of which 1 and more are relevant; only in
    # qrels, which have no evidence and name documents as TREC runs do
    grades: tuple[tuple[str, int], ...] = ()

    @property
    def hops(self) -> int:
        """Annotated hops, otherwise the size of the smallest title set; 0 without evidence."""
        if self.annotated_hops is not None:
            return self.annotated_hops
        return min(map(len, self.title_sets), default=0)

    @property
    def title_sets(self) -> tuple[tuple[str, ...], ...]:
        """Distinct documents of each evidence set, in order; several sets may be equal."""
        return tuple(map(evidence_titles, self.evidence))

    @property
    def titles(self) -> tuple[str, ...]:
        """Distinct documents of the first evidence set, in order."""
        return self.title_sets[0] if self.evidence else ()

    @property
    def all_titles(self) -> tuple[str, ...]:
        """Distinct documents of all evidence sets, in order."""
        return evidence_titles(tuple(chain.from_iterable(self.evidence)))

    @property
    def has_alternatives(self) -> bool:
        """Whether there are evidence sets of different documents."""
        return len({frozenset(titles) for titles in self.title_sets}) > 1

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """Sentences of the first evidence set; empty if only documents are known."""
        first = self.evidence[0] if self.evidence else ()
        return tuple((title, number) for title, number in first if number is not None)

    def sentence_numbers(self, title: str) -> tuple[int, ...]:
        """Return the numbers of a document's sentences that are in any evidence set, in order."""
        sentences = chain.from_iterable(self.evidence)
        numbers = (number for other, number in sentences if other == title and number is not None)
        return tuple(dict.fromkeys(numbers))

    @property
    def refuted(self) -> bool | None:
        """Whether the evidence refutes the claim; None if the label does not say."""
        return {Label.SUPPORTS: False, Label.REFUTES: True}.get(self.label) if self.label else None


def evidence_titles(evidence: EvidenceSet) -> tuple[str, ...]:
    """Return the distinct documents of an evidence set, in order."""
    return tuple(dict.fromkeys(title for title, _ in evidence))


Parser = Callable[[dict[str, Any], str], tuple[list[EvidenceSet], int]]

#: What precedes the title of the cited page in its first sentence in WiCE.
WICE_TITLE = "(meta data) TITLE: "

# FEVEROUS element ids, such as `Some title_sentence_3` or `Some title_cell_0_2_1`.
_ELEMENT = re.compile(
    r"(?P<title>.+?)_(?:sentence_(?P<sentence>\d{1,9})"
    r"|(?:header_cell|cell|table_caption|item|list|section|table)(?:_\d+)*|title)",
    re.DOTALL,
)


def parse_pairs(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse `evidence`, one set: [[title, sentence number], ...]."""
    return _one_set(record, "evidence", where)


def parse_hover(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse HoVer's `supporting_facts`, one set: [[title, sentence number], ...]."""
    return _one_set(record, "supporting_facts", where)


def parse_fever(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse FEVER's `evidence`: [[[annotation id, evidence id, page id, sentence number]]].

    Page ids become titles. A page id may be null only in claims labelled NOT ENOUGH INFO.
    """
    may_be_null = str(record.get("label") or "NOT ENOUGH INFO").upper() == "NOT ENOUGH INFO"
    sets: list[EvidenceSet] = []
    for number, members in enumerate(_list(record["evidence"], "evidence", where)):
        field = f"evidence[{number}]"
        found = []
        for member in _list(members, field, where):
            if not isinstance(member, list) or len(member) != 4:
                raise _bad(where, field, f"{_shown(member)} is not [id, id, page, sentence]")
            page, sentence = member[2:]
            if page is not None or not may_be_null:
                title = fever_title(_title(page, field, where))
                found.append((title, _number(sentence, field, where)))
        if not found and not may_be_null:
            raise _bad(where, field, "holds no sentence")
        sets.append(tuple(found))
    return sets, 0


def parse_feverous(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse FEVEROUS's `evidence`: [{"content": [element id, ...]}].

    Sets with elements other than sentences are left out, because their sentences alone are not
    enough.
    """
    sets: list[EvidenceSet] = []
    left_out = 0
    for number, one in enumerate(_list(record["evidence"], "evidence", where)):
        field = f"evidence[{number}].content"
        if not isinstance(one, dict):
            raise _bad(where, f"evidence[{number}]", f"{_shown(one)} is not an object")
        elements = [_element(e, field, where) for e in _list(one.get("content"), field, where)]
        other = sum(sentence is None for _, sentence in elements)
        left_out += other
        if not other:
            sets.append(tuple(elements))
    return sets, left_out


def parse_kilt(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse KILT's `output`: one set of pages for each `provenance`.

    Paragraph numbers refer to KILT's own pages and are dropped.
    """
    sets: list[EvidenceSet] = []
    for number, answer in enumerate(_list(record["output"], "output", where)):
        field = f"output[{number}].provenance"
        if not isinstance(answer, dict):
            raise _bad(where, f"output[{number}]", f"{_shown(answer)} is not an object")
        found = []
        for page in _list(answer.get("provenance") or [], field, where):
            title = page.get("title") if isinstance(page, dict) else page
            found.append((_title(title, field, where), None))
        sets.append(tuple(found))
    return sets, 0


def parse_pages(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse documents: `gold_title_sets`, `gold` as one set, or `gold_pages_union`.

    Each page of `gold_pages_union` is a set of its own. The field holds the pages of all evidence
    sets, most of which are alternatives.
    """
    if "gold_title_sets" in record:
        field = "gold_title_sets"
        sets = [_list(one, field, where) for one in _list(record[field], field, where)]
    elif "gold" in record:
        field = "gold"
        sets = [_list(record[field], field, where)]
    else:
        field = "gold_pages_union"
        sets = [[page] for page in _list(record[field], field, where)]
    return [tuple((_title(title, field, where), None) for title in one) for one in sets], 0


def parse_hipporag(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse questions of HippoRAG: the titles of supporting facts or paragraphs, one set.

    Sentence numbers of `supporting_facts` refer to `context`. They are dropped, because the corpus
    holds the same passages as texts that are not split into sentences.
    """
    if "supporting_facts" in record:
        (facts,), _ = _one_set(record, "supporting_facts", where)
        return [tuple((title, None) for title, _ in facts)], 0
    found = []
    for number, paragraph in enumerate(_list(record["paragraphs"], "paragraphs", where)):
        field = f"paragraphs[{number}]"
        if not isinstance(paragraph, dict):
            raise _bad(where, field, f"{_shown(paragraph)} is not an object")
        supporting = paragraph.get("is_supporting", True)
        if not isinstance(supporting, bool):
            field += ".is_supporting"
            raise _bad(where, field, f"{_shown(supporting)} is neither true nor false")
        if supporting:
            found.append((_title(paragraph.get("title"), f"{field}.title", where), None))
    return [tuple(found)], 0


def parse_averitec(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse AVeriTeC's `questions`, one set: the URLs of the pages that their answers are from.

    Answers without a URL are left out.
    """
    found = []
    for number, question in enumerate(_objects(record["questions"], "questions", where)):
        field = f"questions[{number}].answers"
        for answer in _objects(question.get("answers") or [], field, where):
            if url := answer.get("source_url"):
                found.append((_title(url, f"{field}.source_url", where), None))
    return [tuple(found)], 0


def parse_ex_fever(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse EX-FEVER's `golden entity`, one set: a list of page ids as Python writes it."""
    field = "golden entity"
    try:
        pages = ast.literal_eval(record[field])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pages = None
    if not isinstance(pages, list):
        raise _bad(where, field, f"{_shown(record[field])} is not a list of page ids")
    titles = (fever_title(_title(page, field, where)) for page in pages)
    return [tuple((title, None) for title in titles)], 0


def parse_fool_me_twice(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse FoolMeTwice's `wikipedia_page`, one set of one document.

    Its sentences are given by their text, without numbers, and left out.
    """
    return [((_title(record["wikipedia_page"], "wikipedia_page", where), None),)], 0


def parse_wice(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse WiCE's `supporting_sentences`: [[number of a sentence in `evidence`, ...], ...]."""
    page = _list(record.get("evidence"), "evidence", where)
    first = page[0] if page and isinstance(page[0], str) else ""
    given: Any = first.removeprefix(WICE_TITLE) if first.startswith(WICE_TITLE) else ""
    if not given.strip():
        meta = record.get("meta")
        given = meta.get("claim_title") if isinstance(meta, dict) else ""
    title = _title(given, "meta.claim_title", where)
    field = "supporting_sentences"
    sets: list[EvidenceSet] = []
    for numbers in _list(record[field], field, where):
        checked = [_number(number, field, where) for number in _list(numbers, field, where)]
        if checked and max(checked) >= len(page):
            raise _bad(where, field, f"the page has no sentence {max(checked)}")
        sets.append(tuple((title, number) for number in checked))
    return sets, 0


def parse_wafer(record: dict[str, Any], where: str) -> tuple[list[EvidenceSet], int]:
    """Parse WAFER's `output`: the URLs of its answers and their provenance, each a set.

    Citations that failed verification are no evidence.
    """
    urls: dict[str, None] = {}
    for number, output in enumerate(_objects(record["output"], "output", where)):
        field = f"output[{number}]"
        if (answer := output.get("answer")) and str(answer).lower() != "failed verification":
            urls[_title(answer, f"{field}.answer", where)] = None
        field += ".provenance"
        for page in _objects(output.get("provenance") or [], field, where):
            if url := page.get("url"):
                urls[_title(url, f"{field}.url", where)] = None
    return [((url, None),) for url in urls], 0


def _objects(value: Any, field: str, where: str) -> list[dict[str, Any]]:
    members = _list(value, field, where)
    for member in members:
        if not isinstance(member, dict):
            raise _bad(where, field, f"{_shown(member)} is not an object")
    return members


def _one_set(record: dict[str, Any], field: str, where: str) -> tuple[list[EvidenceSet], int]:
    found = []
    for member in _list(record[field], field, where):
        if not isinstance(member, list) or len(member) != 2:
            raise _bad(where, field, f"{_shown(member)} is not [title, sentence number]")
        found.append((_title(member[0], field, where), _number(member[1], field, where)))
    return [tuple(found)], 0


def _element(value: Any, field: str, where: str) -> tuple[str, int | None]:
    match = _ELEMENT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise _bad(where, field, f"{_shown(value)} is not an element such as 'Title_sentence_0'")
    title = _title(unicodedata.normalize("NFC", match["title"]), field, where)
    return title, None if match["sentence"] is None else int(match["sentence"])


def _list(value: Any, field: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _bad(where, field, f"{_shown(value)} is not a list")
    return value


def _title(value: Any, field: str, where: str) -> str:
    title = clean_title(value) if isinstance(value, str) else ""
    if not title:
        raise _bad(where, field, f"{_shown(value)} is not a title")
    return title


def _number(value: Any, field: str, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _bad(where, field, f"{_shown(value)} is not the number of a sentence, from 0")
    return value


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _bad(where: str, field: str, problem: str) -> RecordError:
    return RecordError(where, field, problem, "Correct the record, or name the file's format")
