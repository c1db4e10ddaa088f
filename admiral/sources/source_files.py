"""Read sources from files: JSON Lines, WiCE, WAFER, Sphere, HTML, WARC, text, PDF and others."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import json_objects, open_binary
from admiral.kb.corpus.corpora import file_state
from admiral.kb.corpus.file_reports import MESSAGES_SHOWN
from admiral.kb.corpus.files.file_types import file_type, uncompressed_name
from admiral.kb.corpus.readers.json_records import nested_paragraphs
from admiral.sources import Source
from admiral.sources.canonical_urls import canonical, is_web, names_source
from admiral.sources.page_reading import PageReader, read_archive

logger = logging.getLogger(__name__)

_TEXT_FIELDS = ("text", "sentences", "html")
_OPTIONAL = ("title", "site", "date", "language", "archive_url")
_EXAMPLE = 'Write records such as {"url": "https://example.org/", "title": "...", "text": "..."}'
_METADATA = re.compile(r"\(meta data\) ([A-Z ]+): ?(.*)", re.DOTALL)


class SourceFiles:
    """Sources of one or more files or folders, read in order.

    `paths`: files or folders; of folders, all files of a known type are read. Lines of JSON may be
    pages, or records of WiCE, WAFER or Sphere. `base_url`: URL of the folder, for files that do not
    name their own; without it, they are named by their paths. `skip_bad`: whether to report bad
    records, and count them in `bad`, instead of raising an error for the first. `limits`: those of
    each page and document. Raises AdmiralError if a path does not exist or its type is unknown.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        *,
        base_url: str = "",
        skip_bad: bool = False,
        limits: FileLimits = DEFAULT_LIMITS,
    ) -> None:
        if base_url and not is_web(base_url):
            raise AdmiralError(f"base_url={base_url!r}: not a URL of the web. Correct it")
        if base_url and "//" not in base_url:
            base_url = f"https://{base_url}"
        self.paths, self.bad = [Path(path) for path in paths], 0
        self.request = {  # which sources are read, and how
            **{"corpora": [str(path.absolute()) for path in self.paths], "base_url": base_url},
            **{"skip_bad": skip_bad, "limits": asdict(limits)},
        }
        self._base_url, self._skip_bad = base_url, skip_bad
        self._reader = PageReader(limits)
        self._roots = {file: root for path in self.paths for file, root in _files(path)}
        if not self._roots:
            given = ", ".join(map(str, paths)) or "no path"
            raise AdmiralError(f"{given}: no file of a known type, such as .jsonl, .html or .warc")

    def states(self) -> dict[str, tuple[int, int]]:
        """Return the size of each file and the time of its last change."""
        return {str(file.absolute()): file_state(file) for file in self._roots}

    def __iter__(self) -> Iterator[Source]:
        unnamed = 0
        for item in (item for file in self._roots for item in self._items(file)):
            if isinstance(item, Source):
                unnamed += item.is_file
                yield item
            elif not self._skip_bad:
                raise item
            else:
                self.bad += 1
                if self.bad <= MESSAGES_SHOWN:
                    logger.warning("skipped: %s", item)
        if unnamed:
            remedy = "Give --base-url, the URL of their folder, if it has one"
            logger.warning("%d files state no URL; named by their paths. %s", unnamed, remedy)

    def _items(self, path: Path) -> Iterator[Source | RecordError]:
        if read := _READERS.get(_suffix(path)):
            yield from read(path, self._reader)
            return
        try:
            with open_binary(path) as file:
                source = self._reader.source(file, path.name, path)
        except AdmiralError as error:  # of the file; the others can be read
            yield RecordError(str(path), "", str(error).removeprefix(f"{path}: "), "")
            return
        url = str(path.absolute())
        if self._base_url:
            url = f"{self._base_url.rstrip('/')}/{path.relative_to(self._roots[path]).as_posix()}"
        yield source if is_web(source.url) else replace(source, url=url)


def _suffix(path: Path) -> str:
    return PurePosixPath(uncompressed_name(path.name)).suffix.lower()


def _is_known(path: Path) -> bool:
    return _suffix(path) in _READERS or file_type(path.name) is not None


