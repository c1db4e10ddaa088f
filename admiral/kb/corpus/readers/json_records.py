"""Parse the records of the formats in JSON: our own, KILT, BEIR, FEVER, HotpotQA and FEVEROUS.

HippoRAG's corpora are one JSON array of passages, ``[{"title": ..., "text": ...}, ...]``, each a
record of the format ``jsonl``. An array has no lines that could be read one by one, so the file is
read as a whole, and its size is limited.

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
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from typing import Any, NamedTuple

from admiral.errors import AdmiralError, RecordError
from admiral.io.sentence_splitter import sentence_spans, split_sentences
from admiral.io.streams import LONGEST_RECORD, Place, RemotePath, open_binary, parse_object
from admiral.io.text_cleaning import fever_title, unescape_fever, wikipedia_title, without_markup
from admiral.kb.corpus.files import one_line
from admiral.kb.corpus.readers.corpus_records import (
    SKIP_BAD_REMEDY,
    RecordOrError,
    cleaned_record,
    id_field,
    json_kind,
    optional_string,
    same_title,
    string_field,
    string_list,
)
from admiral.records import SECTION_SEPARATOR, Document

CONTENT_FIELDS = ("text", "paragraphs", "sections", "content", "contents", "body", "sentences")
_NAMES = ("heading", "title", "name")
_DEEPEST = 50
_LONGEST_PATH = 100  # characters, in messages


class NestedParagraph(NamedTuple):
    """A paragraph and the headings above it, outermost first."""

    section: tuple[str, ...]
    text: str


def nested_paragraphs(value: Any, field: str, where: str) -> Iterator[NestedParagraph]:
    """Yield the paragraphs of a text that a record gives in parts, in order.

    A string is a paragraph, and a list is its members in order. An object that has one of
    `CONTENT_FIELDS` is a section, named by its `heading`, `title` or `name`; its other fields are
    left out. Of any other object, each field is a section with the name of the field. Null is no
    text. `field` is the path of the value in the record, such as ``text[2].body``. Raises
    RecordError for what is no text, such as a number, or is nested too deeply.
    """
    yield from _paragraphs(value, field, where, (), 0)


def _paragraphs(
    value: Any, field: str, where: str, section: tuple[str, ...], depth: int
) -> Iterator[NestedParagraph]:
    if depth > _DEEPEST:
        problem = f"nested more than {_DEEPEST} times"
        raise RecordError(where, field[:_LONGEST_PATH], problem, SKIP_BAD_REMEDY)
    if isinstance(value, str):
        yield NestedParagraph(section, value)
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _paragraphs(member, f"{field}[{number}]", where, section, depth + 1)
    elif isinstance(value, dict):
        contents = [name for name in value if name in CONTENT_FIELDS]
        if contents:
            names = (value[name] for name in _NAMES if isinstance(value.get(name), str))
            heading = one_line(next(names, ""))
            section = (*section, heading) if heading else section
        for name in contents or value:
            inner = section if contents else (*section, one_line(name))
            yield from _paragraphs(value[name], f"{field}.{name}", where, inner, depth + 1)
    elif value is not None:
        problem = f"{json_kind(value)} where a text is needed"
        raise RecordError(where, field, problem, SKIP_BAD_REMEDY)


def parse_jsonl(value: dict[str, Any], where: str) -> Document:
    """Return the document of one record: `title`, `sentences` or `text`, and optional `links`.

    The optional field `links` lists, for each of `sentences`, the titles that it links to.
    """
    title = string_field(value, "title", where)
    if value.get("sentences") is not None:
        sentences = string_list(value["sentences"], "sentences", where)
        return Document(title, tuple(sentences), _links(value, len(sentences), where))
    field = next((name for name in CONTENT_FIELDS if value.get(name) is not None), None)
    if field is None:
        raise RecordError(
            where, "sentences", "missing, and there is no field 'text' either", SKIP_BAD_REMEDY
        )
    if value.get("links"):
        raise RecordError(
            where,
            "links",
            f"given for a record with {field!r}; links belong to sentences",
            "Give the text as a list 'sentences', or leave 'links' out.",
        )
    sentences, sections = [], []
    for paragraph in nested_paragraphs(value[field], field, where):
        parts = list(split_sentences(paragraph.text))
        sentences += parts
        sections += [SECTION_SEPARATOR.join(paragraph.section)] * len(parts)
    return Document(title, tuple(sentences), sections=tuple(sections) if any(sections) else ())


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


def _links(value: dict[str, Any], count: int, where: str) -> tuple[tuple[str, ...], ...]:
    links = value.get("links")
    if not links:
        return ()
    if not isinstance(links, list) or len(links) != count:
        given = f"{len(links)} lists" if isinstance(links, list) else "not a list"
        raise RecordError(
            where,
            "links",
            f"{given} for {count} sentences",
            "Give one list of titles for each sentence, or leave the field out.",
        )
    return tuple(tuple(string_list(row, "links", where)) for row in links)


_BULLET = re.compile(r"\s*BULLET::::[-–\s]*")


def parse_kilt(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page: `wikipedia_title`, `text` (paragraphs), `anchors`.

    Its id is `wikipedia_id`, by which submissions to KILT name pages. The first paragraph
    repeats the title, ``Section::::`` starts a heading and ``BULLET::::`` a list item. An anchor
    gives its paragraph, its character offsets and the page that it links to.
    """
    title = string_field(value, "wikipedia_title", where)
    if "text" not in value:
        raise RecordError(where, "text", "missing", SKIP_BAD_REMEDY)
    paragraphs = string_list(value["text"], "text", where)
    anchors = _anchors(value, where)
    sentences: list[str] = []
    links: list[tuple[str, ...]] = []
    for number, paragraph in enumerate(paragraphs):
        if number == 0 and same_title(paragraph, title):
            continue
        if paragraph.lstrip().startswith("Section::::"):
            continue
        bullet = _BULLET.match(paragraph)
        text_start = 0 if bullet is None else bullet.end()
        for start, end in sentence_spans(paragraph[text_start:]):
            start, end = start + text_start, end + text_start
            sentences.append(paragraph[start:end])
            in_paragraph = anchors.get(number, ())
            links.append(tuple(t for offset, t in in_paragraph if start <= offset < end))
    id = id_field(value, "wikipedia_id", where) if "wikipedia_id" in value else ""
    return Document(title, tuple(sentences), tuple(links), id=id)


