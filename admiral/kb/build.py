"""Build a knowledge base directory from corpora, in constant memory and atomically.

The bundled demonstration corpus is built into the user's cache on first use.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import platformdirs

from admiral.errors import AdmiralError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.kb.bm25 import BACKENDS, FORMAT, check_backend
from admiral.kb.corpus.corpora import Corpora, Incoming, check_choice
from admiral.kb.corpus.duplicates import POLICIES, UniqueTitleWriter
from admiral.kb.corpus.file_reports import check_report_path
from admiral.kb.corpus.readers import FilePatterns
from admiral.kb.embeddings import SentenceEncoder
from admiral.kb.store import (
    FORMAT_VERSION,
    GRAPH_REQUEST,
    Manifest,
    checked_kb_path,
    copy_permissions,
    digest_of,
    is_knowledge_base,
    read_manifest,
    write_manifest,
)
from admiral.kb.store.contents import GRAPH
from admiral.kb.store.index_building import NO_BM25, Indexing, write_indexes
from admiral.kb.stored_embeddings import embed_new_segment
from admiral.requirements import DEMO
from admiral.storage.atomic_files import WriterLock, check_files, staging

logger = logging.getLogger(__name__)

#: Number of documents from which retrieval finds more with a graph (docs/graph.md).
GRAPH_DOCUMENTS = 750


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
    encoder
        Encoder whose vectors of all sentences are stored, as `admiral.kb.embed` does; None stores
        none.
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
    check_choice("bm25", bm25, (*BACKENDS, NO_BM25))
    if bm25 != NO_BM25:
        check_backend(bm25)  # now, rather than after an hour of reading
    check_choice("on_duplicate", on_duplicate, POLICIES)
    target = checked_kb_path(kb_path)
    report = Path(report) if report is not None else None
    sources = Corpora(
        corpora,
        format,
        skip_bad,
        FilePatterns(tuple(include), tuple(exclude)),
        limits,
        strict=strict,
        reported=report is not None,
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
    settings: dict[str, Any] = {"bm25": bm25, "passages": passages, "on_duplicate": on_duplicate}
    manifest = build_records(
        sources,
        target,
        settings,
        overwrite=overwrite,
        progress=progress,
        encoder=encoder,
        graph_request=request,
        graph_from=0 if graph else GRAPH_DOCUMENTS,
    )
    if report is not None:
        sources.reports.write(report)
    return build_report(target, manifest, time.monotonic() - began)


def build_records(
    incoming: Incoming,
    target: Path,
    settings: dict[str, Any],
    *,
    overwrite: bool,
    progress: bool,
    encoder: SentenceEncoder | None = None,
    graph_request: str = "",
    graph_from: int = 0,
) -> Manifest:
    """Build a knowledge base of what `incoming` reads.

    `settings`: ``on_duplicate`` and those of `Indexing`; the manifest records them and what was
    read, and from `graph_from` documents on, the request for a graph, if any. Raises AdmiralError
    as `build` does.
    """
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        writer = UniqueTitleWriter(directory, settings["on_duplicate"])
        written = writer.write(incoming, progress)
        write_indexes(directory, Indexing.of(settings), progress)
        if encoder is not None:
            embed_new_segment(directory, encoder, written.documents, progress)
        read = {
            "sources": incoming.describe(),
            "bad_records": incoming.bad,
            "duplicates": writer.duplicates,
            "skipped": dict(incoming.skipped),
            "split": incoming.split,
        }
        if graph_request and written.documents >= graph_from:
            read[GRAPH_REQUEST] = graph_request
        manifest = write_manifest(directory, dict(written.counts), {**read, **settings})
        if is_knowledge_base(target):
            copy_permissions(directory, target)
    return manifest


def build_report(path: Path, manifest: Manifest, seconds: float) -> BuildReport:
    """Return the report of a build."""
    return BuildReport(
        path=path,
        bad=manifest.settings["bad_records"],
        duplicates=manifest.settings["duplicates"],
        skipped=manifest.settings["skipped"],
        split=manifest.settings["split"],
        graph=GRAPH_REQUEST in manifest.settings,
        bytes=sum(entry.size for entry in manifest.files.values()),
        seconds=seconds,
        **{name: manifest.counts[name] for name in ("documents", "sentences", "links")},
    )


def _without_its_graph(path: Path, request: str) -> BuildReport | None:
    """Return the report of a build that has done all that was asked for but the graph."""
    if not is_knowledge_base(path) or (path / GRAPH).exists():
        return None
    try:
        manifest = read_manifest(path)
        check_files(path, manifest.files)
    except AdmiralError:
        return None
    if manifest.settings.get(GRAPH_REQUEST) != request or manifest.version != FORMAT_VERSION:
        return None
    return build_report(path, manifest, 0.0)


def locate(kb: str | Path | None) -> Path:
    """Return the directory of a knowledge base: that of the demo for None or ``demo``."""
    return demo_kb() if kb is None or str(kb) == DEMO else checked_kb_path(kb)


def demo_kb(bm25: str | None = None) -> Path:
    """Return the directory of the demo knowledge base, which is built on first use.

    It is built once for each corpus content, format version and backend. Several processes may call
    this at the same time. Without `bm25`, the backend is that of `default_backend`.
    """
    backend = bm25 or default_backend()
    with as_file(files("admiral") / "data" / "demo" / "documents.jsonl") as corpus:
        try:
            content = hashlib.sha256(corpus.read_bytes()).hexdigest()
        except OSError as error:
            raise AdmiralError(
                f"{corpus}: cannot be read ({error.strerror}). Install the package again."
            ) from error
        name = f"demo-v{FORMAT_VERSION}-{content[:16]}-{backend}-v{FORMAT}"
        target = platformdirs.user_cache_path("admiral") / name
        if _usable(target):
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            lock_file = target.with_name(f"{name}.building")
            with WriterLock(lock_file, target, "building it", wait=True):
                # Another process may have built it while this one waited for the lock.
                if not _usable(target):
                    logger.info("building the demo knowledge base in %s", target)
                    build(corpus, target, bm25=backend, overwrite=True, progress=False)
        except OSError as error:
            raise AdmiralError(
                f"{target}: cannot be written ({error.strerror or error}). Set XDG_CACHE_HOME to a "
                "writable folder."
            ) from error
    return target


def default_backend() -> str:
    """Return ``lucene`` if it can run here, otherwise ``bm25s``."""
    try:
        check_backend("lucene")
    except AdmiralError:
        return "bm25s"
    return "lucene"


def _usable(directory: Path) -> bool:
    try:
        check_files(directory, read_manifest(directory).files)
    except AdmiralError:
        return False
    return True
