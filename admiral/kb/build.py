"""Build a knowledge base directory from corpora, in constant memory and atomically."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from admiral.kb.bm25 import BACKENDS, check_backend
from admiral.kb.corpus.corpora import Corpora, check_choice
from admiral.kb.corpus.duplicates import POLICIES, UniqueTitleWriter
from admiral.kb.corpus.file_reports import check_report_path
from admiral.kb.corpus.readers import FilePatterns
from admiral.kb.corpus.sharded_corpora import ShardedCorpora
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.index_building import NO_BM25, SHARDS, BuildWorkers, write_indexes
from admiral.kb.store.manifest import copy_permissions, is_knowledge_base, write_manifest
from admiral.kb.stored_embeddings import embed_new_segment
from admiral.storage.atomic_directories import staging


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Report of a build.

    Attributes
    ----------
    documents, sentences, links
        Numbers in the knowledge base.
    bad
        Number of bad records left out by `skip_bad`.
    duplicates
        Number of records with duplicate titles, which were merged, skipped or renamed.
    skipped
        Numbers of files in folders of documents that were not read, by reason.
    split
        Number of sentences that were too long and have been split.
    bytes, seconds
        Size on disk and time taken.
    """

    path: Path
    documents: int
    sentences: int
    links: int
    bad: int
    duplicates: int
    skipped: dict[str, int]
    split: int
    bytes: int
    seconds: float


def build(
    corpora: Sequence[str | Path] | str | Path,
    kb_path: str | Path,
    *,
    format: str = "auto",
    bm25: str = "lucene",
    passages: bool = True,
    on_duplicate: str = "auto",
    skip_bad: bool = False,
    strict: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    overwrite: bool = False,
    progress: bool = True,
    workers: BuildWorkers | None = None,
    encoder: SentenceEncoder | None = None,
    report: str | Path | None = None,
) -> BuildReport:
    """Build a knowledge base from one or more corpora.

    Parameters
    ----------
    corpora
        Files or folders, or URLs (see `admiral.io.remote`).
    kb_path
        Directory to create. It appears only once it is complete.
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    bm25
        Backend of the BM25 index, or ``none`` for a knowledge base without one.
    passages
        Whether BM25 scores documents of more than 40 sentences by their best passage, instead of as
        a whole. Releases before 0.2.0 do not open a knowledge base with such passages.
    on_duplicate
        Policy for duplicate titles: ``error``, ``merge`` to append the sentences to the first
        document, ``skip`` to keep the first document, or ``rename`` to ``title (2)``, and files to
        what differs in their paths. ``auto`` renames files; for other records it is an error.
    skip_bad
        Whether to count and report bad records instead of raising an error for the first.
    strict
        Whether to raise an error for the first damaged file of a folder of documents. By default,
        such files are counted and reported, and the others are read.
    include, exclude
        Patterns as in ``.gitignore`` for the files of folders of documents: which to read, if there
        are any, and which not to read.
    workers
        Workers that read and index shards; None does everything in this process.
    encoder
        Encoder whose vectors of all sentences are stored, as `admiral.kb.embed` does, in this
        process; None stores none.
    report
        File to write, with a line of JSON on what became of each input file (see the page "Your own
        documents"); None writes none.

    Raises
    ------
    AdmiralError
        If the corpora cannot be read or the directory cannot be written. An existing knowledge base
        is then unchanged.
    """
    began = time.monotonic()
    _check_bm25(bm25)
    check_choice("on_duplicate", on_duplicate, POLICIES)
    target = checked_kb_path(kb_path)
    patterns = FilePatterns(tuple(include), tuple(exclude))
    report = Path(report) if report is not None else None
    sources = Corpora(corpora, format, skip_bad, patterns, strict=strict, reported=bool(report))
    if report is not None:
        check_report_path(report, target, sources.paths)
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        if workers is not None:
            sources = ShardedCorpora(
                corpora,
                format,
                skip_bad,
                directory,
                workers,
                patterns,
                strict=strict,
                reported=bool(report),
            )
        writer = UniqueTitleWriter(directory, on_duplicate)
        written = writer.write(sources, progress)
        write_indexes(directory, bm25, progress, workers, passages=passages)
        shutil.rmtree(directory / SHARDS, ignore_errors=True)
        if encoder is not None:
            embed_new_segment(directory, encoder, written.documents, progress)
        counts = {
            "documents": written.documents,
            "sentences": written.sentences,
            "links": written.links,
        }
        settings = {
            "bm25": bm25,
            "passages": passages,
            "on_duplicate": on_duplicate,
            "sources": sources.describe(),
            "bad_records": sources.bad,
            "duplicates": writer.duplicates,
        }
        manifest = write_manifest(directory, counts, settings)
        if is_knowledge_base(target):
            copy_permissions(directory, target)
    if report is not None:
        sources.reports.write(report)
    return BuildReport(
        path=target,
        bad=sources.bad,
        duplicates=writer.duplicates,
        skipped=dict(sources.skipped),
        split=sources.split,
        bytes=sum(entry.size for entry in manifest.files.values()),
        seconds=time.monotonic() - began,
        **counts,
    )


def _check_bm25(bm25: str) -> None:
    check_choice("bm25", bm25, (*BACKENDS, NO_BM25))
    if bm25 != NO_BM25:
        check_backend(bm25)  # now, rather than after an hour of reading