def _anchors(value: dict[str, Any], where: str) -> dict[int, list[tuple[int, str]]]:
    """Return the (start offset, linked title) of the anchors of each paragraph."""
    anchors = value.get("anchors") or []
    if not isinstance(anchors, list):
        raise RecordError(where, "anchors", "not a list", SKIP_BAD_REMEDY)
    by_paragraph: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for anchor in anchors:
        if not isinstance(anchor, dict):
            raise RecordError(where, "anchors", "a member is not an object", SKIP_BAD_REMEDY)
        paragraph, start = anchor.get("paragraph_id"), anchor.get("start")
        if not isinstance(paragraph, int) or not isinstance(start, int):
            raise RecordError(
                where, "anchors", "a member without paragraph_id and start", SKIP_BAD_REMEDY
            )
        title = anchor.get("wikipedia_title") or wikipedia_title(str(anchor.get("href") or ""))
        if isinstance(title, str) and title:
            by_paragraph[paragraph].append((start, title))
    return by_paragraph


def parse_beir(value: dict[str, Any], where: str) -> Document:
    """Return the document of one BEIR record, with its id, which is also the title of one without.

    Many corpora of BEIR have no titles, or null for them, and some have equal ones. Ids may be
    numbers.
    """
    id, text = id_field(value, "_id", where), optional_string(value, "text", where)
    title = optional_string(value, "title", where) if "title" in value else ""
    return Document(title if title.strip() else id, tuple(split_sentences(text)), id=id)


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
    identifier = string_field(value, "id", where)
    lines = string_field(value, "lines", where)
    if not identifier and not lines.strip():
        return None
    sentences: list[str] = []
    links: list[list[str]] = []
    left_out = 0
    for line in lines.split("\n"):
        number, _, rest = line.partition("\t")
        index = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
        fields = rest.split("\t")
        if index is not None and len(sentences) <= index <= len(sentences) + _LARGEST_GAP:
            gap = index - len(sentences)
            left_out += gap
            if left_out > _LARGEST_GAP:
                raise RecordError(
                    where,
                    "lines",
                    f"its numbers leave out more than {_LARGEST_GAP:,} sentences",
                    SKIP_BAD_REMEDY,
                )
            sentences += [""] * gap + [_sentence(fields[0])]
            links += [[] for _ in range(gap)] + [_link_targets(fields[1:])]
        elif sentences:
            # A line without a number continues a sentence that contains a line feed.
            fields = line.split("\t")
            sentences[-1] = f"{sentences[-1]} {_sentence(fields[0])}".strip()
            links[-1] += _link_targets(fields[1:])
        elif line.strip():
            raise RecordError(
                where,
                "lines",
                f"the first line has no sentence number: {line[:40]!r}",
                SKIP_BAD_REMEDY,
            )
    return Document(fever_title(identifier), tuple(sentences), tuple(map(tuple, links)))


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


