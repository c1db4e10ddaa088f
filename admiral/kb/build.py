"""Build a knowledge base directory from corpora, in constant memory and atomically.

Parallel workers read corpora in shards, and the documents are streamed in the order of the corpora.
The bundled demonstration corpus is built into the user's cache on first use.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import platformdirs

from admiral.errors import AdmiralError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.streams import Place, corpus_path
from admiral.kb.bm25 import BACKENDS, check_backend
from admiral.kb.corpus.corpora import Corpora, Incoming, check_choice
from admiral.kb.corpus.duplicates import POLICIES, UniqueTitleWriter
from admiral.kb.corpus.file_reports import (
    FileRange,
    FileReport,
    check_report_path,
    file_size,
    new_report,
    reported_records,
    split_lines,
)
from admiral.kb.corpus.readers import ALL_FILES, WHOLE_FILE_FORMATS, FilePatterns, Record
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
from admiral.kb.store.contents import DOCUMENTS, GRAPH
from admiral.kb.store.document_store import DocumentStore, DocumentWriter
from admiral.kb.store.index_building import (
    NO_BM25,
    SHARDS,
    BuildWorkers,
    Indexing,
    new_folder,
    write_indexes,
)
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
    check_choice("bm25", bm25, (*BACKENDS, NO_BM25))
    if bm25 != NO_BM25:
        check_backend(bm25)  # now, rather than after an hour of reading
    check_choice("on_duplicate", on_duplicate, POLICIES)
    target = checked_kb_path(kb_path)
    report = Path(report) if report is not None else None
    reading: dict[str, Any] = {
        "patterns": FilePatterns(tuple(include), tuple(exclude)),
        "limits": limits,
        "strict": strict,
        "reported": bool(report),
    }
    sources = Corpora(corpora, format, skip_bad, **reading)
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

    def incoming(directory: Path) -> Incoming:
        nonlocal sources
        if workers is not None:
            sources = ShardedCorpora(corpora, format, skip_bad, directory, workers, **reading)
        return sources

    manifest = build_records(
        incoming,
        target,
        settings,
        overwrite=overwrite,
        progress=progress,
        workers=workers,
        encoder=encoder,
        graph_request=request,
        graph_from=0 if graph else GRAPH_DOCUMENTS,
    )
    if report is not None:
        sources.reports.write(report)
    return build_report(target, manifest, time.monotonic() - began)


def build_records(
    incoming: Callable[[Path], Incoming],
    target: Path,
    settings: dict[str, Any],
    *,
    overwrite: bool,
    progress: bool,
    workers: BuildWorkers | None = None,
    encoder: SentenceEncoder | None = None,
    graph_request: str = "",
    graph_from: int = 0,
) -> Manifest:
    """Build a knowledge base of what `incoming` returns for the folder that it is built in.

    `settings`: ``on_duplicate`` and those of `Indexing`; the manifest records them and what was
    read, and from `graph_from` documents on, the request for a graph, if any. Raises AdmiralError
    as `build` does.
    """
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        sources = incoming(directory)
        writer = UniqueTitleWriter(directory, settings["on_duplicate"])
        written = writer.write(sources, progress)
        write_indexes(directory, Indexing.of(settings), progress, workers)
        if encoder is not None:
            embed_new_segment(directory, encoder, written.documents, progress)
        read = {
            "sources": sources.describe(),
            "bad_records": sources.bad,
            "duplicates": writer.duplicates,
            "skipped": dict(sources.skipped),
            "split": sources.split,
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
        name = f"demo-v{FORMAT_VERSION}-{content[:16]}-{backend}"
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


_POSITIONS = "places.npy"


class ShardFile(NamedTuple):
    """A whole file, or a range of its bytes if `end` is not 0."""

    file: str
    first: int = 0
    end: int = 0

    def place(self) -> Place:
        """Return the file or range to read."""
        file = corpus_path(self.file)
        # Readers treat a range like any other file.
        return cast(Place, FileRange(file, self.first, self.end)) if self.end else file


class ReadJob(NamedTuple):
    """Files of a corpus to read into a new folder below `directory`."""

    files: tuple[ShardFile, ...]
    format: str
    skip_bad: bool
    strict: bool
    limits: FileLimits
    directory: str


class ReadReport(NamedTuple):
    """Result of a job."""

    directory: str
    lines: tuple[int, ...]  # number of lines of each range; 0 for whole files
    files: tuple[FileReport, ...]


def read_shard(job: ReadJob) -> ReadReport:
    """Read the files of a job; AdmiralError for the first bad record unless they are skipped."""
    directory = new_folder(job.directory)
    positions, lines, reports = array("Q"), [], []
    with DocumentWriter(directory / DOCUMENTS) as writer:
        for number, file in enumerate(job.files):
            place = file.place()
            report = new_report(place, job.format)
            for record in reported_records(
                place, job.format, report, job.limits, skip_bad=job.skip_bad, strict=job.strict
            ):
                writer.append(record.document)
                positions.append(number << 40 | record.line)
            reports.append(report)
            lines.append(place.lines if isinstance(place, FileRange) else 0)
    values = np.frombuffer(positions, dtype=np.uint64)
    np.save(directory / _POSITIONS, values, allow_pickle=False)
    return ReadReport(str(directory), tuple(lines), tuple(reports))


class ShardedCorpora(Corpora):
    """Corpora that workers read in shards; the records are those of `Corpora`."""

    def __init__(
        self,
        corpora: Sequence[str | Path] | str | Path,
        format: str,
        skip_bad: bool,
        directory: Path,
        workers: BuildWorkers,
        patterns: FilePatterns = ALL_FILES,
        limits: FileLimits = DEFAULT_LIMITS,
        *,
        strict: bool = False,
        reported: bool = False,
    ) -> None:
        super().__init__(
            corpora, format, skip_bad, patterns, limits, strict=strict, reported=reported
        )
        self._given: dict[str, str] = {}  # paths as they were given, by absolute ones
        self._directory, self._workers = directory / SHARDS, workers

    def _good_records(self) -> Iterator[Record]:
        jobs = list(self._jobs())
        lines: Counter[str] = Counter()  # lines read so far, by file
        for job, result in zip(jobs, self._workers.map(read_shard, jobs), strict=True):
            for file, report in zip(job.files, result.files, strict=True):
                report.path = self._given[file.file]
                self.reports.add(file.file, report)
                self._count(report)
            yield from _records(job, result, lines)
            shutil.rmtree(result.directory)

    def _jobs(self) -> Iterator[ReadJob]:
        for path, format in self._corpora:
            files = [f for file in self._files(path, format) for f in self._split(file, format)]
            files_per_job = -(-len(files) // self._workers.shards)
            for start in range(0, len(files), files_per_job):
                chunk = tuple(files[start : start + files_per_job])
                yield ReadJob(
                    chunk, format, self._skip_bad, self._strict, self._limits, str(self._directory)
                )

    def _split(self, file: Place, format: str) -> list[ShardFile]:
        # Absolute, because a worker may have another current directory.
        name = str(file.absolute() if isinstance(file, Path) else file)
        self._given[name] = str(file)
        size = self._workers.bytes
        if format in WHOLE_FILE_FORMATS or file_size(file) <= size:
            return [ShardFile(name)]
        return [ShardFile(name, *ends) for ends in split_lines(file, size)] or [ShardFile(name)]


def _records(job: ReadJob, report: ReadReport, lines: Counter[str]) -> Iterator[Record]:
    files, before = [corpus_path(file.file) for file in job.files], []
    for file, count in zip(job.files, report.lines, strict=True):
        if not file.first:  # start again, as the corpora may contain a file twice
            lines[file.file] = 0
        before.append(lines[file.file])
        lines[file.file] += count
    positions = np.load(Path(report.directory, _POSITIONS), allow_pickle=False)
    store = DocumentStore(Path(report.directory, DOCUMENTS))
    try:
        for document, position in zip(store, positions.tolist(), strict=True):
            number, line = position >> 40, position & ((1 << 40) - 1)
            yield Record(document, files[number], line + before[number])
    finally:
        store.close()