def _files(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files to read, each with its folder."""
    if path.is_dir():
        files = (file for file in sorted(path.rglob("*")) if file.is_file() and _is_known(file))
        yield from ((file, path) for file in files)
    elif not path.exists():
        raise AdmiralError(f"{path}: no such file. Check the path")
    elif not _is_known(path):
        raise AdmiralError(
            f"{path}: of an unknown type. Name it by its type, such as .jsonl, .html, .warc or .pdf"
        )
    else:
        yield path, path.parent


def wice_url(record_id: str) -> str:
    """Return the name of the source of a record of WiCE, whose pages have no URLs.

    Sub-claims, with ids such as ``dev01234-2``, share the page of their claim.
    """
    return f"wice:{record_id.partition('-')[0]}"


def _read_json_lines(path: Path, reader: PageReader) -> Iterator[Source | RecordError]:
    """Yield the sources of a file.

    The passages of a page in WAFER's provenance become one source, in the order of the file, and so
    do lines of Sphere that follow each other.
    """
    wafer: dict[str, list[dict[str, str]]] = {}
    sphere: list[dict[str, str]] = []  # the passages of one page
    for item in json_objects(path):
        if isinstance(item, RecordError):
            yield item
            continue
        number, record = item
        where = f"{path}:{number}"
        try:
            if "raw" in record:
                passage = {"url": _url(record, where), "text": _string(record, "raw", where)}
                if sphere and sphere[0]["url"] != passage["url"]:
                    yield _joined(sphere)
                    sphere = []
                sphere.append({**passage, "title": _string(record, "title", where, needed=False)})
            elif "output" in record:
                for passage in _wafer_passages(record, where):
                    wafer.setdefault(canonical(passage["url"]), []).append(passage)
            elif "evidence" in record and isinstance(record.get("meta"), dict):
                yield _wice_source(record, where)
            else:
                yield _page_source(record, where, reader)
        except RecordError as error:
            yield error
    if sphere:
        yield _joined(sphere)
    yield from map(_joined, wafer.values())


_READERS = {
    **dict.fromkeys((".jsonl", ".json"), _read_json_lines),
    **dict.fromkeys((".warc", ".wet"), read_archive),
}


def _joined(passages: Sequence[dict[str, str]]) -> Source:
    texts = dict.fromkeys(passage["text"] for passage in passages)  # in order, each once
    title = next((passage["title"] for passage in passages if passage["title"]), "")
    return Source(passages[0]["url"], title, "\n".join(filter(None, texts)))


def _page_source(record: dict[str, Any], where: str, reader: PageReader) -> Source:
    url = _url(record, where)
    given = [name for name in _TEXT_FIELDS if record.get(name) is not None]
    if len(given) != 1:
        problem = f"one of {', '.join(_TEXT_FIELDS)} is needed, and there are {len(given)}"
        raise RecordError(where, "text", problem, _EXAMPLE)
    fields = {name: _string(record, name, where, needed=False) for name in _OPTIONAL}
    if given == ["html"]:
        page = io.BytesIO(_string(record, "html", where).encode("utf-8", "replace"))
        source = reader.source(page, "page.html", where, url)
        return replace(source, **{name: value for name, value in fields.items() if value})
    if given == ["sentences"]:
        return Source(url, **fields, text="\n".join(_strings(record, "sentences", where)))
    lines: list[str] = []  # with the headings of a text in parts on lines of their own
    section: tuple[str, ...] = ()
    for paragraph in nested_paragraphs(record["text"], "text", where):
        if paragraph.section != section:
            section = paragraph.section
            lines += section[-1:]
        lines.append(paragraph.text)
    return Source(url, **fields, text="\n".join(lines))


def _wice_source(record: dict[str, Any], where: str) -> Source:
    lines = _strings(record, "evidence", where)
    found = filter(None, map(_METADATA.fullmatch, lines))
    metadata = {match[1]: match[2] for match in found}
    # Headings are marked by #, as in Markdown.
    texts = (line.lstrip("#").strip() for line in lines if not _METADATA.fullmatch(line))
    return Source(
        url=wice_url(_string(record["meta"], "id", where)),
        title=metadata.get("TITLE", ""),
        text="\n".join(texts),
        site=metadata.get("PUBLISHER", ""),
        date=metadata.get("PUBLISHED DATETIME", ""),
    )


def _wafer_passages(record: dict[str, Any], where: str) -> Iterator[dict[str, str]]:
    for output in record["output"] if isinstance(record["output"], list) else ():
        provenance = output.get("provenance", ()) if isinstance(output, dict) else None
        if not isinstance(provenance, list | tuple):
            problem = "is not a list of answers with provenance"
            raise RecordError(where, "output", problem, "Use WAFER's format")
        for passage in provenance:
            if isinstance(passage, dict) and names_source(_string(passage, "url", where)):
                names = ("url", "title", "text")
                yield {name: _string(passage, name, where, needed=False) for name in names}


def _url(record: dict[str, Any], where: str) -> str:
    url = _string(record, "url", where)
    if not names_source(url):
        problem = f"{url!r} is not a URL of the web"
        raise RecordError(where, "url", problem, "Correct it, or use --skip-bad")
    return url


def _string(record: dict[str, Any], name: str, where: str, *, needed: bool = True) -> str:
    value = record.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        problem = "is missing" if value is None else f"is a {type(value).__name__}, not a string"
        raise RecordError(where, name, problem, _EXAMPLE)
    return value


def _strings(record: dict[str, Any], name: str, where: str) -> list[str]:
    value = record.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise RecordError(where, name, "is not a list of strings", "Write a list of sentences")
    return value