def parse_hotpotqa(value: dict[str, Any], where: str) -> Document:
    """Return the document of one page of the HotpotQA dumps, also HoVer's corpus.

    In the dump of abstracts, `text` is a list of sentences, and `text_with_links` the same
    sentences as HTML with ``<a href="...">``. In that of whole articles, `text` is a list of
    paragraphs, each a list of sentences with links.
    """
    title = string_field(value, "title", where)
    if "text" not in value:
        raise RecordError(where, "text", "missing", SKIP_BAD_REMEDY)
    sentences = _flatten(value["text"], "text", title, where)
    with_links = sentences
    if value.get("text_with_links") is not None:
        with_links = _flatten(value["text_with_links"], "text_with_links", title, where)
        if len(with_links) != len(sentences):
            raise RecordError(
                where,
                "text_with_links",
                f"{len(with_links)} sentences where 'text' has {len(sentences)}",
                SKIP_BAD_REMEDY,
            )
    elif any(_HREF.search(sentence) for sentence in sentences):
        sentences = [html.unescape(_ANCHOR.sub("", sentence)) for sentence in sentences]
    return Document(title, tuple(sentences), tuple(_targets(sentence) for sentence in with_links))


def _flatten(value: Any, name: str, title: str, where: str) -> list[str]:
    if not isinstance(value, list) or not value or isinstance(value[0], str):
        return string_list(value, name, where)
    paragraphs = [string_list(paragraph, name, where) for paragraph in value]
    if len(paragraphs[0]) == 1 and same_title(paragraphs[0][0], title):
        paragraphs = paragraphs[1:]
    return list(chain.from_iterable(paragraphs))


def _targets(sentence: str) -> tuple[str, ...]:
    hrefs = (html.unescape(m.group(1) or m.group(2) or "") for m in _HREF.finditer(sentence))
    return tuple(title for href in hrefs if (title := wikipedia_title(href)))


# A larger file would fill the memory: as text it may take four times as much.
LARGEST_ARRAY = 256 * 2**20  # bytes
_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")


def begins_with_array(path: Place) -> bool:
    """Return whether the first character of a file, apart from white space, is ``[``."""
    with open_binary(path) as stream:
        start: bytes = stream.read(256)
    return start.removeprefix(_BOM).lstrip(b" \t\r\n").startswith(b"[")


def array_objects(path: Place) -> Iterator[tuple[int, dict[str, Any]] | RecordError]:
    """Yield (line number, object) for each member of the JSON array in a file.

    Members that are not objects are yielded as `RecordError`. Raises AdmiralError if the file
    cannot be read, is larger than `LARGEST_ARRAY` when decompressed, is not UTF-8 or is not a JSON
    array. Nothing after a syntax error can be read, so the error is raised and not skipped.
    """
    text = _text(path)
    decoder = json.JSONDecoder()
    at, line = _skip_space(text, 0, 1)
    if not text.startswith("[", at):
        raise _syntax_error(path, line, "it does not begin with '['")
    at, line = _skip_space(text, at + 1, line)
    is_closed = text.startswith("]", at)
    while not is_closed:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _syntax_error(path, error.lineno, error.msg) from error
        except (ValueError, RecursionError) as error:  # a huge number or deep nesting
            raise _syntax_error(path, line, str(error)) from error
        if isinstance(value, dict):
            yield line, value
        else:
            problem = f"a JSON {type(value).__name__} instead of an object"
            yield RecordError(f"{path}:{line}", "", problem, SKIP_BAD_REMEDY)
        at, line = _skip_space(text, end, line + text.count("\n", at, end))
        is_closed = text.startswith("]", at)
        if not is_closed:
            if not text.startswith(",", at):
                raise _syntax_error(path, line, "',' or ']' is missing after a member")
            at, line = _skip_space(text, at + 1, line)
    at, line = _skip_space(text, at + 1, line)
    if at < len(text):
        raise _syntax_error(path, line, "there is text after the array")


