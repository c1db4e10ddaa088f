"""Build a knowledge base from corpora, bring it up to date, add documents and remove them.

The bundled demonstration corpus is built into the user's cache on first use.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import platformdirs

from admiral.errors import AdmiralError
from admiral.io.limited_reading import DEFAULT_LIMITS, FileLimits
from admiral.io.progress import track_documents
from admiral.io.text_cleaning import clean_title
from admiral.kb.bm25 import BACKENDS, FORMAT, check_backend
from admiral.kb.change import Change, DerivedPart, changing
from admiral.kb.corpus.corpora import Corpora, check_choice
from admiral.kb.corpus.folders import FilePatterns
from admiral.kb.intake import ADDING, BY_PATH, POLICIES, Incoming, Intake
from admiral.kb.passages import NO_BM25
from admiral.kb.store import FILE, VERSION, check_kb, checked_kb_path, is_knowledge_base
from admiral.kb.vectors import SentenceEncoder, encoded_documents, stored_encoder, without_vectors
from admiral.requirements import DEMO
from admiral.storage.atomic_files import check_distinct_paths, encode_record, write_atomically

logger = logging.getLogger(__name__)

#: The size of each file and the time of its last change, by path or URL.
FileStates = Mapping[str, tuple[int, int]]
#: Number of documents from which retrieval finds more with a graph (docs/graph.md).
GRAPH_DOCUMENTS = 750
#: Setting of a knowledge base that is to have a graph.
GRAPH_REQUEST = "graph"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Report of a build, or of bringing a knowledge base up to date."""

    path: Path
    # documents, sentences, links: numbers in the knowledge base
    documents: int
    sentences: int
    links: int
    # added, removed: numbers of documents that are new, or gone
    added: int
    removed: int
    bad: int  # bad records left out by `skip_bad`
    duplicates: int  # records with duplicate titles, which were merged, skipped or renamed
    skipped: dict[str, int]  # numbers of files in folders of documents not read, by reason
    split: int  # sentences that were too long and have been split
    graph: bool  # whether a graph is to follow
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Report of a change."""

    path: Path
    documents: int
    # added, replaced, removed: numbers of documents added with a new title, replaced, and removed
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0  # records left out because their title was a duplicate
    bad: int = 0  # bad records left out by `skip_bad`
    missing: int = 0  # titles to remove that the knowledge base does not have
    seconds: float = 0.0


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
    also: Iterable[DerivedPart] = (),
) -> BuildReport:
    """Build a knowledge base from one or more corpora, or bring it up to date.

    A knowledge base that was built from the same corpora with the same settings is brought up to
    date: of folders of documents, files that are new or have changed are read, and the documents of
    files that are gone are removed.

    Parameters
    ----------
    corpora
        Files or folders, or URLs (see `admiral.io.streams`).
    kb_path
        Directory of the knowledge base. A new one appears only once it is complete, and an existing
        one is unchanged if there is an error.
    format
        One of `admiral.kb.corpus.formats.FORMATS` for all corpora, or ``auto``.
    bm25, passages
        Backend of the BM25 index, or ``none``; whether it scores documents of more than 40
        sentences by their best passage, instead of as a whole.
    on_duplicate
        Policy for duplicate titles: ``error``, ``merge`` to append the sentences to the first
        document, ``skip`` to keep the first document, or ``rename`` to ``title (2)``, and files to
        what differs in their paths. ``auto`` renames files; for other records it is an error.
    skip_bad, strict
        Whether to count and report bad records instead of raising an error for the first; whether
        to raise one for the first damaged file of a folder, instead of reporting it.
    include, exclude
        Patterns as in ``.gitignore`` for the files of folders of documents.
    overwrite
        Whether to build anew what is there already.
    encoder
        Encoder whose vectors of all sentences are stored; None stores no others.
    report
        File to write, with a line of JSON on what became of each input file.
    graph
        Whether a graph is to follow (`admiral.graph.build_graph`); None: if there are at least
        `GRAPH_DOCUMENTS` documents. The knowledge base records this, so that it does not pass for
        complete without one.
    limits
        Limits of time and size of each file of a folder of documents; what is over them is skipped.
    also
        What else is derived from the documents, such as `admiral.graph.update_graph`.
    """
    check_choice("on_duplicate", on_duplicate, POLICIES)
    sources = Corpora(
        corpora,
        format,
        skip_bad,
        FilePatterns(tuple(include), tuple(exclude)),
        limits,
        strict=strict,
        reported=report is not None,
    )
    with _reporting(report, kb_path, sources):
        return build_records(
            sources,
            kb_path,
            {"bm25": bm25, "passages": passages, "on_duplicate": on_duplicate},
            {
                **{"corpora": sources.locations(), "skip_bad": skip_bad, "strict": strict},
                **{"include": list(include), "exclude": list(exclude), "limits": asdict(limits)},
            },
            sources.states(),
            overwrite=overwrite,
            progress=progress,
            encoder=encoder,
            graph=graph,
            also=also,
        )


@contextmanager
def _reporting(report: str | Path | None, kb_path: str | Path, corpora: Corpora) -> Iterator[None]:
    """Write the reports of the files after the block, if it succeeds."""
    if report is None:
        yield
        return
    path = Path(report)
    inputs = (place for place in corpora.paths if isinstance(place, Path))
    check_distinct_paths(path, *inputs, folders=[kb_path])
    yield
    write_atomically(path, (encode_record(each.to_json()) for each in corpora.reports.values()))


def build_records(
    incoming: Incoming,
    kb_path: str | Path,
    settings: Mapping[str, Any],
    request: Mapping[str, Any] | None = None,
    states: FileStates = MappingProxyType({}),
    *,
    overwrite: bool,
    progress: bool,
    encoder: SentenceEncoder | None = None,
    graph: bool | None = False,
    also: Iterable[DerivedPart] = (),
    wait: bool = False,
) -> BuildReport:
    """Build a knowledge base of what `incoming` reads, or bring it up to date, as `build` does.

    `settings`: ``on_duplicate`` and those of the BM25 index. `request`: what decides what is read;
    None if the same cannot be read again. `states`: the states of the files that are read.
    """
    began = time.monotonic()
    check_choice("bm25", settings["bm25"], (*BACKENDS, NO_BM25))
    _check_bm25(settings["bm25"])  # now, rather than after an hour of reading
    target = checked_kb_path(kb_path)
    if not overwrite and is_knowledge_base(target):
        check_kb(target)  # of this release
    with changing(target, create=True, wait=wait) as change:
        if not change.is_new and not overwrite:
            if request is None:
                raise AdmiralError(f"{target}: exists already. Give --overwrite to replace it.")
            _check_request(change, {**settings, "request": request})
            intake = _update(change, incoming, states, progress)
        else:
            if not change.is_new:
                change.clear()
            intake = Intake(change, settings["on_duplicate"])
            intake.read(incoming, progress)
            if not change.counts["documents"]:
                raise AdmiralError(incoming.without_documents())
        for path, state in states.items():
            change.file_number(path, *state)
        counts, known = change.counts, change.store.settings
        wanted = graph or (graph is None and counts["documents"] >= GRAPH_DOCUMENTS)
        read: dict[str, Any] = {name: known.get(name) for name in _READ}
        if intake is not None:
            read = {
                "sources": incoming.describe(),
                "bad_records": incoming.bad,
                "duplicates": intake.duplicates,
                "skipped": dict(incoming.skipped),
                "split": incoming.split,
            }
        added, removed = change.added, len(change.removed)
        own = {**settings, **read, "request": request, GRAPH_REQUEST: wanted}
        if encoder is not None:
            own["encoder"] = _embed(change, encoder, progress)
        if added or removed:
            change.publish(own, also, progress)
        else:
            change.save(own)
    return BuildReport(
        path=target,
        added=added,
        removed=removed,
        bad=read["bad_records"],
        duplicates=read["duplicates"],
        skipped=read["skipped"],
        split=read["split"],
        graph=wanted,
        bytes=size_on_disk(target),
        seconds=time.monotonic() - began,
        **{name: counts[name] for name in ("documents", "sentences", "links")},
    )


# Settings of a knowledge base that say what was read.
_READ = ("sources", "bad_records", "duplicates", "skipped", "split")


def size_on_disk(path: Path) -> int:
    """Return the number of bytes of all files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _check_request(change: Change, wanted: Mapping[str, Any]) -> None:
    known = change.store.settings
    differs = [name for name, value in wanted.items() if known.get(name) != value]
    if differs:
        what = ", ".join("corpora or options" if name == "request" else name for name in differs)
        raise AdmiralError(
            f"{change.path}: exists already, and was built with other {what}. Give --overwrite to "
            "replace it, or use `admiral add`."
        )


