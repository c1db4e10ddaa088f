"""The gold formats: the fields of evidence, what they hold, and the evidence sets that this means.

Several sets are alternatives. Where sentences are given by other means than their numbers, only
the documents are read.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StrictBool, StrictInt

from admiral.io.text_cleaning import clean_title, fever_title

#: Sentences that together are enough to verify a claim: (title, sentence number from 0), or (title,
#: None) where only the document is known.
EvidenceSet = tuple[tuple[str, int | None], ...]
#: What precedes the title of the cited page in its first sentence in WiCE.
WICE_TITLE = "(meta data) TITLE: "


def _title(text: str) -> str:
    if not (title := clean_title(text)):
        raise ValueError(f"{text!r} is not a title")
    return title


# FEVEROUS element ids, such as `Some title_sentence_3` or `Some title_cell_0_2_1`.
_ELEMENT = re.compile(
    r"(?P<title>.+?)_(?:sentence_(?P<sentence>\d{1,9})"
    r"|(?:header_cell|cell|table_caption|item|list|section|table)(?:_\d+)*|title)",
    re.DOTALL,
)


def _element(text: Any) -> tuple[str, int | None]:
    if not isinstance(text, str) or not (match := _ELEMENT.fullmatch(text)):
        raise ValueError(f"{text!r} is not an element such as 'Title_sentence_0'")
    title = unicodedata.normalize("NFC", match["title"])
    return title, int(match["sentence"]) if match["sentence"] else None


def _literal(text: Any) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


Title = Annotated[str, AfterValidator(_title)]
Number = Annotated[StrictInt, Field(ge=0)]
Fact = tuple[Title, Number]


class _Elements(BaseModel):
    content: list[Annotated[tuple[Title, int | None], BeforeValidator(_element)]]


class _Page(BaseModel):
    title: Title


class _Paragraph(_Page):
    is_supporting: StrictBool = True


class _Answer(BaseModel):
    source_url: str | None = None  # AVeriTeC


class _Question(BaseModel):
    answers: list[_Answer] | None = None


class _KiltOutput(BaseModel):
    provenance: list[_Page | Title] | None = None


class _Link(BaseModel):
    url: str | None = None


class _Citation(BaseModel):
    answer: str | None = None
    provenance: list[_Link] | None = None


def _documents(titles: Iterable[str]) -> EvidenceSet:
    return tuple((title, None) for title in titles)


def _each(titles: Iterable[str]) -> list[EvidenceSet]:
    return [_documents([title]) for title in titles]


def _kilt_set(output: _KiltOutput) -> EvidenceSet:
    pages = output.provenance or ()
    return _documents(page if isinstance(page, str) else page.title for page in pages)


def _urls(output: list[_Citation]) -> list[str]:
    """Return the URLs of citations of WAFER, without those that failed verification."""
    found = [
        url for each in output for url in (each.answer, *(p.url for p in each.provenance or ()))
    ]
    return [clean_title(url) for url in found if url and url.lower() != "failed verification"]


def _wice_sets(numbers: list[list[int]], record: dict[str, Any]) -> list[EvidenceSet]:
    page, meta = record.get("evidence") or [""], record.get("meta") or {}
    last = max((number for one in numbers for number in one), default=0)
    if last >= len(page):
        raise ValueError(f"the page has no sentence {last}")
    given = page[0].removeprefix(WICE_TITLE) if page[0].startswith(WICE_TITLE) else ""
    title = _title(clean_title(given) or meta.get("claim_title") or "")
    return [tuple((title, number) for number in one) for one in numbers]


class EvidenceField(NamedTuple):
    """A field of evidence."""

    name: str
    kind: Any  # type of its value
    sets: Callable[[Any, dict[str, Any]], list[EvidenceSet]]  # of the value and the whole record


#: The fields of each format, of which a record must have one; the first one that it has counts.
FORMATS: dict[str, tuple[EvidenceField, ...]] = {
    "pairs": (EvidenceField("evidence", list[Fact], lambda facts, _: [tuple(facts)]),),
    "hover": (EvidenceField("supporting_facts", list[Fact], lambda facts, _: [tuple(facts)]),),
    # [annotation, evidence id, page, sentence number]; NOT ENOUGH INFO has no page.
    "fever": (
        EvidenceField(
            "evidence",
            list[list[tuple[Any, Any, Title, Number] | tuple[Any, Any, None, None]]],
            lambda sets, _: [
                tuple((fever_title(page), number) for *_, page, number in one if page is not None)
                for one in sets
            ],
        ),
    ),
    "feverous": (
        EvidenceField(
            "evidence", list[_Elements], lambda sets, _: [tuple(each.content) for each in sets]
        ),
    ),
    # Paragraph numbers refer to KILT's own pages.
    "kilt": (
        EvidenceField(
            "output", list[_KiltOutput], lambda output, _: [_kilt_set(each) for each in output]
        ),
    ),
    # `gold_pages_union` has the pages of all sets, most of which are alternatives.
    "pages": (
        EvidenceField(
            "gold_title_sets", list[list[Title]], lambda sets, _: [_documents(s) for s in sets]
        ),
        EvidenceField("gold", list[Title], lambda titles, _: [_documents(titles)]),
        EvidenceField("gold_pages_union", list[Title], lambda titles, _: _each(titles)),
    ),
    # Sentence numbers refer to `context`: the corpus has the same passages as whole texts.
    "hipporag": (
        EvidenceField(
            "supporting_facts", list[Fact], lambda facts, _: [_documents(t for t, _ in facts)]
        ),
        EvidenceField(
            "paragraphs",
            list[_Paragraph],
            lambda members, _: [_documents(each.title for each in members if each.is_supporting)],
        ),
    ),
    "averitec": (
        EvidenceField(
            "questions",
            list[_Question],
            lambda questions, _: [
                _documents(
                    clean_title(answer.source_url)
                    for question in questions
                    for answer in question.answers or ()
                    if answer.source_url
                )
            ],
        ),
    ),
    # A list of page ids as Python writes it.
    "ex-fever": (
        EvidenceField(
            "golden entity",
            Annotated[list[Title], BeforeValidator(_literal)],
            lambda pages, _: [_documents(map(fever_title, pages))],
        ),
    ),
    "fool-me-twice": (EvidenceField("wikipedia_page", Title, lambda title, _: _each([title])),),
    # Numbers of sentences of one page.
    "wice": (EvidenceField("supporting_sentences", list[list[Number]], _wice_sets),),
    "wafer": (EvidenceField("output", list[_Citation], lambda output, _: _each(_urls(output))),),
}
