"""Read libraries of earlier releases, which had a format of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from admiral.errors import AdmiralError
from admiral.kb.embeddings import EMBEDDINGS, write_embeddings
from admiral.kb.store.collection import Snapshot
from admiral.kb.store.contents import Contents
from admiral.kb.store.index_building import new_folder
from admiral.kb.store.manifest import OLD_LIBRARY, checked_kb_path, read_manifest
from admiral.kb.transaction import changing
from admiral.library.library_changes import LibraryReport, build_library
from admiral.library.source_records import Source
from admiral.storage.checksums import check_files

# What a segment had beside the files of a knowledge base, whose titles were canonical URLs.
_TABLE = Path("sources", "sources.arrow")
_REMEDY = "Read it with the release that built it."


def migrate_library(
    old: str | Path, new: str | Path, *, overwrite: bool = False, progress: bool = False
) -> LibraryReport:
    """Write a library of an earlier release into a new one, with its settings and its vectors.

    Raises AdmiralError if `old` is not such a library or is damaged, or `new` cannot be written.
    """
    path, target = checked_kb_path(old, "library"), checked_kb_path(new, "library")
    manifest = read_manifest(path, OLD_LIBRARY)
    check_files(path, manifest.files, _REMEDY)
    with Snapshot(path, manifest) as snapshot, closing(Contents([snapshot])) as contents:
        report = build_library(
            target, _sources(contents), overwrite=overwrite, progress=progress, **manifest.settings
        )
        _copy_vectors(contents, target)
    return report


def _sources(contents: Contents) -> Iterator[Source]:
    for segment, store in zip(contents.segments, contents.stores, strict=True):
        path = segment.folder / _TABLE
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            table.validate(full=True)
            rows = table.to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise AdmiralError(f"{path}: damaged ({error}). {_REMEDY}") from error
        for row, (fields, document) in enumerate(zip(rows, store, strict=True), segment.first):
            if row in contents:
                yield Source(text="".join(document.sentences), **fields)


def _copy_vectors(contents: Contents, target: Path) -> None:
    identities = {stored.encoder for stored in contents.embeddings if stored is not None}
    for encoder in identities:
        with changing(target, wait=True) as (change, new):
            folder = new_folder(str(new.segments[0].folder / EMBEDDINGS))
            rows = contents.live_rows().tolist()
            write_embeddings(folder, encoder, (contents.embedded(row, encoder) for row in rows))
            change.publish_embeddings({".": folder})
