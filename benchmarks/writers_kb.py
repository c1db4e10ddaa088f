"""Writers of knowledge bases and of what is kept beside them, for the fault injection."""

from __future__ import annotations

import hashlib
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.graph import build_graph, graph_problems, keeping_graph
from admiral.graph.graph_files import read_graph_manifest
from admiral.kb import KnowledgeBase, add, build, compact, demo_kb, info, join, remove, verify
from admiral.models.checkpoint import load_checkpoint
from admiral.storage.bundled_names import DEMO
from benchmarks.writer import ABSENT, Writer
from trie import TokenTrie


def corpus(path: Path, first: int, count: int) -> Path:
    """Write some short documents."""
    records = (
        {"title": f"Title {n}", "sentences": [f"Document {n} is about {n * n}.", "It is short."]}
        for n in range(first, first + count)
    )
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def some_kb(folder: Path, bm25: str = "bm25s") -> None:
    """Build a knowledge base of 300 documents."""
    build(corpus(folder / "old.jsonl", 0, 300), folder / "kb", bm25=bm25, progress=False)
    corpus(folder / "new.jsonl", 250, 100)
    corpus(folder / "more.jsonl", 300, 20)


def changed_kb(folder: Path) -> None:
    """Build one that was changed since."""
    some_kb(folder)
    add(folder / "more.jsonl", folder / "kb", progress=False)
    remove(["Title 7"], folder / "kb", progress=False)


def rebuild(folder: Path, bm25: str = "bm25s") -> None:
    """Build over it, or where nothing is."""
    build(folder / "new.jsonl", folder / "kb", bm25=bm25, overwrite=True, progress=False)


def kb_seen(folder: Path, name: str = "kb") -> Any:
    """Check a knowledge base and search in it; return what it holds."""
    path = folder / name
    if not path.exists():
        return ABSENT
    if problems := verify(path):
        raise AdmiralError("; ".join(problems))
    with KnowledgeBase.open(path) as kb:
        documents = [[document.title, *document.sentences] for document in kb.documents()]
        found = kb.search(["about 65536", "document 301"], 3)
        facts = info(path)
        pending = facts.added or facts.removed
        return [_digest(documents), [[hit.title for hit in hits] for hits in found], bool(pending)]


def added(folder: Path) -> None:
    """Add documents, some of which are there."""
    add(folder / "more.jsonl", folder / "kb", on_duplicate="replace", progress=False)


def removed(folder: Path) -> None:
    """Remove documents."""
    titles = ["Title 3", "Title 9"]
    remove(titles, folder / "kb", ignore_missing=True, progress=False)


def compacted(folder: Path) -> None:
    """Merge what was changed."""
    compact(folder / "kb", progress=False)


def kb_with_graph(folder: Path) -> None:
    """Build one with a graph."""
    some_kb(folder)
    build_graph(folder / "kb", progress=False)


def kb_with_old_graph(folder: Path) -> None:
    """Change it, but not the graph."""
    kb_with_graph(folder)
    added(folder)


def graph_built(folder: Path) -> None:
    """Build the graph."""
    build_graph(folder / "kb", progress=False)


def added_with_graph(folder: Path) -> None:
    """Add documents and bring the graph up to date."""
    with keeping_graph(folder / "kb", progress=False):
        added(folder)


def graph_seen(folder: Path) -> Any:
    """Check a knowledge base and its graph; return what both hold, and None for an old graph."""
    if problems := graph_problems(folder / "kb"):
        raise AdmiralError("; ".join(problems))
    with KnowledgeBase.open(folder / "kb") as kb:
        manifest = read_graph_manifest(kb.path)
        is_current = manifest["knowledge_base"] == kb.digest
    sums = [[name, entry.sha256] for name, entry in manifest["files"].items()]
    return [kb_seen(folder), _digest(sums) if is_current else None]


def graph_waits(seen: Any) -> bool:
    """Whether the graph is one of an earlier version, which queries refuse."""
    return bool(seen[1] is None)


def joined_kb(folder: Path) -> None:
    """Build two knowledge bases, and one that joins the first alone."""
    some_kb(folder)
    build(folder / "more.jsonl", folder / "other", bm25="bm25s", progress=False)
    join([folder / "kb"], folder / "all")


def joined(folder: Path) -> None:
    """Join both in the place of that one."""
    join([folder / "kb", folder / "other"], folder / "all", overwrite=True)


def keep_trie(folder: Path) -> None:
    """Have the trie of the titles built and kept."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    tokens = load_checkpoint("mini").tokens
    with KnowledgeBase.open(folder / "kb") as kb:
        trie = kb.title_trie(tokens)
        if len(trie) != len(kb):
            raise AdmiralError(f"{len(trie)} sequences for {len(kb)} titles")


def trie_seen(folder: Path) -> Any:
    """Check the knowledge base with its tries; return how many were kept."""
    places = [*folder.glob("kb/tries/[!.]*"), *folder.glob("cache/*/tries/*/[!.]*")]
    for place in places:
        TokenTrie.open(place)
    return [kb_seen(folder), len(places)]


def demo(folder: Path) -> None:
    """Have the demo built in a cache."""
    os.environ["XDG_CACHE_HOME"] = str(folder)
    demo_kb("bm25s")


def demo_seen(folder: Path) -> Any:
    """Check what of the demo is there."""
    for path in folder.glob(f"admiral/{DEMO}-*-bm25s"):
        return kb_seen(path.parent, path.name)
    return ABSENT


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def nothing(folder: Path) -> None:
    """Begin with an empty folder."""


def only_corpus(folder: Path) -> None:
    """Write what is to be indexed."""
    corpus(folder / "new.jsonl", 0, 100)


WRITERS = (
    Writer("index", some_kb, rebuild, kb_seen),
    Writer("index anew", only_corpus, rebuild, kb_seen),
    Writer(
        "index lucene",
        partial(some_kb, bm25="lucene"),
        partial(rebuild, bm25="lucene"),
        kb_seen,
        share=3,
    ),
    Writer("demo", nothing, demo, demo_seen),
    Writer("trie", some_kb, keep_trie, trie_seen, optional=True, stays=r"cache.*|.*\.lock"),
    Writer("add", some_kb, added, kb_seen),
    Writer("remove", some_kb, removed, kb_seen),
    Writer("compact", changed_kb, compacted, kb_seen),
    Writer("join", joined_kb, joined, partial(kb_seen, name="all")),
    Writer("graph", kb_with_old_graph, graph_built, graph_seen),
    Writer("add with graph", kb_with_graph, added_with_graph, graph_seen, between=graph_waits),
)
