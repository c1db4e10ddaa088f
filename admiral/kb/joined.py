"""Join knowledge bases into one that is searched as a whole; the members stay where they are.

Of the documents with a title that several members have, that of the first is kept; the others are
hidden, as if
they were removed. Because members change independently, titles are compared whenever a new
combination of versions is opened. The result is cached in ``duplicates.json``, or in the user's
cache if the knowledge base is read-only, with the digest of these versions.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.bm25 import check_updatable
from admiral.kb.corpus.corpora import check_choice
from admiral.kb.store import (
    POLICIES,
    JoinManifest,
    checked_kb_path,
    copy_permissions,
    digest_of,
    is_knowledge_base,
    member_name,
    read_join,
    read_manifest,
    write_join,
    write_with_digest,
)
from admiral.kb.store.collection import Collection
from admiral.kb.store.contents import BM25, Contents
from admiral.kb.store.document_store import document_counts
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.titles import user_cache
from admiral.storage.atomic_files import staging

logger = logging.getLogger(__name__)

NAME = "duplicates.json"
# Looking up a title takes about this many times as long as reading it.
_LOOKUP_COST = 4


@dataclass(frozen=True, slots=True)
class DuplicateTitles:
    """Documents to hide."""

    rows: np.ndarray  # their rows, int64, ascending
    counts: dict[str, int]  # their total numbers of ``documents``, ``sentences`` and ``links``


def open_contents(collection: Collection) -> tuple[Contents, dict[str, int]]:
    """Open the contents of a collection, hide duplicates, and count the rest.

    The counts are of ``documents``, ``sentences`` and ``links``. Raises AdmiralError if files are
    damaged, or there are duplicates and the policy is ``error``.
    """
    contents = Contents(collection.snapshots)
    counts = Counter(collection.manifest.counts)
    if len(collection.snapshots) > 1:
        try:
            duplicates = _load_or_find(collection, contents)
        except BaseException:
            contents.close()
            raise
        contents.hide(duplicates.rows)
        counts.subtract(duplicates.counts)
    return contents, dict(counts)


def _load_or_find(collection: Collection, contents: Contents) -> DuplicateTitles:
    """Return the cached duplicates of these versions, or find and cache them."""
    digest = collection.manifest.digest
    home = hashlib.sha256(os.fsencode(os.path.realpath(collection.path))).hexdigest()
    places = [collection.path / NAME, user_cache() / "joins" / f"{home[:32]}.json"]
    for place in places:
        if (cached := read_duplicates(place, digest)) is not None:
            return cached
    duplicates = find_duplicates(collection, contents)
    if not os.access(collection.path, os.W_OK):
        del places[0]
    for place in places:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_duplicates(place, digest, duplicates)
            break
        except (AdmiralError, OSError) as error:
            logger.warning("the duplicate titles cannot be cached: %s", error)
    return duplicates


def find_duplicates(collection: Collection, contents: Contents) -> DuplicateTitles:
    """Compare the titles of all members.

    Raises AdmiralError if there are duplicates and the policy of the join is ``error``.
    """
    rows = _duplicate_rows(contents)
    join = collection.manifest.join
    if rows.size and join is not None and join.on_duplicate == "error":
        title = contents.title(int(rows[0]))
        paths = [snapshot.path for snapshot in collection.snapshots]
        members = [str(paths[contents.member(row)]) for row in contents.rows_of(title)]
        more = f" (and {rows.size - 1:,} more)" if rows.size > 1 else ""
        raise AdmiralError(
            f"{collection.path}: the title {title!r} is in several members: {', '.join(members)}"
            f"{more}. Remove it from all but one with `admiral remove`, or join them with "
            "--on-duplicate skip to keep the document of the first."
        )
    counts: Counter[str] = Counter()
    for row in rows.tolist():
        counts.update(document_counts(contents.document(row)))
    return DuplicateTitles(rows, dict(counts))


def _duplicate_rows(contents: Contents) -> np.ndarray:
    """Return the rows whose titles an earlier member has, int64, ascending."""
    sizes: Counter[int] = Counter()
    for segment in contents.segments:
        sizes[segment.member] += segment.documents
    ((largest, largest_size),) = sizes.most_common(1)
    # If one member is much larger than all others, look their titles up in it, not its in theirs.
    others_size = sizes.total() - largest_size
    lookup_member = largest if _LOOKUP_COST * others_size < largest_size else None
    hashes, rows = array("q"), array("q")
    duplicates: set[int] = set()
    for number, segment in enumerate(contents.segments):
        if segment.member == lookup_member:
            continue
        for title, row in contents.segment_titles(number):
            hashes.append(hash(title))
            rows.append(row)
            if lookup_member is not None:
                same_title = contents.rows_of(title, lookup_member)
                duplicates.update(max(row, other) for other in same_title)
    duplicates.update(_repeated_rows(contents, np.asarray(hashes), np.asarray(rows)))
    return np.array(sorted(duplicates), dtype=np.int64)


def _repeated_rows(contents: Contents, hashes: np.ndarray, rows: np.ndarray) -> Iterator[int]:
    """Yield the rows that repeat the title of an earlier row, given the hashes of all titles."""
    # Only titles with equal hashes are compared.
    order = np.argsort(hashes)
    equal = np.flatnonzero(np.diff(hashes[order]) == 0)
    first: dict[str, int] = {}
    for row in np.unique(rows[order[np.union1d(equal, equal + 1)]]).tolist():
        if first.setdefault(contents.title(row), row) != row:
            yield row


def read_duplicates(path: Path, digest: str) -> DuplicateTitles | None:
    """Read the cached duplicates of the versions with this digest; None if there are none."""
    try:
        value = json.loads(path.read_bytes())
        body = {key: value[key] for key in ("collection", "rows", "counts")}
        if value["digest"] != digest_of(body) or value["collection"] != digest:
            return None
        return DuplicateTitles(np.array(value["rows"], dtype=np.int64), dict(value["counts"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_duplicates(path: Path, digest: str, duplicates: DuplicateTitles) -> None:
    """Cache the duplicates of the versions with this digest."""
    body = {"collection": digest, "rows": duplicates.rows.tolist(), "counts": duplicates.counts}
    write_with_digest(path, body)


@dataclass(frozen=True, slots=True)
class JoinReport:
    """Report of a join."""

    path: Path
    members: int
    documents: int  # number of documents, without hidden ones
    # number of documents hidden because an earlier member has a document of the same title
    hidden: int
    seconds: float


def join(
    members: Sequence[str | Path] | str | Path,
    path: str | Path,
    *,
    on_duplicate: str = "error",
    overwrite: bool = False,
) -> JoinReport:
    """Join knowledge bases into one that is searched as a whole.

    The members stay where they are. Their rows follow each other, and BM25 uses the statistics of
    all documents. Opening the joined knowledge base opens the current versions of the members, with
    all documents added or removed since. `members`: one or more knowledge bases with the same BM25
    backend, none of them joined itself. `on_duplicate`: policy for a title that several members
    have, now or later: ``error``, or ``skip`` to keep the document of the first of them. Raises
    AdmiralError if the members cannot be joined or `path` cannot be written; nothing has changed
    then.
    """
    began = time.monotonic()
    check_choice("on_duplicate", on_duplicate, POLICIES)
    given = [members] if isinstance(members, str | Path) else members
    target, paths = checked_kb_path(path), [checked_kb_path(member) for member in given]
    if not paths:
        raise AdmiralError("no knowledge base given. Name at least one to be joined.")
    _check_members(paths, target)
    manifest = JoinManifest(tuple(member_name(member, target) for member in paths), on_duplicate)
    with staging(target, overwrite=overwrite, owned=is_knowledge_base) as directory:
        with closing(Collection(target, manifest)) as collection, collection.unchanged():
            _check_bm25(collection)
            with closing(Contents(collection.snapshots)) as contents:
                duplicates = find_duplicates(collection, contents)
        write_duplicates(directory / NAME, collection.manifest.digest, duplicates)
        write_join(directory, manifest)
        if is_knowledge_base(target):
            copy_permissions(directory, target)
    hidden = len(duplicates.rows)
    documents = collection.manifest.counts["documents"] - hidden
    return JoinReport(target, len(paths), documents, hidden, time.monotonic() - began)


def _check_members(members: Sequence[Path], target: Path) -> None:
    """Raise `AdmiralError` for members that are joined, repeated, or overlap with the target."""
    home = Path(os.path.realpath(target))
    seen: dict[str, Path] = {}
    for member in members:
        joined = read_join(member)
        if joined is not None:
            names = " ".join(map(str, joined.paths(member)))
            raise AdmiralError(f"{member}: joins others itself. Name its members instead: {names}")
        read_manifest(member)
        place = os.path.realpath(member)
        if place in seen:
            raise AdmiralError(f"{member}: is named twice (as {seen[place]}). Name it once.")
        seen[place] = member
        if home.is_relative_to(place) or Path(place).is_relative_to(home):
            raise AdmiralError(
                f"{target}: would contain its member {member} or lie in it. Choose another path."
            )


def _check_bm25(collection: Collection) -> None:
    if (backend := collection.manifest.bm25) != NO_BM25:
        for snapshot in collection.snapshots:
            check_updatable(backend, snapshot.base / BM25)
