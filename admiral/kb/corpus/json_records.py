"""Parse the records of the formats in JSON: our own, KILT, BEIR, FEVER, HotpotQA and FEVEROUS.

HippoRAG's corpora are one JSON array of passages, ``[{"title": ..., "text": ...}, ...]``, each a
record of the format ``jsonl``. The file is read as a whole, and its size is limited.

FEVEROUS is an SQLite database with the table ``wiki (id, data)``, whose `data` is a JSON object.
`order` lists the elements of the page; each element named ``sentence_N`` is a text with hyperlinks,
``[[Target_title|text]]``. Tables and lists are left out, so sentence numbers count the sentences of
the page in order.
"""

from __future__ import annotations

import html
import json
import re
import sqlite3
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from admiral.errors import AdmiralError, RecordError, problem_of
from admiral.io.sentence_splitter import sentence_spans, split_sentences
from admiral.io.streams import (
    LONGEST_RECORD,
    Place,
    RemotePath,
    json_objects,
    open_binary,
    parse_object,
)
from admiral.io.text_cleaning import (
    clean_title,
    fever_title,
    unescape_fever,
    wikipedia_title,
    without_markup,
)
from admiral.kb.corpus.files import one_line
from admiral.kb.corpus.records import SKIP_BAD_REMEDY, FileReport, Record, cleaned_record
from admiral.records import SECTION_SEPARATOR, Document

Model = TypeVar("Model", bound=BaseModel)
# Yields the JSON objects of a file with their lines, and errors for what is no object.
ObjectReader = Callable[[Place], Iterator[tuple[int, dict[str, Any]] | RecordError]]

CONTENT_FIELDS = ("text", "paragraphs", "sections", "content", "contents", "body", "sentences")
_NAMES = ("heading", "title", "name")
_DEEPEST = 50
_LONGEST_PATH = 100  # characters, in messages


class NestedParagraph(NamedTuple):
    """A paragraph and the headings above it, outermost first."""

    section: tuple[str, ...]
    text: str


def nested_paragraphs(
    value: Any, field: str, where: str, section: tuple[str, ...] = (), depth: int = 0
) -> Iterator[NestedParagraph]:
    """Yield the paragraphs of a text that a record gives in parts, in order.

    A string is a paragraph, and a list is its members in order. An object that has one of
    `CONTENT_FIELDS` is a section, named by its `heading`, `title` or `name`; its other fields are
    left out. Of any other object, each field is a section with the name of the field. Null is no
    text. `field` is the path of the value in the record, such as ``text[2].body``.
    """
    if depth > _DEEPEST:
        problem = f"nested more than {_DEEPEST} times"
        raise RecordError(where, field[:_LONGEST_PATH], problem, SKIP_BAD_REMEDY)
    if isinstance(value, str):
        yield NestedParagraph(section, value)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from nested_paragraphs(member, f"{field}[{number}]", where, section, depth + 1)
    elif isinstance(value, dict):
        contents = [name for name in value if name in CONTENT_FIELDS]
        if contents:
            names = (value[name] for name in _NAMES if isinstance(value.get(name), str))
            heading = one_line(next(names, ""))
            section = (*section, heading) if heading else section
        for name in contents or value:
            inner = section if contents else (*section, one_line(name))
            path = f"{field}.{name}"
            yield from nested_paragraphs(value[name], path, where, inner, depth + 1)
    elif value is not None:
        problem = f"{json.dumps(value)} where a text is needed"
        raise RecordError(where, field, problem, SKIP_BAD_REMEDY)


class JsonRecord(BaseModel, strict=True):
    """The fields of a record that are read; others are ignored."""


