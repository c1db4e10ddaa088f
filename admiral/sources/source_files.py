"""Read sources from files: JSON Lines, WiCE, WAFER, Sphere, HTML, WARC, text, PDF and others."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from admiral.errors import AdmiralError, RecordError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import json_objects, open_binary
from admiral.kb.corpus.corpora import file_state
from admiral.kb.corpus.files.file_types import file_type, uncompressed_name
from admiral.kb.corpus.json_records import JsonRecord, nested_paragraphs, validated
from admiral.kb.corpus.records import MESSAGES_SHOWN
from admiral.sources import Source
from admiral.sources.canonical_urls import canonical, is_web, names_source
from admiral.sources.page_reading import PageReader, read_archive

logger = logging.getLogger(__name__)

EXAMPLE = 'Write records such as {"url": "https://example.org/", "title": "...", "text": "..."}'
_METADATA = re.compile(r"\(meta data\) ([A-Z ]+): ?(.*)", re.DOTALL)


#: A source, and its file, with the line of a record or 0.
LocatedSource = tuple[Source, Path, int]


class SourceFiles:
    """Sources of one or more files or folders, read in order.

    `paths`: files, or folders of which all files of a known type are read. `base_url`: URL of the
    folder, for files that do not name their own; without it, they are named by their paths.
    `skip_bad`: whether to report bad records, and count them in `bad`.
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
        return (source for source, *_ in self.located())

    def located(self) -> Iterator[LocatedSource]:
        """Yield the sources with their places."""
        unnamed = 0
        for item in (item for file in self._roots for item in self._items(file)):
            if isinstance(item, tuple):
                unnamed += item[0].is_file
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

    def _items(self, path: Path) -> Iterator[LocatedSource | RecordError]:
        suffix = _suffix(path)
        if suffix in _JSON:
            yield from _read_json_lines(path, self._reader)
        elif suffix in _ARCHIVES:
            for item in read_archive(path, self._reader):
                yield (item, path, 0) if isinstance(item, Source) else item
        else:
            try:
                with open_binary(path) as file:
                    source = self._reader.source(file, path.name, path)
            except AdmiralError as error:  # of the file; the others can be read
                yield RecordError(str(path), "", str(error).removeprefix(f"{path}: "), "")
                return
            url = str(path.absolute())
            if self._base_url:
                below = path.relative_to(self._roots[path]).as_posix()
                url = f"{self._base_url.rstrip('/')}/{below}"
            yield (source if is_web(source.url) else replace(source, url=url)), path, 0


_JSON, _ARCHIVES = (".jsonl", ".json"), (".warc", ".wet")


def _suffix(path: Path) -> str:
    return PurePosixPath(uncompressed_name(path.name)).suffix.lower()


