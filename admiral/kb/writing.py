"""Build a knowledge base from corpora, bring it up to date, add documents and remove them.

The bundled demonstration corpus is built into the user's cache on first use.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
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
from admiral.kb.corpus.corpora import Corpora, Incoming, check_choice
from admiral.kb.corpus.file_reports import check_report_path
from admiral.kb.corpus.readers import FilePatterns
from admiral.kb.intake import ADDING, BY_PATH, POLICIES, Intake
from admiral.kb.passages import NO_BM25
from admiral.kb.store import FILE, VERSION, Store, check_kb, checked_kb_path, is_knowledge_base
from admiral.kb.vectors import SentenceEncoder, encoded_documents, stored_encoder, without_vectors
from admiral.requirements import DEMO

logger = logging.getLogger(__name__)

#: The size of each file and the time of its last change, by path or URL.
FileStates = Mapping[str, tuple[int, int]]
#: Number of documents from which retrieval finds more with a graph (docs/graph.md).
GRAPH_DOCUMENTS = 750
#: Setting of a knowledge base that is to have a graph.
GRAPH_REQUEST = "graph"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Report of a build, or of bringing a knowledge base up to date.

    Attributes
    ----------
    documents, sentences, links
        Numbers in the knowledge base.
    added, removed
        Numbers of documents that are new, or gone.
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
    added: int
    removed: int
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
        Directory of the knowledge base. A new one appears only once it is complete.
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    bm25
        Backend of the BM25 index, or ``none`` for a knowledge base without one.
    passages
        Whether BM25 scores documents of more than 40 sentences by their best passage, instead of as
        a whole.
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
    overwrite
        Whether to build anew what is there already.
    encoder
        Encoder whose vectors of all sentences are stored; None stores no others.
    report
        File to write, with a line of JSON on what became of each input file (see the page "Your own
        documents"); None writes none.
    graph
        Whether a graph is to follow (`admiral.graph.build_graph`); None: if there are at least
        `GRAPH_DOCUMENTS` documents. The knowledge base records this, so that it does not pass for
        complete without one.
    limits
        Limits of time and size of each file of a folder of documents; what is over them is skipped.
    also
        What else is derived from the documents, such as `admiral.graph.update_graph`.

    Raises
    ------
    AdmiralError
        If the corpora cannot be read or the directory cannot be written. An existing knowledge base
        is then unchanged.
    """
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
    result = build_records(
        sources,
        target,
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
    if report is not None:
        sources.reports.write(report)
    return result


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
) -> BuildReport:
    """Build a knowledge base of what `incoming` reads, or bring it up to date, as `build` does.

    `settings`: ``on_duplicate`` and those of the BM25 index. `request`: what decides what is read;
    None if the same cannot be read again. `states`: the states of the files that are read.
    """
    began = time.monotonic()
    check_choice("bm25", settings["bm25"], (*BACKENDS, NO_BM25))
    if settings["bm25"] != NO_BM25:
        check_backend(settings["bm25"])  # now, rather than after an hour of reading
    target = checked_kb_path(kb_path)
    if not overwrite and is_knowledge_base(target):
        check_kb(target)  # of this release
    with changing(target, create=True, wait=False) as change:
        if not change.is_new and not overwrite:
            if request is None:
                raise AdmiralError(f"{target}: exists already. Give --overwrite to replace it.")
            _check_request(change, {**settings, "request": request})
            read = _update(change, incoming, states, progress)
        else:
            if not change.is_new:
                change.clear()
            read = _read_all(change, incoming, settings["on_duplicate"], progress)
            for path, state in states.items():
                change.file_number(path, *state)
        wanted = graph or (graph is None and change.counts["documents"] >= GRAPH_DOCUMENTS)
        more = {**read, "request": request, GRAPH_REQUEST: wanted}
        added, removed = change.added, len(change.removed)
        _finish(change, {**settings, **more}, encoder, also, progress)
        counts = change.counts
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


