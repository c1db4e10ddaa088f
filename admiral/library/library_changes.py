"""Build a library, add sources and remove them: a knowledge base whose documents are pages."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.io.sentence_splitter import sentence_spans
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb.bm25 import check_backend
from admiral.kb.change import DerivedPart
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.corpus.file_reports import FileReports
from admiral.kb.corpus.readers import Record
from admiral.kb.info import info
from admiral.kb.store import Store, checked_kb_path
from admiral.kb.vectors import SentenceEncoder
from admiral.kb.writing import (
    UpdateReport,
    add_records,
    build_records,
    remove_documents,
    size_on_disk,
)
from admiral.library import Source
from admiral.library.canonical_urls import canonical, names_source
from admiral.library.passage_windows import STRIDE, WORDS, check_window, windows
from admiral.records import Document, Page

_LONGEST_NAME = 500  # characters of a title that name a document


def source_document(source: Source, words: int, stride: int) -> Document:
    """Return a source as a document, whose id is its canonical URL.

    `words`, `stride`: number of words in a passage, and from one passage to the next; see
    `admiral.library`.
    """
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


class SourceRecords:
    """Sources with different canonical URLs, as a knowledge base reads them.

    `on_duplicate`: whether a source whose canonical URL has occurred before is left out (``skip``)
    or an error. `duplicates`, `empty`: numbers of sources so far that were left out, and that have
    no text.
    """

    def __init__(
        self, sources: Iterable[Source], settings: dict[str, Any], on_duplicate: str = "skip"
    ) -> None:
        self._sources, self._policy = sources, on_duplicate
        self._window = settings.get("words", WORDS), settings.get("stride", STRIDE)
        self._seen: set[str] = set()
        self.bad = self.split = self.duplicates = self.empty = 0
        self.skipped: Counter[str] = Counter()
        self.reports = FileReports(kept=False)

    def __str__(self) -> str:
        return "no source given"

    def describe(self) -> list[dict[str, str]]:
        """Return nothing: sources name themselves."""
        return []

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records.

        Raises AdmiralError if a source has no URL of the web and is no file.
        """
        sources = track_documents(self._sources, "reading", enabled=progress)
        for number, source in enumerate(sources, start=1):
            document = source_document(source, *self._window)
            if not names_source(source.url) and not source.is_file:
                raise AdmiralError(
                    f"source {number}: its URL {source.url!r} is not one of the web. "
                    "Correct it, or leave the source out"
                )
            if document.id in self._seen:
                if self._policy == "error":
                    raise AdmiralError(
                        f"source {number}: an earlier source has the same canonical URL, "
                        f"{document.id}. Leave one of them out, or use --on-duplicate skip"
                    )
                self.duplicates += 1
                continue
            self._seen.add(document.id)
            self.empty += not document.sentences
            yield Record(document, Path("source"), number)


@dataclass(frozen=True, slots=True)
class LibraryReport:
    """Report of the build of a library."""

    path: Path
    sources: int
    passages: int
    empty: int
    duplicates: int  # number of sources left out because an earlier one has the same canonical URL
    bytes: int
    seconds: float


def build_library(
    path: str | Path,
    sources: Iterable[Source],
    *,
    words: int = WORDS,
    stride: int = STRIDE,
    bm25: str = "bm25s",
    k1: float = 0.9,
    b: float = 0.4,
    encoder: SentenceEncoder | None = None,
    on_duplicate: str = "skip",
    overwrite: bool = False,
    progress: bool = False,
) -> LibraryReport:
    """Build a library; it appears only once it is complete.

    `words`, `stride`: see `source_document`. `k1`, `b`: parameters of BM25. The defaults are those
    of SIDE (Pyserini's). `encoder`: encoder whose vectors of all passages are stored; None stores
    none. `on_duplicate`: whether a source whose canonical URL has occurred before is left out
    (``skip``) or an error. Raises AdmiralError if there is no source, one has no URL of the web, or
    the directory cannot be written. An existing library is then unchanged.
    """
    began = time.monotonic()
    check_window(words, stride)
    check_backend(bm25)
    check_choice("on_duplicate", on_duplicate, ("skip", "error"))
    settings: dict[str, Any] = {
        **{"words": words, "stride": stride, "bm25": bm25, "k1": k1, "b": b},
        **{"passages": True, "on_duplicate": "rename"},
    }
    incoming = SourceRecords(sources, settings, on_duplicate)
    target = checked_kb_path(path, "library").absolute()
    written = build_records(
        incoming,
        target,
        settings,
        overwrite=overwrite,
        progress=progress,
        encoder=encoder,
    )
    return LibraryReport(
        path=target,
        sources=written.counts["documents"],
        passages=written.counts["passages"],
        empty=incoming.empty,
        duplicates=incoming.duplicates,
        bytes=size_on_disk(target),
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True, slots=True)
class LibraryChange:
    """Report of a change."""

    path: Path
    sources: int
    passages: int
    # added, replaced, removed: numbers of sources with a new URL, with a known URL, and removed
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0
    missing: int = 0
    embedded: int = 0  # number of sources whose passages were embedded
    seconds: float = 0.0

    @classmethod
    def of(cls, done: UpdateReport, *, skipped: int = 0) -> LibraryChange:
        """Return what the report of a change of a knowledge base says of sources."""
        return cls(
            done.path,
            done.documents,
            done.passages,
            done.added,
            done.replaced,
            done.removed,
            done.skipped + skipped,
            done.missing,
            seconds=done.seconds,
        )


def add_sources(
    path: str | Path,
    sources: Iterable[Source],
    *,
    on_duplicate: str = "replace",
    wait: bool = False,
    progress: bool = False,
    also: Iterable[DerivedPart] = (),
) -> LibraryChange:
    """Add sources to a library, or to any knowledge base.

    New passages have no vectors until `admiral.kb.embed` is called. `sources`: read once. Of
    several with one canonical URL, the first counts. `on_duplicate`: what becomes of a source whose
    canonical URL is in the library already: it replaces the old one (``replace``), is left out
    (``skip``), or is an error (``error``). Raises AdmiralError if a source or the library cannot be
    used; the library is then unchanged.
    """
    check_choice("on_duplicate", on_duplicate, ("replace", "skip", "error"))
    incoming = SourceRecords(sources, info(path).settings)
    done = add_records(
        incoming, path, on_duplicate=on_duplicate, wait=wait, progress=progress, also=also
    )
    return LibraryChange.of(done, skipped=incoming.duplicates)


def remove_sources(
    path: str | Path,
    urls: Iterable[str],
    *,
    ignore_missing: bool = False,
    wait: bool = False,
    progress: bool = False,
    also: Iterable[DerivedPart] = (),
) -> LibraryChange:
    """Remove sources from a library.

    `ignore_missing`: whether to count URLs that the library does not have instead of raising an
    error. Raises AdmiralError if a URL is missing, no source would be left, or the library cannot
    be changed; it is then unchanged.
    """
    names = list(dict.fromkeys(map(canonical, [urls] if isinstance(urls, str) else urls)))
    if not names:
        raise AdmiralError("no URL given. Name at least one source to remove")

    def unknown(missing: list[str]) -> AdmiralError:
        return AdmiralError(
            f"{path}: has no source with the canonical URL {missing[0]!r}. Correct it, or use "
            "--ignore-missing"
        )

    given = None if ignore_missing else unknown
    done = remove_documents(
        names, path, Store.row_of_id, given, wait=wait, progress=progress, also=also
    )
    return LibraryChange.of(done)