def _text(path: Place) -> str:
    with open_binary(path) as stream:
        data: bytes = stream.read(LARGEST_ARRAY + 1)
    if len(data) > LARGEST_ARRAY:
        raise AdmiralError(
            f"{path}: a JSON array is read as a whole, and this one is larger than "
            f"{LARGEST_ARRAY >> 20} MiB. Write it as JSON Lines, for example with `jq -c '.[]'`, "
            "which has the format jsonl."
        )
    try:
        return data.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise AdmiralError(
            f"{path}:{line}: not UTF-8. Convert the file to UTF-8, for example with iconv."
        ) from error


def _skip_space(text: str, at: int, line: int) -> tuple[int, int]:
    """Return the position of the next character that is not white space, and its line."""
    match = _SPACE.match(text, at)
    end = at if match is None else match.end()
    return end, line + text.count("\n", at, end)


def _syntax_error(path: Place, line: int, problem: str) -> AdmiralError:
    return AdmiralError(
        f"{path}:{line}: not a JSON array ({problem}). The format hipporag is one array of objects "
        'such as {"title": "...", "text": "..."}.'
    )


MAGIC = b"SQLite format 3\x00"


def read_feverous(path: Place) -> Iterator[RecordOrError]:
    """Yield the pages in the order of the table; the line of a record is its row, from 1."""
    if isinstance(path, RemotePath):
        raise AdmiralError(f"{path}: a remote database cannot be read. Copy it to this machine.")
    try:
        # Read-only, so that SQLite creates no journal files.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.text_factory = bytes
            for row, (identifier, data) in enumerate(
                database.execute("SELECT id, data FROM wiki"), start=1
            ):
                where = f"{path}:{row}"
                try:
                    document = _page(identifier, data, where)
                    yield cleaned_record(document, path, row, "id")
                except RecordError as error:
                    yield error
    except sqlite3.Error as error:
        raise AdmiralError(
            f"{path}: cannot be read as a FEVEROUS database ({error}). It must be an SQLite file "
            "that is not compressed, with a table wiki (id, data)."
        ) from error


def _page(identifier: Any, data: Any, where: str) -> Document:
    title = _title(identifier, where)
    if data is None or (isinstance(data, bytes) and not data.strip()):
        return Document(title, ())
    if not isinstance(data, bytes):
        raise RecordError(where, "data", "not a text", SKIP_BAD_REMEDY)
    if len(data) > LONGEST_RECORD:
        raise RecordError(where, "data", f"longer than {LONGEST_RECORD >> 20} MiB", SKIP_BAD_REMEDY)
    page = parse_object(data, where)
    if "order" not in page:
        raise RecordError(where, "order", "missing", SKIP_BAD_REMEDY)
    sentences, links = [], []
    for name in string_list(page["order"], "order", where):
        if not name.startswith("sentence_"):
            continue
        if not isinstance(page.get(name), str):
            raise RecordError(where, name, "missing or not a string", SKIP_BAD_REMEDY)
        sentence, targets = without_markup(page[name])
        sentences.append(sentence)
        links.append(targets)
    return Document(title, tuple(sentences), tuple(links))


def _title(identifier: Any, where: str) -> str:
    if not isinstance(identifier, bytes):
        raise RecordError(where, "id", "not a text", SKIP_BAD_REMEDY)
    try:
        # The database spells accents as combining marks; Wikipedia's titles are composed.
        return unicodedata.normalize("NFC", identifier.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(where, "id", "not UTF-8", SKIP_BAD_REMEDY) from error
