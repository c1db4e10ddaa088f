"""Make a knowledge base of sources, or add sources to one; their ids are their canonical URLs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from admiral.errors import RecordError
from admiral.io.progress import track_documents
from admiral.io.sentence_splitter import sentence_spans
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb.change import DerivedPart
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.corpus.records import MESSAGES_SHOWN, FileReport, Record
from admiral.kb.store import read_settings
from admiral.kb.vectors import SentenceEncoder
from admiral.kb.writing import BuildReport, UpdateReport, add_records, build_records
from admiral.records import Document, Page
from admiral.sources import Source
from admiral.sources.canonical_urls import canonical, names_source
from admiral.sources.passage_windows import STRIDE, WORDS, windows
from admiral.sources.source_files import EXAMPLE, SourceFiles

logger = logging.getLogger(__name__)

_LONGEST_NAME = 500  # characters of a title that name a document


def build_sources(
    sources: Iterable[Source],
    kb_path: str | Path,
    *,
    words: int = WORDS,
    stride: int = STRIDE,
    bm25: str = "bm25s",
    k1: float = 0.9,
    b: float = 0.4,
    encoder: SentenceEncoder | None = None,
    overwrite: bool = False,
    graph: bool = False,
    progress: bool = False,
    also: Iterable[DerivedPart] = (),
) -> BuildReport:
    """Build a knowledge base of sources; see `admiral.kb.build`.

    `sources`: if they are `SourceFiles` that have not changed since a build with the same settings,
    the knowledge base is up to date. Of several with one canonical URL, the first counts. `words`,
    `stride`: see `windows`. `k1`, `b`: the defaults are those of SIDE (Pyserini's).
    """
    passages = {"words": words, "stride": stride, "k1": k1, "b": b}
    incoming = _Incoming(sources, passages)
    report = build_records(
        incoming,
        kb_path,
        {**passages, "bm25": bm25, "passages": True, "on_duplicate": "rename"},
        None if incoming.files is None else incoming.files.request,
        {} if incoming.files is None else incoming.files.states(),
        overwrite=overwrite,
        progress=progress,
        encoder=encoder,
        graph=graph,
        also=also,
    )
    return replace(report, duplicates=incoming.duplicates)


def add_sources(
    sources: Iterable[Source],
    kb_path: str | Path,
    *,
    on_duplicate: str = "replace",
    wait: bool = False,
    progress: bool = False,
    also: Iterable[DerivedPart] = (),
) -> UpdateReport:
    """Add sources to a knowledge base, whose other documents may be of any kind.

    Of several with one canonical URL, the first counts. `on_duplicate`: what becomes of a source
    whose canonical URL is in the knowledge base already: it replaces the old one (``replace``), is
    left out (``skip``), or is an error (``error``).
    """
    check_choice("on_duplicate", on_duplicate, ("replace", "skip", "error"))
    incoming = _Incoming(sources, read_settings(kb_path))
    done = add_records(
        incoming, kb_path, on_duplicate=on_duplicate, wait=wait, progress=progress, also=also
    )
    return replace(done, skipped=done.skipped + incoming.duplicates)


class _Incoming:
    """Sources with different canonical URLs, as a knowledge base reads them.

    `duplicates`: number of sources so far that were left out because of their URL.
    """

    def __init__(self, sources: Iterable[Source], settings: dict[str, Any]) -> None:
        self._sources = sources
        self.files = sources if isinstance(sources, SourceFiles) else None
        self._window = settings.get("words", WORDS), settings.get("stride", STRIDE)
        self.bad = self.split = self.duplicates = 0
        self.skipped: Counter[str] = Counter()
        self.reports: dict[str, FileReport] = {}

    def without_documents(self) -> str:
        """Return the message for files that hold nothing."""
        paths = self.files.paths if self.files else ["no source given"]
        return f"{', '.join(map(str, paths))}: no sources in it. {EXAMPLE}"

    def describe(self) -> list[dict[str, str]]:
        """Return the name and format of each path."""
        paths = self.files.paths if self.files else []
        return [{"name": path.name, "format": "sources"} for path in paths]

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records; a source without a URL of the web that is no file is an error."""
        seen: set[str] = set()
        empty: list[str] = []
        given = ((source, Path("source"), n) for n, source in enumerate(self._sources, 1))
        located = given if self.files is None else self.files.located()
        for source, path, line in track_documents(located, "reading", enabled=progress):
            document = source_document(source, *self._window)
            record = Record(document, FileReport(path, "sources"), line)
            if not names_source(source.url) and not source.is_file:
                problem = f"{source.url!r} is not a URL of the web"
                raise RecordError(record.where, "url", problem, "Correct it, or leave it out")
            if document.id in seen:
                self.duplicates += 1
                continue
            seen.add(document.id)
            if not document.sentences:
                empty.append(source.url)
            yield record
        self.bad = self.files.bad if self.files else 0
        if empty:
            self.skipped["without text"] = len(empty)
            more = ", ..." if len(empty) > MESSAGES_SHOWN else ""
            named = ", ".join(empty[:MESSAGES_SHOWN])
            logger.warning("%d sources have no text: %s%s", len(empty), named, more)


def source_document(source: Source, words: int, stride: int) -> Document:
    """Return a source as a document with passages of `words` words at each `stride`."""
    text = clean_text(source.text)
    spans = sentence_spans(text)
    starts = [start for start, _ in spans]
    ends = [end for _, end in spans]
    gaps = tuple(text[e:s] for e, s in zip(ends, [*starts[1:], len(text)], strict=False))
    name, url = clean_title(source.title), clean_title(source.url)
    page = Page(
        url=url,
        name=name,
        site=clean_title(source.site),
        date=clean_title(source.date),
        language=clean_title(source.language),
        archive_url=clean_title(source.archive_url),
        gaps=gaps,
        passages=tuple(windows(text, words, stride, starts)),
    )
    id = canonical(url)
    title = name[:_LONGEST_NAME].strip() or id
    sentences = tuple(text[start:end] for start, end in spans)
    return Document(title, sentences, id=id, page=page)