def size_on_disk(path: Path) -> int:
    """Return the number of bytes of all files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _read_all(change: Change, incoming: Incoming, policy: str, progress: bool) -> dict[str, Any]:
    intake = Intake(change, policy)
    intake.read(incoming, progress)
    if not change.counts["documents"]:
        raise AdmiralError(f"{incoming}: no documents in it. Check the corpus and --format.")
    return _what_was_read(incoming, intake.duplicates)


def _what_was_read(incoming: Incoming, duplicates: int) -> dict[str, Any]:
    return {
        "sources": incoming.describe(),
        "bad_records": incoming.bad,
        "duplicates": duplicates,
        "skipped": dict(incoming.skipped),
        "split": incoming.split,
    }


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
) -> dict[str, Any]:
    """Read the files that have changed, and remove the documents of those that are gone."""
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
        return {name: settings[name] for name in _what_was_read(incoming, 0)}
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
        change.forget_file(path)
    incoming.unchanged = states.keys() - different
    intake = Intake(change, settings["on_duplicate"])
    intake.read(incoming, progress, all_files=True)
    for path in different:
        change.file_number(path, *states[path])
    (duplicates,) = store.all("SELECT count(*) FROM documents WHERE own IS NOT NULL")[0]
    return _what_was_read(incoming, duplicates)


def _finish(
    change: Change,
    settings: Mapping[str, Any],
    encoder: SentenceEncoder | None,
    also: Iterable[DerivedPart],
    progress: bool,
) -> None:
    if encoder is not None:
        settings = {**settings, "encoder": _embed(change, encoder, progress)}
    if change.changes:
        change.publish(settings, also, progress)
    else:
        change.save(settings)


def _embed(change: Change, encoder: SentenceEncoder, progress: bool) -> dict[str, Any]:
    """Store the vectors of documents that have none of an encoder, and return its identity."""
    store = change.store
    if stored_encoder(store) not in (None, encoder.identity):
        change.forget_vectors()
    rows = without_vectors(store)
    documents: Iterable[tuple[int, Any]] = ((row, store.read_document(row)) for row in rows)
    documents = track_documents(documents, "embedding", total=len(rows), enabled=progress)
    change.store_vectors(encoded_documents(documents, encoder))
    return asdict(encoder.identity)


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """Report of the embedding of a knowledge base."""

    path: Path
    encoder: str
    documents: int  # those that had no vectors before
    seconds: float


def embed(
    kb_path: str | Path, encoder: SentenceEncoder, *, wait: bool = False, progress: bool = True
) -> EmbeddingReport:
    """Store the vectors of all sentences of a knowledge base, in eight bits per component.

    Vectors that are stored already are kept, if they are of the same encoder. Raises
    AdmiralError if the knowledge base cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    with changing(kb_path, wait=wait) as change:
        before = 0 if stored_encoder(change.store) != encoder.identity else _embedded(change.store)
        change.save({"encoder": _embed(change, encoder, progress)})
        new = change.counts["documents"] - before
    return EmbeddingReport(Path(kb_path), encoder.identity.name, new, time.monotonic() - began)


def _embedded(store: Store) -> int:
    return int(store.one("SELECT count(*) FROM vectors"))


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Report of a change."""

    path: Path
    documents: int
    # added, replaced, removed: numbers of documents added with a new title, replaced, and removed
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0  # number of records left out because their title was a duplicate
    bad: int = 0  # number of bad records left out by `skip_bad`
    missing: int = 0  # number of titles to remove that the knowledge base does not have
    seconds: float = 0.0


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
    Raises AdmiralError if the corpora or the knowledge base cannot be used; the knowledge base is
    then unchanged.
    """
    check_choice("on_duplicate", on_duplicate, ADDING)
    report = Path(report) if report is not None else None
    incoming = Corpora(
        corpora, format, skip_bad, limits=limits, strict=strict, reported=bool(report)
    )
    if report is not None:
        check_report_path(report, Path(kb_path), incoming.paths)
    done = add_records(
        incoming, kb_path, on_duplicate=on_duplicate, wait=wait, progress=progress, also=also
    )
    if not done.added + done.replaced + done.skipped:
        raise AdmiralError(f"{incoming}: no documents in it. Check the corpus and --format.")
    if report is not None:
        incoming.reports.write(report)
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
    """Add records to a knowledge base; AdmiralError as of `add`."""
    began = time.monotonic()
    with changing(kb_path, wait=wait) as change:
        _check_bm25(change)
        intake = Intake(change, on_duplicate, adding=True)
        intake.read(incoming, progress)
        added = change.added
        if added:
            known = change.store.settings["sources"]
            sources = known + [each for each in incoming.describe() if each not in known]
            change.publish({"sources": sources}, also, progress)
        counts = change.counts
    return _report(
        *(kb_path, counts, began),
        added=added - intake.replaced,
        replaced=intake.replaced,
        skipped=intake.skipped,
        bad=incoming.bad,
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
    does not have instead of raising an error. Raises AdmiralError if a name is missing, no document
    would be left, or the knowledge base cannot be changed; it is then unchanged.
    """
    began = time.monotonic()
    distinct = list(dict.fromkeys(map(clean_title, [names] if isinstance(names, str) else names)))
    if not distinct:
        raise AdmiralError("no title given. Name at least one document to remove.")
    with changing(kb_path, wait=wait) as change:
        _check_bm25(change)
        rows = {name: _row_of(change.store, name) for name in distinct}
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
        counts = change.counts
    return _report(kb_path, counts, began, removed=removed, missing=len(missing))


def _row_of(store: Store, name: str) -> int | None:
    row = store.row(name)
    return store.row_of_id(name) if row is None else row


def _check_bm25(change: Change) -> None:
    """Raise `AdmiralError` if the BM25 index cannot be updated, before any corpus is read."""
    if (backend := change.store.settings["bm25"]) != NO_BM25:
        check_backend(backend)


def _report(
    path: str | Path, counts: Mapping[str, int], began: float, **changes: int
) -> UpdateReport:
    return UpdateReport(
        Path(path),
        counts["documents"],
        seconds=time.monotonic() - began,
        **changes,
    )


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
            with changing(target, create=True, wait=True) as change:
                # Another process may have built it while this one waited.
                if change.is_new:
                    read = _read_all(change, Corpora(corpus, "auto", False), "auto", False)
                    _finish(change, {**settings, **read}, None, (), False)
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
