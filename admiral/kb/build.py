"""From corpora to a knowledge base directory, streaming, all or nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from admiral.kb.corpus.corpora import Sources, check_choice
from admiral.kb.corpus.duplicates import POLICIES
from admiral.kb.corpus.ingest import Ingest
from admiral.kb.corpus.shards import ShardedSources
from admiral.kb.kb_paths import kb_place
from admiral.kb.store.build_workers import SHARDS, Spread
from admiral.kb.store.file_modes import share
from admiral.kb.store.index_building import NO_BM25, write_indexes
from admiral.kb.store.manifest import is_knowledge_base, write_manifest
from admiral.storage.atomic_directories import staging


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did.

    Attributes
    ----------
    documents, sentences, links
        What the knowledge base holds.
    bad
        Records left out by `skip_bad`.
    duplicates
        Records whose title was taken: merged, skipped or renamed.
    bytes, seconds
        Size on disk and time taken.
    """

    path: Path
    documents: int
    sentences: int
    links: int
    bad: int
    duplicates: int
    bytes: int
    seconds: float


def build(
    corpora: Sequence[str | Path] | str | Path,
    kb_path: str | Path,
    *,
    format: str = "auto",
    bm25: str = "lucene",
    on_duplicate: str = "error",
    skip_bad: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    spread: Spread | None = None,
) -> BuildReport:
    """Build a knowledge base from one or more corpora.

    Parameters
    ----------
    corpora
        Files or folders, also by URL (see `admiral.io.remote`).
    kb_path
        The directory to make. It appears when it is complete, and only then.
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    bm25
        The backend of the BM25 index, or ``none`` for a knowledge base without one.
    on_duplicate
        ``error``, ``merge`` (sentences are appended to the first document), ``skip`` (the first
        one stays) or ``rename`` (``title (2)``).
    skip_bad
        Count and report bad records instead of failing at the first.
    overwrite
        Replace an existing knowledge base.
    spread
        Who reads and indexes in parts; None to do it all in this process.

    Raises
    ------
    AdmiralError
        For anything that the user can put right; the old knowledge base is then still there.
    """
    began = time.monotonic()
    _check_bm25(bm25)
    check_choice("on_duplicate", on_duplicate, POLICIES)
    target = kb_place(kb_path)
    sources = Sources(corpora, format, skip_bad)
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        if spread is not None:
            sources = ShardedSources(corpora, format, skip_bad, directory, spread)
        ingest = Ingest(directory, on_duplicate)
        written = ingest.run(sources, progress)
        write_indexes(directory, bm25, progress, spread)
        shutil.rmtree(directory / SHARDS, ignore_errors=True)
        counts = {
            "documents": written.documents,
            "sentences": written.sentences,
            "links": written.links,
        }
        settings = {
            "bm25": bm25,
            "on_duplicate": on_duplicate,
            "sources": sources.describe(),
            "bad_records": sources.bad,
            "duplicates": ingest.duplicates,
        }
        manifest = write_manifest(directory, counts, settings)
        if is_knowledge_base(target):
            share(directory, target)
    return BuildReport(
        path=target,
        bad=sources.bad,
        duplicates=ingest.duplicates,
        bytes=sum(entry.size for entry in manifest.files.values()),
        seconds=time.monotonic() - began,
        **counts,
    )


def _check_bm25(bm25: str) -> None:
    # Imported here: reading a knowledge base without BM25 needs none of it.
    from admiral.kb.bm25 import BACKENDS, check_backend

    check_choice("bm25", bm25, (*BACKENDS, NO_BM25))
    if bm25 != NO_BM25:
        check_backend(bm25)  # now, not after an hour of reading