def validated(
    model: type[Model], value: dict[str, Any], where: str, remedy: str = SKIP_BAD_REMEDY
) -> Model:
    """Return the fields of a record; `RecordError` names the first that is wrong."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RecordError(where, *problem_of(error), remedy) from error


def read_json(
    file: FileReport,
    parse: Callable[[dict[str, Any], str], Document | None],
    objects: ObjectReader = json_objects,
) -> Iterator[Record | RecordError]:
    """Yield the records of JSON objects; `parse` gives None for one without content."""
    for item in objects(file.path):
        if isinstance(item, RecordError):
            yield item
            continue
        line, value = item
        try:
            document = parse(value, f"{file.path}:{line}")
            if document is not None:
                yield cleaned_record(document, file, line)
        except RecordError as error:
            yield error


class _Jsonl(JsonRecord):
    title: str
    sentences: list[str] | None = None
    links: list[list[str]] | None = None


def parse_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record: `title`, `sentences` or `text`, and optional `links`.

    The optional field `links` lists, for each of `sentences`, the titles that it links to.
    """
    record = validated(_Jsonl, value, where)
    links = tuple(map(tuple, record.links or ()))
    if record.sentences is not None:
        if links and len(links) != len(record.sentences):
            problem = f"{len(links)} lists for {len(record.sentences)} sentences"
            remedy = "Give one list of titles for each sentence, or leave the field out."
            raise RecordError(where, "links", problem, remedy)
        return Document(record.title, tuple(record.sentences), links)
    field = next((name for name in CONTENT_FIELDS if value.get(name) is not None), None)
    if field is None:
        problem = "missing, and there is no field 'text' either"
        raise RecordError(where, "sentences", problem, SKIP_BAD_REMEDY)
    if links:
        problem = f"given for a record with {field!r}; links belong to sentences"
        remedy = "Give the text as a list 'sentences', or leave 'links' out."
        raise RecordError(where, "links", problem, remedy)
    sentences, sections = [], []
    for paragraph in nested_paragraphs(value[field], field, where):
        parts = list(split_sentences(paragraph.text))
        sentences += parts
        sections += [SECTION_SEPARATOR.join(paragraph.section)] * len(parts)
    return Document(
        record.title, tuple(sentences), sections=tuple(sections) if any(sections) else ()
    )


def parse_wiki_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record whose sentences contain hyperlinks, ``[[Target|text]]``.

    Each becomes plain text and a link of the sentence, after those of the field `links`.
    """
    document = parse_jsonl(value, where)
    pairs = [without_markup(sentence) for sentence in document.sentences]
    text = value.get("text")
    text = text if isinstance(text, str) else " ".join(document.sentences)
    if value.get("sentences") is None and without_markup(text)[0] != text:
        raise RecordError(
            where,
            "text",
            "hyperlinks in a text that is not split into sentences",
            "Give the text as a list 'sentences', or use the format jsonl.",
        )
    given = document.links or ((),) * len(pairs)
    links = tuple((*titles, *targets) for titles, (_, targets) in zip(given, pairs, strict=True))
    return Document(
        document.title, tuple(text for text, _ in pairs), links, sections=document.sections
    )


class _Anchor(JsonRecord):
    paragraph_id: int
    start: int
    wikipedia_title: str | None = None
    href: str | None = None


# Ids are strings or whole numbers.
_Id = Annotated[str, BeforeValidator(lambda id: str(id) if type(id) is int else id)]


class _Kilt(JsonRecord):
    wikipedia_title: str
    text: list[str]
    anchors: list[_Anchor] | None = None
    wikipedia_id: _Id = ""


_BULLET = re.compile(r"\s*BULLET::::[-–\s]*")


def parse_kilt(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page: `wikipedia_title`, `text` (paragraphs), `anchors`.

    Its id is `wikipedia_id`, by which submissions to KILT name pages. The first paragraph
    repeats the title, ``Section::::`` starts a heading and ``BULLET::::`` a list item. An anchor
    gives its paragraph, its character offsets and the page that it links to.
    """
    page = validated(_Kilt, value, where)
    anchors: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for anchor in page.anchors or ():
        if target := anchor.wikipedia_title or wikipedia_title(anchor.href or ""):
            anchors[anchor.paragraph_id].append((anchor.start, target))
    sentences: list[str] = []
    links: list[tuple[str, ...]] = []
    for number, paragraph in enumerate(page.text):
        if number == 0 and _same_title(paragraph, page.wikipedia_title):
            continue
        if paragraph.lstrip().startswith("Section::::"):
            continue
        bullet = _BULLET.match(paragraph)
        text_start = 0 if bullet is None else bullet.end()
        for start, end in sentence_spans(paragraph[text_start:]):
            start, end = start + text_start, end + text_start
            sentences.append(paragraph[start:end])
            links.append(tuple(t for offset, t in anchors[number] if start <= offset < end))
    return Document(page.wikipedia_title, tuple(sentences), tuple(links), id=page.wikipedia_id)


def _same_title(first: str, second: str) -> bool:
    return clean_title(first) == clean_title(second)


