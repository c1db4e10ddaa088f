"""Writing a delta: what was added and removed before, and what a change adds and removes."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import Any

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.store.arrow_documents import DocumentWriter, counts_of
from admiral.kb.store.contents import DOCUMENTS, REMOVED, Contents
from admiral.kb.store.index_building import write_indexes
from admiral.kb.store.parts import Delta
from admiral.kb.versions.additions import Additions
from admiral.kb.versions.transaction import Change


def write_delta(
    change: Change,
    contents: Contents,
    gone: set[int],
    additions: Additions | None,
    settings: dict[str, Any],
    progress: bool,
) -> None:
    """Publish a version without the rows `gone` and with the additions."""
    manifest, base, folder = change.manifest, change.manifest.base, change.folder
    counts = Counter(manifest.counts)
    for row in sorted(gone):
        counts.subtract(counts_of(contents.document(row)))
    old = np.array([row for row in gone if row < base.documents], dtype=np.int64)
    removed = np.union1d(contents.removed, old)
    with DocumentWriter(folder / DOCUMENTS) as writer:
        for store in contents.stores[1:]:
            for row, document in enumerate(store, start=base.documents):
                if row not in gone:
                    writer.append(document)
        for document in additions.documents() if additions else ():
            writer.append(document)
            counts.update(counts_of(document))
    if not counts["documents"]:
        raise AdmiralError(
            f"{change.version.path}: no document would be left. Delete the folder, or build the "
            "knowledge base of another corpus with `admiral index --overwrite`."
        )
    if writer.documents:
        write_indexes(folder, manifest.bm25, progress)
    else:
        shutil.rmtree(folder / DOCUMENTS)
    if removed.size:
        np.save(folder / REMOVED, removed, allow_pickle=False)
    delta = Delta(change.part, writer.documents, len(removed))
    changed = bool(delta.documents or delta.removed)
    change.publish(dict(counts), settings, base, delta if changed else None)