def _update(
    change: Change, incoming: Incoming, states: FileStates, progress: bool
) -> Intake | None:
    """Read the files that have changed, and remove the documents of those that are gone.

    None if there are no such files.
    """
    store = change.store
    known = {
        path: (size, changed)
        for path, size, changed in store.all(
            "SELECT path, size, changed FROM files WHERE size IS NOT NULL"
        )
    }
    different = [path for path, state in states.items() if known.get(path) != state]
    gone = [path for path in known if path not in states]
    settings = store.settings
    if not different and not gone:
        store.check_derived()
        logger.warning("%s: is up to date: no file has changed since it was built", change.path)
        return None
    by_path = settings["on_duplicate"] in BY_PATH
    is_folder = all(each["format"] == "files" for each in incoming.describe())
    if not (isinstance(incoming, Corpora) and by_path and is_folder):
        raise AdmiralError(
            f"{(different + gone)[0]}: has changed since it was indexed. Only folders of documents "
            "that are told apart by their paths are brought up to date; give --overwrite to index "
            "all again."
        )
    for path in (*different, *gone):
        rows = store.all(
            "SELECT row FROM documents JOIN files ON number = file "
            "WHERE path = ? AND source IS NOT NULL",
            path,
        )
        for (row,) in rows:
            change.remove(row)
        change.connection.execute("UPDATE files SET size = NULL WHERE path = ?", [path])
    incoming.unchanged = states.keys() - different
    intake = Intake(change, settings["on_duplicate"])
    intake.read(incoming, progress, all_files=True)
    intake.duplicates = store.one("SELECT count(*) FROM documents WHERE own IS NOT NULL")
    return intake


