"""Titles that several members of a joined knowledge base have.

Of the documents with such a title the first member's counts; the others are hidden, as if they were
removed. As members change by themselves, the titles are compared whenever versions are opened that
were not opened together before. What was found is kept in ``duplicates.json``, or in the user's
cache where the knowledge base is read-only, with the digest of these versions.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.store.arrow_documents import counts_of
from admiral.kb.store.collection import Collection
from admiral.kb.store.contents import Contents
from admiral.kb.store.manifest import digest_of, write_sealed
from admiral.kb.tries.title_tries import user_cache

logger = logging.getLogger(__name__)

NAME = "duplicates.json"
# To look a title up takes so many times as long as to read it.
_LOOK_UP = 4


@dataclass(frozen=True, slots=True)
class Repeated:
    """The documents that do not count.

    Attributes
    ----------
    rows
        Their rows, int64, ascending.
    counts
        Documents, sentences and links of them together.
    """

    rows: np.ndarray
    counts: dict[str, int]


def open_contents(collection: Collection) -> tuple[Contents, dict[str, int]]:
    """Open what is there of a collection, and count it, without what other members have, too.

    Raises
    ------
    AdmiralError
        As `Contents` and `repeated` do.
    """
    contents = Contents(collection.versions)
    counts = Counter(collection.holdings.counts)
    if len(collection.versions) > 1:
        try:
            found = repeated(collection, contents)
        except BaseException:
            contents.close()
            raise
        contents.hide(found.rows)
        counts.subtract(found.counts)
    return contents, dict(counts)


def repeated(collection: Collection, contents: Contents) -> Repeated:
    """Return the documents whose titles members before theirs have, as known or newly found.

    Raises
    ------
    AdmiralError
        If there are some and the knowledge base was joined with ``error``.
    """
    digest = collection.holdings.digest
    home = hashlib.sha256(os.fsencode(os.path.realpath(collection.path))).hexdigest()
    places = [collection.path / NAME, user_cache() / "joins" / f"{home[:32]}.json"]
    for place in places:
        if (kept := read_repeated(place, digest)) is not None:
            return kept
    found = find_repeated(collection, contents)
    if not os.access(collection.path, os.W_OK):
        del places[0]
    for place in places:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_repeated(place, digest, found)
            break
        except (AdmiralError, OSError) as error:
            logger.warning("the duplicate titles cannot be kept: %s", error)
    return found


def find_repeated(collection: Collection, contents: Contents) -> Repeated:
    """Compare the titles of all members; raises as `repeated` does."""
    rows = _hidden_rows(contents)
    join = collection.holdings.join
    if rows.size and join is not None and join.on_duplicate == "error":
        title = contents.title(int(rows[0]))
        members = [v.path for v in collection.versions]
        having = [str(members[contents.member(row)]) for row in contents.rows_of(title)]
        more = f" (and {rows.size - 1:,} more)" if rows.size > 1 else ""
        raise AdmiralError(
            f"{collection.path}: the title {title!r} is in several members: {', '.join(having)}"
            f"{more}. Remove it from all but one with `admiral remove`, or join them with "
            "--on-duplicate skip, so that the first one's document counts."
        )
    counts: Counter[str] = Counter()
    for row in rows.tolist():
        counts.update(counts_of(contents.document(row)))
    return Repeated(rows, dict(counts))


def _hidden_rows(contents: Contents) -> np.ndarray:
    """Return the rows whose titles are those of documents of members before theirs."""
    sizes: Counter[int] = Counter()
    for part in contents.parts:
        sizes[part.member] += part.documents
    ((largest, most),) = sizes.most_common(1)
    # A member that is much larger than the others is not read: it is asked for their titles.
    asked = largest if _LOOK_UP * (sizes.total() - most) < most else None
    hashes, rows = array("q"), array("q")
    hidden: set[int] = set()
    for number, part in enumerate(contents.parts):
        for title, row in contents.titled(number) if part.member != asked else ():
            hashes.append(hash(title))
            rows.append(row)
            if asked is not None:
                hidden.update(max(row, other) for other in contents.rows_of(title, asked))
    hidden.update(_later(contents, np.asarray(hashes), np.asarray(rows)))
    return np.array(sorted(hidden), dtype=np.int64)


def _later(contents: Contents, hashes: np.ndarray, rows: np.ndarray) -> Iterator[int]:
    """Yield which of the rows, whose titles have these hashes, have the title of one before."""
    order = np.argsort(hashes)
    equal = np.flatnonzero(np.diff(hashes[order]) == 0)
    first: dict[str, int] = {}
    for row in np.unique(rows[order[np.union1d(equal, equal + 1)]]).tolist():
        if first.setdefault(contents.title(row), row) != row:
            yield row


def read_repeated(path: Path, digest: str) -> Repeated | None:
    """Read what was found for the versions of this digest; None if that is not there."""
    try:
        value = json.loads(path.read_bytes())
        body = {key: value[key] for key in ("collection", "rows", "counts")}
        if value["digest"] != digest_of(body) or value["collection"] != digest:
            return None
        return Repeated(np.array(value["rows"], dtype=np.int64), dict(value["counts"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_repeated(path: Path, digest: str, found: Repeated) -> None:
    """Keep what was found for the versions of this digest; AdmiralError if that cannot be."""
    body = {"collection": digest, "rows": found.rows.tolist(), "counts": found.counts}
    write_sealed(path, body)