class _Beir(JsonRecord):
    id: _Id = Field(alias="_id")
    text: str | None
    title: str | None = None


def parse_beir(value: dict[str, Any], where: str) -> Document:
    """Return the document of one BEIR record, with its id, which is also the title of one without.

    Many corpora of BEIR have no titles, or null for them, and some have equal ones.
    """
    record = validated(_Beir, value, where)
    title = record.title or ""
    sentences = tuple(split_sentences(record.text or ""))
    return Document(title if title.strip() else record.id, sentences, id=record.id)


class _Fever(JsonRecord):
    id: str
    lines: str


_QUOTES = re.compile(r"(?<!\S)(?:``|'')(?!\S)")
# Sentences left out of the dump leave gaps in the numbers. If the gaps of a record are larger than
# this in total, it is damaged; otherwise a few bytes could fill the memory with empty sentences.
_LARGEST_GAP = 10_000


def parse_fever(value: dict[str, Any], where: str) -> Document | None:
    """Return the document of one page; None for the dump's empty padding records.

    `lines` has one sentence per line: its number, the text, then pairs of link text and link
    target, all separated by tabs. Ids have underscores for spaces and Penn Treebank escapes for
    brackets.
    """
    page = validated(_Fever, value, where)
    if not page.id and not page.lines.strip():
        return None
    sentences: list[str] = []
    links: list[list[str]] = []
    left_out = 0
    for line in page.lines.split("\n"):
        number, _, rest = line.partition("\t")
        index = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
        fields = rest.split("\t")
        if index is not None and len(sentences) <= index <= len(sentences) + _LARGEST_GAP:
            gap = index - len(sentences)
            left_out += gap
            if left_out > _LARGEST_GAP:
                problem = f"its numbers leave out more than {_LARGEST_GAP:,} sentences"
                raise RecordError(where, "lines", problem, SKIP_BAD_REMEDY)
            sentences += [""] * gap + [_sentence(fields[0])]
            links += [[] for _ in range(gap)] + [_link_targets(fields[1:])]
        elif sentences:
            # A line without a number continues a sentence that contains a line feed.
            fields = line.split("\t")
            sentences[-1] = f"{sentences[-1]} {_sentence(fields[0])}".strip()
            links[-1] += _link_targets(fields[1:])
        elif line.strip():
            problem = f"the first line has no sentence number: {line[:40]!r}"
            raise RecordError(where, "lines", problem, SKIP_BAD_REMEDY)
    return Document(fever_title(page.id), tuple(sentences), tuple(map(tuple, links)))


def _sentence(text: str) -> str:
    return _QUOTES.sub('"', unescape_fever(text)).strip()


def _link_targets(fields: list[str]) -> list[str]:
    """Return the link targets among alternating link texts and link targets, as titles."""
    return [title for target in fields[1::2] if (title := fever_title(target))]


# The lookahead finds the end of the tag first. Otherwise an unclosed tag takes quadratic time,
# because its end is searched after every href.
_HREF = re.compile(
    r"""<a(?=\s[^<>]*>)\s[^<>]*?href\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>""", re.IGNORECASE
)
_ANCHOR = re.compile(r"</?a(?:\s[^<>]*)?>", re.IGNORECASE)


_Sentences = list[str] | list[list[str]]


class _HotpotQa(JsonRecord):
    title: str
    text: _Sentences
    text_with_links: _Sentences | None = None


