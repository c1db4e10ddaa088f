"""Describe a knowledge base, and check it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.io.progress import track_documents
from admiral.kb.bm25 import check_backend
from admiral.kb.knowledge_base import KnowledgeBase
from admiral.kb.passages import NO_BM25
from admiral.kb.store import FILE, VERSION, document_counts, read_settings
from admiral.kb.titles import TRIES, stored_tries
from admiral.kb.vectors import stored_encoder
from admiral.kb.writing import size_on_disk


@dataclass(frozen=True, slots=True)
class KbInfo:
    """Facts about a knowledge base."""

    path: str
    version: int
    commit: int  # number of changes, with the build
    # numbers of ``documents``, ``sentences`` and ``links``; of sources, ``passages`` and those that
    # are ``empty`` too
    counts: dict[str, int]
    sizes: dict[str, int]  # bytes on disk of each kind of file and, under ``total``, of all
    bm25: str
    embedded: dict[str, int]  # number of documents with stored embeddings, by encoder
    tries: list[str]  # fingerprints of the tokenizers that have a stored trie
    settings: dict[str, Any]


def info(path: str | Path) -> KbInfo:
    """Describe a knowledge base; one of which files are missing or cut off is an error."""
    with KnowledgeBase.open(path) as kb:
        store = kb.store
        encoder = stored_encoder(store)
        vectors = store.one("SELECT count(*) FROM vectors")
        sizes = {"database": sum(f.stat().st_size for f in kb.path.glob(f"{FILE}*"))}
        for name, size in store.settings["files"].items():
            top = name.split("/")[0].partition(".")[0].partition("-")[0]
            sizes[top] = sizes.get(top, 0) + size
        sizes[TRIES] = size_on_disk(kb.path / TRIES)
        return KbInfo(
            path=str(path),
            version=VERSION,
            commit=store.commit,
            counts=kb.counts,
            sizes={**sizes, "total": sum(sizes.values())},
            bm25=store.settings["bm25"],
            embedded={} if encoder is None else {encoder.name: vectors},
            tries=stored_tries(kb.path, kb.digest),
            settings={n: v for n, v in store.settings.items() if n not in ("files", "request")},
        )


def holds_sources(path: str | Path) -> bool:
    """Return whether a knowledge base was built of sources, whose documents have URLs."""
    return "words" in read_settings(path)


def check(path: str | Path, *, progress: bool = False) -> list[str]:
    """Check a knowledge base: the database, the counts, and that its indexes can be searched.

    Return one message per problem; none if it is intact.
    """
    with KnowledgeBase.open(path) as kb:
        file = kb.path / FILE
        found = [text for (text,) in kb.store.all("PRAGMA integrity_check") if text != "ok"]
        problems = [f"{file}: {text}" for text in found]
        if problems:
            return problems
        counts = Counter(dict.fromkeys(kb.counts, 0))
        documents = track_documents(
            kb.store.documents(), "checking", total=len(kb), enabled=progress
        )
        for row, document in documents:
            counts.update(document_counts(document))
            if kb.title_index.row(document.title) != row:
                return [f"{kb.folder}: the title {document.title!r} is indexed elsewhere"]
        problems += [
            f"{file}: {counts[name]} {name} where it says {kb.counts[name]}"
            for name in counts
            if counts[name] != kb.counts.get(name)
        ]
        if kb.settings["bm25"] != NO_BM25:
            try:
                check_backend(kb.settings["bm25"])
                kb.search(["a document"], 1)
            except AdmiralError as error:
                problems.append(str(error))
    return problems
