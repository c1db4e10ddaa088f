"""Build a knowledge base directory from corpora, in constant memory and atomically."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.kb.bm25 import BACKENDS, check_backend
from admiral.kb.corpus.corpora import Corpora, check_choice
from admiral.kb.corpus.duplicates import POLICIES, UniqueTitleWriter
from admiral.kb.corpus.file_reports import check_report_path
from admiral.kb.corpus.readers import FilePatterns
from admiral.kb.corpus.sharded_corpora import ShardedCorpora
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.contents import GRAPH
from admiral.kb.store.index_building import NO_BM25, SHARDS, BuildWorkers, write_indexes
from admiral.kb.store.manifest import (
    FORMAT_VERSION,
    GRAPH_REQUEST,
    Manifest,
    copy_permissions,
    digest_of,
    is_knowledge_base,
    read_manifest,
    write_manifest,
)
from admiral.kb.stored_embeddings import embed_new_segment
from admiral.storage.atomic_directories import staging
from admiral.storage.checksums import check_files

logger = logging.getLogger(__name__)

#: From so many documents on, retrieval finds more with a graph (docs/graph.md).
GRAPH_DOCUMENTS = 10_000


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
    graph
        Whether a graph is to follow.
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
    graph: bool
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
    graph: bool | None = False,
    limits: FileLimits = DEFAULT_LIMITS,
) -> BuildReport:
    """Build a knowledge base from one or more corpora.

    Parameters
    ----------
    corpora
        Files or folders, or URLs (see `admiral.io.streams`).
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
    graph
        Whether a graph is to follow (`admiral.graph.build_graph`); None: if there are at least
        `GRAPH_DOCUMENTS` documents. The knowledge base records this, so that it does not pass for
        complete without one. If `kb_path` was built from the same files with the same settings, and
        lacks only its graph, it is kept.
    limits
        Limits of time and size of each file of a folder of documents; what is over them is skipped.

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
    sources = Corpora(
        corpora, format, skip_bad, patterns, limits, strict=strict, reported=bool(report)
    )
    if report is not None:
        check_report_path(report, target, sources.paths)
    request = ""
    if graph is not False:
        request = digest_of(
            {
                "files": sources.fingerprint(),
                "bm25": bm25,
                "passages": passages,
                "on_duplicate": on_duplicate,
                "skip_bad": skip_bad,
                "strict": strict,
                "limits": asdict(limits),
                "embeddings": None if encoder is None else encoder.identity.fingerprint,
            }
        )
        kept = _without_its_graph(target, request)
        if kept is not None and (report is None or report.exists()):
            logger.warning(
                "%s: these documents were indexed before; only the graph is missing", target
            )
            return kept
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        if workers is not None:
            sources = ShardedCorpora(
                corpora,
                format,
                skip_bad,
                directory,
                workers,
                patterns,
                limits,
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
            "skipped": dict(sources.skipped),
            "split": sources.split,
        }
        if graph or (graph is None and written.documents >= GRAPH_DOCUMENTS):
            settings[GRAPH_REQUEST] = request
        manifest = write_manifest(directory, counts, settings)
        if is_knowledge_base(target):
            copy_permissions(directory, target)
    if report is not None:
        sources.reports.write(report)
    return _report(target, manifest, time.monotonic() - began)


def _report(path: Path, manifest: Manifest, seconds: float) -> BuildReport:
    return BuildReport(
        path=path,
        bad=manifest.settings["bad_records"],
        duplicates=manifest.settings["duplicates"],
        skipped=manifest.settings["skipped"],
        split=manifest.settings["split"],
        graph=GRAPH_REQUEST in manifest.settings,
        bytes=sum(entry.size for entry in manifest.files.values()),
        seconds=seconds,
        **manifest.counts,
    )


def _without_its_graph(path: Path, request: str) -> BuildReport | None:
    """Return the report of a build that has done all that was asked for but the graph."""
    if not is_knowledge_base(path) or (path / GRAPH).exists():
        return None
    try:
        manifest = read_manifest(path)
        check_files(path, manifest.files, manifest.kind.rebuild)
    except AdmiralError:
        return None
    if manifest.settings.get(GRAPH_REQUEST) != request or manifest.version != FORMAT_VERSION:
        return None
    return _report(path, manifest, 0.0)


def _check_bm25(bm25: str) -> None:
    check_choice("bm25", bm25, (*BACKENDS, NO_BM25))
    if bm25 != NO_BM25:
        check_backend(bm25)  # now, rather than after an hour of reading
