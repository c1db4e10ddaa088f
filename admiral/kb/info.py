"""Describe a knowledge base: its counts and settings, and the sizes of its files."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.kb.bm25 import Passages
from admiral.kb.store import NAME, Manifest, split_segment
from admiral.kb.store.contents import Contents
from admiral.kb.store.index_building import NO_BM25
from admiral.kb.store.snapshot import Snapshot, read_with
from admiral.kb.store.titles import FOLDER, is_trie_of


@dataclass(frozen=True, slots=True)
class KbInfo:
    """Facts about a knowledge base."""

    path: str
    version: int
    # numbers of ``documents``, ``sentences`` and ``links``; of sources, ``passages`` and those that
    # are ``empty`` too
    counts: dict[str, int]
    # added, removed: numbers of documents added and removed since the last build or compaction
    added: int
    removed: int
    sizes: dict[str, int]  # bytes on disk of each kind of file and, under ``total``, of all
    bm25: str
    # number of passages that BM25 scores, 0 if no document is split
    passages: int
    # number of sentences with stored embeddings, with those of removed documents, by encoder
    embedded: dict[str, int]
    tries: list[str]  # fingerprints of the tokenizers that have a stored trie
    settings: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a JSON object."""
        return asdict(self)


def info(path: str | Path) -> KbInfo:
    """Describe a knowledge base.

    Raises AdmiralError if there is no knowledge base, it has an unknown format version, or files
    are truncated.
    """
    return read_with(Path(path), lambda snapshot: _describe(snapshot, str(path)))


def _describe(snapshot: Snapshot, path: str) -> KbInfo:
    manifest = snapshot.manifest
    with closing(Contents(snapshot)) as contents:
        embedded: Counter[str] = Counter()
        for stored in contents.embeddings:
            if stored is not None:
                embedded[stored.encoder.name] += len(stored)
    folders = sorted((snapshot.base / FOLDER).glob("[!.]*"))
    tries = [folder for folder in folders if is_trie_of(folder, manifest.base.digest)]
    sizes = _listed_sizes(manifest) | {"tries": sum(map(_size_on_disk, tries))}
    sizes["manifest"] = (snapshot.path / NAME).stat().st_size
    return KbInfo(
        path=path,
        version=manifest.version,
        counts=dict(manifest.counts),
        added=manifest.delta.documents if manifest.delta else 0,
        removed=manifest.delta.removed if manifest.delta else 0,
        sizes={**sizes, "total": sum(sizes.values())},
        bm25=manifest.bm25,
        passages=0 if manifest.bm25 == NO_BM25 else _passages(snapshot.bm25),
        embedded=dict(embedded),
        tries=[folder.name for folder in tries],
        settings=manifest.settings,
    )


def _passages(index: Path) -> int:
    """Return the number of passages of a BM25 index, or 0 if each document is one passage."""
    passages = Passages.open(index)
    return len(passages) if len(passages) > passages.documents else 0


def _listed_sizes(manifest: Manifest) -> dict[str, int]:
    """Return the total bytes of the files in a manifest, by kind."""
    sizes = {"documents": 0, "titles": 0, "bm25": 0}
    for name, entry in manifest.files.items():
        top = split_segment(name)[1].split("/")[0].removesuffix(".npy")
        kind = "titles" if top.startswith(("titles", "ids.")) else top
        sizes[kind] = sizes.get(kind, 0) + entry.size
    return sizes


def _size_on_disk(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
