"""Build a library from sources, in constant memory but for the index, and atomically."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.kb.bm25 import check_backend
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.store.manifest import copy_permissions, write_manifest
from admiral.library.canonical_urls import canonical, names_source
from admiral.library.open_library import LIBRARY, checked_library_path, is_library
from admiral.library.passage_windows import check_window
from admiral.library.segment_files import (
    LibrarySettings,
    SegmentWriter,
    clean_source,
    embed_new_sources,
    write_source_indexes,
)
from admiral.library.source_records import Source
from admiral.storage.atomic_directories import staging

DUPLICATES = ("skip", "error")


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
    words: int = 100,
    stride: int = 50,
    bm25: str = "bm25s",
    k1: float = 0.9,
    b: float = 0.4,
    encoder: SentenceEncoder | None = None,
    on_duplicate: str = "skip",
    overwrite: bool = False,
    progress: bool = False,
) -> LibraryReport:
    """Build a library; it appears only once it is complete.

    `words`, `stride`: number of words in a passage, and from one passage to the next; see
    `admiral.library.passage_windows`. `encoder`: encoder whose vectors of all passages are stored;
    None stores none. `on_duplicate`: whether a source whose canonical URL has occurred before is
    left out (``skip``) or an error. Raises AdmiralError if there is no source, one has no URL of
    the web, or the directory cannot be written. An existing library is then unchanged.
    """
    began = time.monotonic()
    check_window(words, stride)
    check_backend(bm25)
    check_choice("on_duplicate", on_duplicate, DUPLICATES)
    settings = LibrarySettings(words, stride, bm25, k1, b)
    target = checked_library_path(path)
    with staging(target, overwrite=overwrite, owned=is_library) as folder:
        incoming = DistinctSources(sources, on_duplicate)
        with SegmentWriter(folder, settings) as writer:
            for source in track_documents(incoming, "reading", enabled=progress):
                writer.append(source)
        if not writer.sources:
            raise AdmiralError(f"{target}: no source given. Check the files and their format")
        write_source_indexes(folder, settings, progress)
        if encoder is not None:
            embed_new_sources(folder, encoder, progress)
        counts = {"documents": writer.sources, "passages": writer.passages}
        manifest = write_manifest(folder, counts, asdict(settings), LIBRARY)
        if is_library(target):
            copy_permissions(folder, target)
    return LibraryReport(
        path=target,
        sources=writer.sources,
        passages=writer.passages,
        empty=incoming.empty,
        duplicates=incoming.duplicates,
        bytes=sum(entry.size for entry in manifest.files.values()),
        seconds=time.monotonic() - began,
    )


class DistinctSources:
    """Iterate over cleaned sources with different canonical URLs.

    `on_duplicate`: whether a source whose canonical URL has occurred before is left out (``skip``)
    or an error. `duplicates`, `empty`: numbers of sources so far that were left out, and that have
    no text.
    """

    def __init__(self, sources: Iterable[Source], on_duplicate: str) -> None:
        self._sources, self._policy = sources, on_duplicate
        self._seen: set[str] = set()
        self.duplicates = self.empty = 0

    def __iter__(self) -> Iterator[Source]:
        for number, given in enumerate(self._sources, start=1):
            source = clean_source(given)
            if not names_source(source.url):
                raise AdmiralError(
                    f"source {number}: its URL {source.url!r} is not one of the web. "
                    "Correct it, or leave the source out"
                )
            url = canonical(source.url)
            if url in self._seen:
                if self._policy == "error":
                    raise AdmiralError(
                        f"source {number}: an earlier source has the same canonical URL, {url}. "
                        "Leave one of them out, or use --on-duplicate skip"
                    )
                self.duplicates += 1
                continue
            self._seen.add(url)
            self.empty += not source.text
            yield source