def _embed(change: Change, encoder: SentenceEncoder, progress: bool) -> dict[str, Any]:
    """Store the vectors of documents that have none of an encoder, and return its identity."""
    store = change.store
    if stored_encoder(store) not in (None, encoder.identity):
        change.connection.execute("DELETE FROM vectors")
    rows = without_vectors(store)
    documents: Iterable[tuple[int, Any]] = ((row, store.read_document(row)) for row in rows)
    documents = track_documents(documents, "embedding", total=len(rows), enabled=progress)
    vectors = encoded_documents(documents, encoder)
    change.connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors)
    return asdict(encoder.identity)


def embed(
    kb_path: str | Path, encoder: SentenceEncoder, *, wait: bool = False, progress: bool = True
) -> int:
    """Store the vectors of all sentences of a knowledge base, in eight bits per component.

    Vectors of the same encoder that are stored already are kept. Return the number of documents
    that had none.
    """
    with changing(kb_path, wait=wait) as change:
        known = stored_encoder(change.store) == encoder.identity
        new = len(without_vectors(change.store)) if known else int(change.counts["documents"])
        change.save({"encoder": _embed(change, encoder, progress)})
    return new


def add(
    corpora: Sequence[str | Path] | str | Path,
    kb_path: str | Path,
    *,
    format: str = "auto",
    on_duplicate: str = "error",
    skip_bad: bool = False,
    strict: bool = False,
    wait: bool = False,
    progress: bool = True,
    report: str | Path | None = None,
    limits: FileLimits = DEFAULT_LIMITS,
    also: Iterable[DerivedPart] = (),
) -> UpdateReport:
    """Add the documents of one or more corpora to a knowledge base.

    `on_duplicate`: policy for a title that is already in the knowledge base or occurs earlier in
    the corpora: ``error``, ``replace`` to keep the last document, or ``skip`` to keep the first.
    The knowledge base is unchanged if there is an error.
    """
    check_choice("on_duplicate", on_duplicate, ADDING)
    incoming = Corpora(
        corpora, format, skip_bad, limits=limits, strict=strict, reported=report is not None
    )
    with _reporting(report, kb_path, incoming):
        done = add_records(
            incoming, kb_path, on_duplicate=on_duplicate, wait=wait, progress=progress, also=also
        )
        if not done.added + done.replaced + done.skipped:
            raise AdmiralError(incoming.without_documents())
    return done