def _files(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files to read, each with its folder."""
    if not path.exists():
        raise AdmiralError(f"{path}: no such file. Check the path")
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        is_known = _suffix(file) in (*_JSON, *_ARCHIVES) or file_type(file.name) is not None
        if is_known and file.is_file():
            yield file, path if file != path else path.parent
        elif file == path:
            raise AdmiralError(
                f"{path}: of an unknown type. Name it by its type, such as .jsonl, .html, .warc or "
                ".pdf"
            )


def _checked_url(url: str) -> str:
    if not names_source(url):
        raise ValueError(f"{url!r} is not a URL of the web")
    return url


_Url = Annotated[str, AfterValidator(_checked_url)]
_Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]


class _Page(JsonRecord):
    url: _Url
    title: _Text = ""
    site: _Text = ""
    date: _Text = ""
    language: _Text = ""
    archive_url: _Text = ""
    text: Any = None  # see `nested_paragraphs`
    sentences: list[str] | None = None
    html: str | None = None


class _Passage(JsonRecord):
    url: str
    title: _Text = ""
    text: _Text = ""


class _Sphere(_Passage):
    url: _Url
    text: str = Field(alias="raw")


class _Answer(JsonRecord):
    provenance: list[_Passage] = Field(default_factory=list)


class _Wafer(JsonRecord):
    output: list[_Answer]


class _WiceMeta(JsonRecord):
    id: str


class _Wice(JsonRecord):
    meta: _WiceMeta
    evidence: list[str]


def _read_json_lines(path: Path, reader: PageReader) -> Iterator[LocatedSource | RecordError]:
    """Yield the sources of a file.

    Passages of one page become one source: in WAFER all, in Sphere those that follow each other.
    """
    wafer: dict[str, tuple[int, list[_Passage]]] = {}
    page: tuple[int, list[_Passage]] = 0, []  # of Sphere
    for item in json_objects(path):
        if isinstance(item, RecordError):
            yield item
            continue
        number, record = item
        where = f"{path}:{number}"
        try:
            if "raw" in record:
                passage = validated(_Sphere, record, where, EXAMPLE)
                if page[1] and page[1][0].url != passage.url:
                    yield _joined(path, *page)
                    page = 0, []
                page = page[0] or number, [*page[1], passage]
            elif "output" in record:
                answers = validated(_Wafer, record, where, "Use WAFER's format").output
                for given in (given for answer in answers for given in answer.provenance):
                    if names_source(given.url):
                        wafer.setdefault(canonical(given.url), (number, []))[1].append(given)
            elif "evidence" in record and isinstance(record.get("meta"), dict):
                yield _wice_source(validated(_Wice, record, where)), path, number
            else:
                yield _page_source(record, where, reader), path, number
        except RecordError as error:
            yield error
    if page[1]:
        yield _joined(path, *page)
    for line, passages in wafer.values():
        yield _joined(path, line, passages)


def _joined(path: Path, line: int, passages: Sequence[_Passage]) -> LocatedSource:
    texts = dict.fromkeys(passage.text for passage in passages)  # in order, each once
    title = next((passage.title for passage in passages if passage.title), "")
    return Source(passages[0].url, title, "\n".join(filter(None, texts))), path, line


def _page_source(record: dict[str, Any], where: str, reader: PageReader) -> Source:
    page = validated(_Page, record, where, EXAMPLE)
    given = [each for each in (page.text, page.sentences, page.html) if each is not None]
    if len(given) != 1:
        problem = f"one of text, sentences, html is needed, and there are {len(given)}"
        raise RecordError(where, "text", problem, EXAMPLE)
    fields = page.model_dump(exclude={"url", "text", "sentences", "html"})
    if page.html is not None:
        file = io.BytesIO(page.html.encode("utf-8", "replace"))
        source = reader.source(file, "page.html", where, page.url)
        return replace(source, **{name: value for name, value in fields.items() if value})
    if page.sentences is not None:
        return Source(page.url, **fields, text="\n".join(page.sentences))
    lines: list[str] = []  # with the headings of a text in parts on lines of their own
    section: tuple[str, ...] = ()
    for paragraph in nested_paragraphs(page.text, "text", where):
        if paragraph.section != section:
            section = paragraph.section
            lines += section[-1:]
        lines.append(paragraph.text)
    return Source(page.url, **fields, text="\n".join(lines))


def wice_url(record_id: str) -> str:
    """Return the name of the source of a record of WiCE, whose pages have no URLs.

    Sub-claims, with ids such as ``dev01234-2``, share the page of their claim.
    """
    return f"wice:{record_id.partition('-')[0]}"


def _wice_source(record: _Wice) -> Source:
    found = [(line, _METADATA.fullmatch(line)) for line in record.evidence]
    metadata = {match[1]: match[2] for _, match in found if match}
    return Source(
        url=wice_url(record.meta.id),
        title=metadata.get("TITLE", ""),
        # Headings are marked by #, as in Markdown.
        text="\n".join(line.lstrip("#").strip() for line, match in found if not match),
        site=metadata.get("PUBLISHER", ""),
        date=metadata.get("PUBLISHED DATETIME", ""),
    )
