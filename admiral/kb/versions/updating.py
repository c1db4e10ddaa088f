"""Documents that join or leave a knowledge base, while other processes read it.

A knowledge base is a base, documents that were indexed together, and at most one delta: the
documents that were added since, with indexes of their own, and the rows of the base that were
removed. A change writes the delta anew, never the base, so it costs as much as all changes since
the last build or compaction together, and a reader has two indexes to ask at most. A document that
is replaced is removed and added. The rows of the base stay; those of the delta, which follow, may
shift. `compact` writes a new base of the documents that are there.

How readers and writers keep out of each other's way is told in `versions` and `changing`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.io.progress_bar import track
from admiral.io.text_cleaning import clean_title
from admiral.kb.corpus.corpora import Sources, check_choice
from admiral.kb.kb_paths import kb_place
from admiral.kb.store.arrow_documents import DocumentWriter
from admiral.kb.store.contents import BM25, DOCUMENTS, Contents
from admiral.kb.store.index_building import NO_BM25, write_indexes
from admiral.kb.store.parts import Base
from admiral.kb.versions.additions import POLICIES, Additions
from admiral.kb.versions.delta import write_delta
from admiral.kb.versions.transaction import Change, changing


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What a change did.

    Attributes
    ----------
    path
        The knowledge base.
    documents
        How many documents there are now.
    added, replaced, removed
        How many came: with a new title, and in the place of another one; and how many went.
    skipped
        Records that were left out, as their title was taken.
    bad
        Records left out by `skip_bad`.
    missing
        Titles to be removed that were not there.
    pending
        Documents added and removed since the last build or compaction: what `compact` would
        merge.
    seconds
        Time taken.
    """

    path: Path
    documents: int
    added: int = 0
    replaced: int = 0
    removed: int = 0
    skipped: int = 0
    bad: int = 0
    missing: int = 0
    pending: int = 0
    seconds: float = 0.0


def add(
    corpora: Sequence[str | Path] | str | Path,
    kb_path: str | Path,
    *,
    format: str = "auto",
    on_duplicate: str = "error",
    skip_bad: bool = False,
    wait: bool = False,
    progress: bool = True,
) -> UpdateReport:
    """Add the documents of one or more corpora to a knowledge base.

    Parameters
    ----------
    corpora
        Files or folders.
    kb_path
        The knowledge base.
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    on_duplicate
        What to do with a title that is taken, in the knowledge base or earlier in the corpora:
        ``error``, ``replace`` (the last document counts) or ``skip`` (the first one does).
    skip_bad
        Count and report bad records instead of failing at the first.
    wait
        Wait for another writer instead of failing.

    Raises
    ------
    AdmiralError
        For anything that the user can put right; the knowledge base is then as it was.
    """
    began = time.monotonic()
    check_choice("on_duplicate", on_duplicate, POLICIES)
    sources = Sources(corpora, format, skip_bad)
    with (
        changing(kb_place(kb_path), wait) as change,
        closing(Contents([change.version])) as contents,
    ):
        _check_bm25(change)
        additions = Additions(change.folder / "incoming", contents.row, on_duplicate)
        additions.read(sources, progress)
        if len(additions):
            settings = dict(change.manifest.settings)
            known = settings["sources"]
            settings["sources"] = known + [s for s in sources.describe() if s not in known]
            write_delta(change, contents, additions.replaced, additions, settings, progress)
    replaced = len(additions.replaced)
    return _report(
        Path(kb_path),
        change,
        began,
        added=len(additions) - replaced,
        replaced=replaced,
        skipped=additions.left_out,
        bad=sources.bad,
    )


def remove(
    titles: str | Iterable[str],
    kb_path: str | Path,
    *,
    ignore_missing: bool = False,
    wait: bool = False,
    progress: bool = True,
) -> UpdateReport:
    """Remove documents from a knowledge base.

    Parameters
    ----------
    titles
        Their titles, or one title; one that is named twice counts once.
    kb_path
        The knowledge base.
    ignore_missing
        Count titles that are not there instead of failing.
    wait
        Wait for another writer instead of failing.

    Raises
    ------
    AdmiralError
        If a title is not there, no document would be left, or the knowledge base cannot be
        changed; it is then as it was.
    """
    began = time.monotonic()
    several = [titles] if isinstance(titles, str) else titles
    wanted = list(dict.fromkeys(map(clean_title, several)))
    if not wanted:
        raise AdmiralError("no title given. Name at least one document to remove.")
    with (
        changing(kb_place(kb_path), wait) as change,
        closing(Contents([change.version])) as contents,
    ):
        _check_bm25(change)
        rows = {title: contents.row(title) for title in wanted}
        missing = [title for title, row in rows.items() if row is None]
        if missing and not ignore_missing:
            more = f", nor {len(missing) - 1:,} more of those named" if len(missing) > 1 else ""
            raise AdmiralError(
                f"{kb_path}: no document has the title {missing[0]!r}{more}. Titles are matched "
                "exactly; `admiral titles` completes them, and --ignore-missing passes over them."
            )
        gone = {row for row in rows.values() if row is not None}
        if gone:
            write_delta(change, contents, gone, None, change.manifest.settings, progress)
    return _report(Path(kb_path), change, began, removed=len(gone), missing=len(missing))


def compact(kb_path: str | Path, *, wait: bool = False, progress: bool = True) -> UpdateReport:
    """Merge all that was added and removed into a new base; rows are numbered anew.

    It takes the time and the space of a build. Where nothing has changed it does nothing.

    Parameters
    ----------
    kb_path
        The knowledge base.
    wait
        Wait for another writer instead of failing.

    Raises
    ------
    AdmiralError
        If the knowledge base cannot be changed; it is then as it was.
    """
    began = time.monotonic()
    with (
        changing(kb_place(kb_path), wait) as change,
        closing(Contents([change.version])) as contents,
    ):
        manifest = change.manifest
        if manifest.delta is not None:
            _check_bm25(change)
            with DocumentWriter(change.folder / DOCUMENTS) as writer:
                documents = contents.documents()
                for document in track(
                    documents, "copying", total=manifest.documents, enabled=progress
                ):
                    writer.append(document)
            write_indexes(change.folder, manifest.bm25, progress)
            base = Base(change.part, writer.documents, secrets.token_hex(32))
            change.publish(manifest.counts, manifest.settings, base, None)
    return _report(Path(kb_path), change, began)


def _check_bm25(change: Change) -> None:
    """Refuse, before anything is read or written, what could not be indexed."""
    if (backend := change.manifest.bm25) != NO_BM25:
        from admiral.kb.bm25 import check_updatable

        check_updatable(backend, change.version.base / BM25)


def _report(path: Path, change: Change, began: float, **counts: int) -> UpdateReport:
    manifest, delta = change.manifest, change.manifest.delta
    pending = delta.documents + delta.removed if delta else 0
    seconds = time.monotonic() - began
    return UpdateReport(path, manifest.documents, pending=pending, seconds=seconds, **counts)
