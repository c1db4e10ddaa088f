"""Read a folder of ``.txt`` and ``.md`` files, one document per file.

The title is the first heading of a Markdown file, or otherwise the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from admiral.errors import AdmiralError, RecordError
from admiral.io.remote import Place
from admiral.io.streams import COMPRESSED_SUFFIXES, LONGEST_RECORD, open_binary
from admiral.kb.corpus.readers.corpus_records import (
    SKIP_BAD_REMEDY,
    Record,
    RecordOrError,
    cleaned_document,
    files_below,
    text_suffix,
)
from admiral.kb.corpus.sentence_splitter import split_sentences
from admiral.records import Document

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")


def read_plain(path: Place) -> Iterator[RecordOrError]:
    """Yield one record for each text file below a folder, or for the file itself."""
    for file in text_files(path):
        try:
            yield Record(cleaned_document(_document(file), f"{file}:1"), file, 1)
        except RecordError as error:
            yield error


def text_files(path: Place) -> Sequence[Place]:
    """Return the file itself, or the text files below a folder, sorted."""
    files = [path] if path.is_file() else [f for f in files_below(path) if text_suffix(f)]
    if not files:
        raise AdmiralError(f"{path}: the folder holds no .txt or .md files. Check the path.")
    return files


def _document(file: Place) -> Document:
    where = f"{file}:1"
    with open_binary(file) as stream:
        data = stream.read(LONGEST_RECORD + 1)
    if len(data) > LONGEST_RECORD:
        raise RecordError(where, "", f"longer than {LONGEST_RECORD >> 20} MiB", SKIP_BAD_REMEDY)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordError(
            f"{file}:{line}", "", "not UTF-8", "Convert the file to UTF-8, or use --skip-bad."
        ) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text_suffix(file) == ".md":
        title, text = _markdown(text)
        return Document(title or _stem(file), tuple(split_sentences(text)))
    return Document(_stem(file), tuple(split_sentences(text)))


def _stem(file: Place) -> str:
    name = file.name
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return PurePath(name).stem.replace("_", " ")


def _markdown(text: str) -> tuple[str, str]:
    """Return the first heading and the text of a Markdown file.

    Front matter is dropped, other headings become paragraphs, links and images become their text,
    and code is kept as it is.
    """
    lines = text.split("\n")
    if lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:]):
        end = next(i for i, line in enumerate(lines) if i and line.strip() == "---")
        lines = lines[end + 1 :]
    title, kept, fence = "", [], ""
    for line in lines:
        marker = _FENCE.match(line)
        if marker and fence in ("", marker.group(1)):
            fence = "" if fence else marker.group(1)
            continue
        heading = None if fence else _heading(line)
        if heading is None:
            kept.append(line if fence else _LINK.sub(r"\1", line))
        elif not title and heading:
            title = _LINK.sub(r"\1", heading)
        else:
            kept += ["", heading, ""]
    return title, "\n".join(kept)


def _heading(line: str) -> str | None:
    """Return the text of a heading without closing ``#`` characters; None for other lines."""
    start = _HEADING.match(line)
    if start is None:
        return None
    # Without a regular expression, which would take quadratic time on a line of many spaces.
    text = line[start.end() :].rstrip(" \t")
    unclosed = text.rstrip("#")
    return unclosed[:-1] if unclosed != text and unclosed.endswith((" ", "\t")) else text