def add_records(
    incoming: Incoming,
    kb_path: str | Path,
    *,
    on_duplicate: str,
    wait: bool,
    progress: bool,
    also: Iterable[DerivedPart] = (),
) -> UpdateReport:
    """Add records to a knowledge base, as `add` does."""
    began = time.monotonic()
    with changing(kb_path, wait=wait) as change:
        _check_bm25(change.store.settings["bm25"])
        intake = Intake(change, on_duplicate, adding=True)
        intake.read(incoming, progress)
        added = change.added
        if added:
            known = change.store.settings["sources"]
            sources = known + [each for each in incoming.describe() if each not in known]
            change.publish({"sources": sources}, also, progress)
    return UpdateReport(
        Path(kb_path),
        change.counts["documents"],
        added=added - intake.replaced,
        replaced=intake.replaced,
        skipped=intake.skipped,
        bad=incoming.bad,
        seconds=time.monotonic() - began,
    )


def remove(
    names: str | Iterable[str],
    kb_path: str | Path,
    *,
    ignore_missing: bool = False,
    wait: bool = False,
    progress: bool = True,
    also: Iterable[DerivedPart] = (),
) -> UpdateReport:
    """Remove documents from a knowledge base.

    `names`: titles or ids of the documents, or one of them; the id of a source is its canonical
    URL. Repeated names count once. `ignore_missing`: whether to count names that the knowledge base
    does not have instead of raising an error.
    """
    began = time.monotonic()
    distinct = list(dict.fromkeys(map(clean_title, [names] if isinstance(names, str) else names)))
    if not distinct:
        raise AdmiralError("no title given. Name at least one document to remove.")
    with changing(kb_path, wait=wait) as change:
        store = change.store
        _check_bm25(store.settings["bm25"])
        rows = {name: store.row(name) for name in distinct}
        rows = {n: store.row_of_id(n) if row is None else row for n, row in rows.items()}
        missing = [name for name, row in rows.items() if row is None]
        if missing and not ignore_missing:
            more = f", nor {len(missing) - 1:,} more of those named" if len(missing) > 1 else ""
            raise AdmiralError(
                f"{kb_path}: no document has the title or URL {missing[0]!r}{more}. Titles are "
                "matched exactly; `admiral titles` completes them, and --ignore-missing skips them."
            )
        for row in {row for row in rows.values() if row is not None}:
            change.remove(row)
        removed = len(change.removed)
        if removed:
            change.publish({}, also, progress)
    return UpdateReport(
        Path(kb_path),
        change.counts["documents"],
        removed=removed,
        missing=len(missing),
        seconds=time.monotonic() - began,
    )


def _check_bm25(backend: str) -> None:
    """Raise `AdmiralError` if the BM25 index cannot be written, before any corpus is read."""
    if backend != NO_BM25:
        check_backend(backend)


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
        name = f"demo-v{VERSION}-{content[:16]}-{backend}-v{FORMAT}"
        target = platformdirs.user_cache_path("admiral") / name
        if (target / FILE).exists():
            return target
        logger.info("building the demo knowledge base in %s", target)
        settings = {"bm25": backend, "passages": True, "on_duplicate": "auto"}
        try:
            # If another process builds it meanwhile, it is up to date after the wait.
            build_records(
                Corpora(corpus), target, settings, {}, overwrite=False, progress=False, wait=True
            )
        except AdmiralError as error:
            raise AdmiralError(f"{error} Or set XDG_CACHE_HOME to a writable folder.") from error
    return target


def default_backend() -> str:
    """Return ``lucene`` if it can run here, otherwise ``bm25s``."""
    try:
        check_backend("lucene")
    except AdmiralError:
        return "bm25s"
    return "lucene"