def parse_hotpotqa(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page of the HotpotQA dumps, also HoVer's corpus.

    In the dump of abstracts, `text` is a list of sentences, and `text_with_links` the same
    sentences as HTML with ``<a href="...">``. In that of whole articles, `text` is a list of
    paragraphs, each a list of sentences with links.
    """
    page = validated(_HotpotQa, value, where)
    sentences = with_links = _flat(page.text, page.title)
    if page.text_with_links is not None:
        with_links = _flat(page.text_with_links, page.title)
        if len(with_links) != len(sentences):
            problem = f"{len(with_links)} sentences where 'text' has {len(sentences)}"
            raise RecordError(where, "text_with_links", problem, SKIP_BAD_REMEDY)
    elif any(_HREF.search(sentence) for sentence in sentences):
        sentences = [html.unescape(_ANCHOR.sub("", sentence)) for sentence in sentences]
    return Document(page.title, tuple(sentences), tuple(map(_targets, with_links)))


def _flat(text: _Sentences, title: str) -> list[str]:
    """Return sentences, without a first paragraph that repeats the title."""
    paragraphs = [part for part in text if isinstance(part, list)]
    if not paragraphs:
        return [part for part in text if isinstance(part, str)]
    if len(paragraphs[0]) == 1 and _same_title(paragraphs[0][0], title):
        paragraphs = paragraphs[1:]
    return list(chain.from_iterable(paragraphs))


def _targets(sentence: str) -> tuple[str, ...]:
    hrefs = (html.unescape(m.group(1) or m.group(2) or "") for m in _HREF.finditer(sentence))
    return tuple(title for href in hrefs if (title := wikipedia_title(href)))


# A larger file would fill the memory: as objects it may take several times as much.
LARGEST_ARRAY = 256 * 2**20  # bytes


def begins_with_array(path: Place) -> bool:
    """Return whether the first character of a file, apart from white space, is ``[``."""
    with open_binary(path) as stream:
        start: bytes = stream.read(256)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def array_objects(path: Place) -> Iterator[tuple[int, dict[str, Any]] | RecordError]:
    """Yield the objects of a JSON array with their numbers from 1, and errors for other members."""
    with open_binary(path) as stream:
        data: bytes = stream.read(LARGEST_ARRAY + 1)
    if len(data) > LARGEST_ARRAY:
        raise AdmiralError(
            f"{path}: a JSON array is read as a whole, and this one is larger than "
            f"{LARGEST_ARRAY >> 20} MiB. Write it as JSON Lines, for example with `jq -c '.[]'`, "
            "which has the format jsonl."
        )
    try:
        members = json.loads(data.decode("utf-8-sig"))
        if not isinstance(members, list):
            raise ValueError("it does not begin with '['")
    except (ValueError, RecursionError) as error:
        raise AdmiralError(
            f"{path}: not a JSON array in UTF-8 ({error}). The format hipporag is one array of "
            'objects such as {"title": "...", "text": "..."}.'
        ) from error
    for number, member in enumerate(members, 1):
        if isinstance(member, dict):
            yield number, member
        else:
            problem = f"a JSON {type(member).__name__} instead of an object"
            yield RecordError(f"{path}:{number}", "", problem, SKIP_BAD_REMEDY)


MAGIC = b"SQLite format 3\x00"


class _Feverous(JsonRecord):
    order: list[str]


def read_feverous(file: FileReport) -> Iterator[Record | RecordError]:
    """Yield the pages in the order of the table; the line of a record is its row, from 1."""
    path = file.path
    if isinstance(path, RemotePath):
        raise AdmiralError(f"{path}: a remote database cannot be read. Copy it to this machine.")
    try:
        # Read-only, so that SQLite creates no journal files.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.text_factory = bytes
            rows = database.execute("SELECT id, data FROM wiki")
            for row, (identifier, data) in enumerate(rows, 1):
                try:
                    document = _page(identifier, data, f"{path}:{row}")
                    yield cleaned_record(document, file, row, "id")
                except RecordError as error:
                    yield error
    except sqlite3.Error as error:
        raise AdmiralError(
            f"{path}: cannot be read as a FEVEROUS database ({error}). It must be an SQLite file "
            "that is not compressed, with a table wiki (id, data)."
        ) from error


def _page(identifier: Any, data: Any, where: str) -> Document:
    for name, value in (("id", identifier), ("data", b"" if data is None else data)):
        if not isinstance(value, bytes):
            raise RecordError(where, name, "not a text", SKIP_BAD_REMEDY)
    try:
        # The database spells accents as combining marks; Wikipedia's titles are composed.
        title = unicodedata.normalize("NFC", identifier.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(where, "id", "not UTF-8", SKIP_BAD_REMEDY) from error
    if not data or not data.strip():
        return Document(title, ())
    if len(data) > LONGEST_RECORD:
        raise RecordError(where, "data", f"longer than {LONGEST_RECORD >> 20} MiB", SKIP_BAD_REMEDY)
    page = parse_object(data, where)
    texts = []
    for name in validated(_Feverous, page, where).order:
        if name.startswith("sentence_"):
            if not isinstance(page.get(name), str):
                raise RecordError(where, name, "missing or not a string", SKIP_BAD_REMEDY)
            texts.append(without_markup(page[name]))
    return Document(title, tuple(text for text, _ in texts), tuple(links for _, links in texts))
