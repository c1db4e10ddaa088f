"""Readers of data sets that are not annotated with sentences of a knowledge base.

Each reader yields claims with the passages that the data set provides. There are no passages where
only the titles of gold documents are annotated.
"""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.gold import GoldClaim, Label
from admiral.io.fever_titles import fever_title
from admiral.io.streams import json_objects, open_binary
from admiral.io.text_cleaning import clean_title
from admiral.records import Document
from admiral.retrieval.title_matching import base_title

_REMEDY = "Correct the record, or name the file's format"
ClaimAndPassages = tuple[GoldClaim, tuple[Document, ...]]

_CREAK = {"true": Label.SUPPORTS, "false": Label.REFUTES}
_FOOL_ME_TWICE = {"SUPPORTS": Label.SUPPORTS, "REFUTES": Label.REFUTES}
_EX_FEVER = {
    "SUPPORT": Label.SUPPORTS,
    "REFUTE": Label.REFUTES,
    "NOT ENOUGH INFO": Label.NOT_ENOUGH_INFO,
}
# Evidence that supports a part of a claim is not sufficient.
_WICE = {
    "supported": Label.SUPPORTS,
    "partially_supported": Label.NOT_ENOUGH_INFO,
    "not_supported": Label.NOT_ENOUGH_INFO,
}
_WICE_TITLE = "(meta data) TITLE: "


def hotpotqa(path: Path) -> Iterator[ClaimAndPassages]:
    """Read HotpotQA questions with their paragraphs, whose sentences two spaces separate.

    Supporting sentences are not annotated. Those of the gold paragraphs that contain the answer or
    mention the other gold document are taken to be gold, or else the first sentence.
    """
    for where, record in _records(path):
        contexts = _field(record, "contexts", list, where)
        answers = [
            span
            for answer in _field(record, "answers_objects", list, where)
            for span in _field(answer, "spans", list, where)
        ]
        passages, gold = [], []
        for context in contexts:
            title = clean_title(_field(context, "title", str, where))
            text = _field(context, "paragraph_text", str, where)
            sentences = tuple(part.strip() for part in text.split("  ") if part.strip())
            passages.append(Document(title, sentences))
            if _field(context, "is_supporting", bool, where) and sentences:
                gold.append(passages[-1])
        names = [*map(str, answers), *(base_title(document.title) for document in gold)]
        evidence = [
            (document.title, i) for document in gold for i in _supporting_sentences(document, names)
        ]
        yield (
            GoldClaim(
                _field(record, "question_id", str, where),
                _field(record, "question_text", str, where),
                None,
                (tuple(evidence),) if evidence else (),
            ),
            tuple(passages),
        )


def _supporting_sentences(document: Document, names: list[str]) -> list[int]:
    """Return the numbers of the sentences that contain a name other than the document's own."""
    other_names = [name for name in names if name and name != base_title(document.title)]
    numbers = [i for i, s in enumerate(document.sentences) if any(n in s for n in other_names)]
    return numbers or [0]


def fool_me_twice(path: Path) -> Iterator[ClaimAndPassages]:
    """Read FoolMeTwice: each claim with the gold and the retrieved sentences of one page."""
    for where, record in _records(path):
        gold = _texts(record, "gold_evidence", where)
        sentences = tuple(dict.fromkeys([*_texts(record, "retrieved_evidence", where), *gold]))
        title = clean_title(_field(record, "wikipedia_page", str, where))
        evidence = tuple((title, sentences.index(text)) for text in dict.fromkeys(gold))
        yield (
            GoldClaim(
                _field(record, "id", str, where),
                _field(record, "text", str, where),
                _label(record, _FOOL_ME_TWICE, where),
                (evidence,) if evidence else (),
            ),
            (Document(title, sentences),),
        )


def wice(path: Path) -> Iterator[ClaimAndPassages]:
    """Read WiCE: claims of Wikipedia with the sentences of the web page that they cite.

    The title of the page is part of its first sentence; without it, it is that of the article which
    cites the page. The smallest of the alternative sets of supporting sentences comes first.
    """
    for where, record in _records(path):
        sentences = _field(record, "evidence", list, where)
        if not sentences or not all(isinstance(sentence, str) for sentence in sentences):
            raise RecordError(where, "evidence", "is not a list of sentences", _REMEDY)
        first = sentences[0].removeprefix(_WICE_TITLE)
        meta = _field(record, "meta", dict, where)
        given = first if first != sentences[0] else _field(meta, "claim_title", str, where)
        title = clean_title(given)
        sets = _field(record, "supporting_sentences", list, where)
        for numbers in sets:
            if not isinstance(numbers, list) or not all(
                type(number) is int and 0 <= number < len(sentences) for number in numbers
            ):
                problem = f"{numbers!r} are not numbers of its {len(sentences)} sentences"
                raise RecordError(where, "supporting_sentences", problem, _REMEDY)
        evidence = (tuple((title, number) for number in numbers) for numbers in sets if numbers)
        yield (
            GoldClaim(
                _field(meta, "id", str, where),
                _field(record, "claim", str, where),
                _label(record, _WICE, where),
                tuple(sorted(evidence, key=len)),
            ),
            (Document(title, (first, *sentences[1:])),),
        )


def ex_fever(path: Path) -> Iterator[ClaimAndPassages]:
    """Read EX-FEVER: claims in CSV with the titles of their documents in `golden entity`."""
    with open_binary(path) as stream:
        rows = csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""))
        try:
            for number, row in enumerate(rows, start=1):
                where = f"{path}: row {number}"
                names = _field(row, "golden entity", str, where)
                titles = tuple(map(fever_title, _title_list(names, where)))
                label = _label(row, _EX_FEVER, where)
                text = _field(row, "claim", str, where)
                evidence = tuple((title, None) for title in dict.fromkeys(titles))
                yield GoldClaim(str(number), text, label, (evidence,) if evidence else ()), ()
        except (UnicodeDecodeError, csv.Error) as error:
            raise AdmiralError(f"{path}: is not CSV in UTF-8 ({error})") from error


def _title_list(text: str, where: str) -> list[str]:
    try:
        titles = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        titles = None
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        raise RecordError(where, "golden entity", "is not a list of titles", _REMEDY)
    return titles


def creak(path: Path) -> Iterator[ClaimAndPassages]:
    """Read CREAK: claims with the title of the page that they are about in `entity`."""
    for where, record in _records(path):
        title = clean_title(_field(record, "entity", str, where))
        text = _field(record, "sentence", str, where)
        label = _label(record, _CREAK, where)
        evidence: tuple[tuple[str, None], ...] = ((title, None),)
        yield GoldClaim(_field(record, "ex_id", str, where), text, label, (evidence,)), ()


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        yield f"{path}:{number}", record


def _field(record: Any, name: str, kind: type, where: str) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise RecordError(where, name, "is missing", _REMEDY)
    value = record[name]
    if not isinstance(value, kind) or value == "":
        raise RecordError(where, name, f"{value!r} is not a {kind.__name__}", _REMEDY)
    return value


def _label(record: dict[str, Any], labels: dict[str, Label], where: str) -> Label:
    value = _field(record, "label", str, where)
    if value not in labels:
        problem = f"{value!r} is none of {', '.join(labels)}"
        raise RecordError(where, "label", problem, _REMEDY)
    return labels[value]


def _texts(record: dict[str, Any], name: str, where: str) -> list[str]:
    return [_field(entry, "text", str, where) for entry in _field(record, name, list, where)]
