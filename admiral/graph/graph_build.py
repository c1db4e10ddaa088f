"""Build the graph of a knowledge base, and keep it up to date while documents come and go.

The graph says which sentence mentions which title. What a sentence mentions changes only if it
contains a name of a changed document: its title without the qualifier, or an alias. Words that have
become too common to be aliases, or no longer are, count as changed names too. Documents that
contain all words of a changed name are therefore read anew; the others keep their mentions.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import shutil
import time
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy import sparse

from admiral.graph.graph_ranking import MAX_READINGS, EntityLinker
from admiral.graph.mention_graph import (
    GRAPH,
    LINK,
    MentionGraph,
    graph_arrays,
    has_graph,
    save_graph,
)
from admiral.io.progress import track_documents
from admiral.kb import KnowledgeBase
from admiral.kb.aliases import document_aliases
from admiral.kb.change import Change, changing
from admiral.kb.writing import GRAPH_REQUEST, size_on_disk
from admiral.records import Document
from admiral.storage.atomic_files import sync_tree
from trie.token_trie import row_positions


@dataclass(frozen=True, slots=True)
class GraphReport:
    """Report of the build of a graph."""

    path: Path
    entities: int  # number of documents that a sentence mentions
    frames: int  # number of sentences
    mentions: int  # number of pairs of a sentence and a document that it mentions
    links: int  # how many of them are hyperlinks
    bytes: int  # size on disk
    seconds: float


def build_graph(
    kb_path: str | Path, *, aliases: bool = True, progress: bool = True, processes: int = 1
) -> GraphReport:
    """Build the graph of the current version of a knowledge base.

    It appears only once it is complete; until then, an earlier graph stays.

    Raises AdmiralError if the knowledge base cannot be opened or its directory cannot be written.

    `kb_path`: directory of the knowledge base. `aliases`: whether
    sentences and claims also mention documents by their aliases. `processes`: number of processes
    that search for mentions. A program that asks for more than one must guard its main module
    (``if __name__ == "__main__"``), as `multiprocessing` requires.
    """
    began = time.monotonic()
    with changing(kb_path) as change, KnowledgeBase.open(kb_path) as kb:
        rows = kb.rows()
        sentences = np.zeros(int(rows[-1]) + 1, dtype=np.int64)
        sentences[rows], mentions = _search(kb, rows.tolist(), aliases, processes, progress)
        folder, temporary = kb.folder / GRAPH, kb.folder / f"{GRAPH}.new"
        shutil.rmtree(temporary, ignore_errors=True)
        counts = save_graph(temporary, graph_arrays(sentences, mentions), _settings(aliases))
        sync_tree(temporary)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
        change.save({GRAPH_REQUEST: True})
    size = size_on_disk(folder)
    return GraphReport(folder, bytes=size, seconds=time.monotonic() - began, **counts)


def update_graph(change: Change, after: KnowledgeBase) -> None:
    """Write the graph of a new version, if the current one has a graph.

    It equals that of a new build. This is a part that `admiral.kb.add` and others can derive.
    """
    with KnowledgeBase.open(change.path) as before:
        if not has_graph(before):
            return
        graph = MentionGraph.open(before)
        aliases = graph.settings["aliases"]
        rows = after.rows()
        added = rows[rows >= change.first].tolist()
        names = _ChangedNames(
            [*change.removed.values(), *map(after.document_at, added)],
            before.common_aliases() ^ after.common_aliases(),
        )
        texts = after.store.texts()
        anew = [
            row
            for row, text in texts
            if row >= change.first
            or (names.may_occur_in_text(text) and names.may_occur_in(after.document_at(row)))
        ]
        counts, mentions = _search(after, anew, aliases)
        kept = np.setdiff1d(rows, anew)
        frames = graph.row_frames.astype(np.int64)
        # Where the frames of each row begin, the new ones after those of the graph.
        order = np.argsort(np.concatenate([kept, np.array(anew, np.int64)]), kind="stable")
        starts = np.concatenate([frames[kept], graph.frames + np.cumsum(counts) - counts])[order]
        numbers = np.concatenate([frames[kept + 1] - frames[kept], counts])[order]
        sentences = np.zeros(int(rows[-1]) + 1, np.int64)
        sentences[rows] = numbers
        known = graph.mentions_by_frame(mentions.shape[1])
        merged = sparse.vstack([known, mentions], format="csr")[row_positions(starts, numbers)]
        save_graph(after.folder / GRAPH, graph_arrays(sentences, merged), _settings(aliases))


def _settings(aliases: bool) -> dict[str, object]:
    return {"aliases": aliases, "readings": MAX_READINGS}


_DOCUMENTS_AT_ONCE = 2048


def _search(
    kb: KnowledgeBase, rows: list[int], aliases: bool, processes: int = 1, progress: bool = False
) -> tuple[np.ndarray, sparse.csr_array]:
    """Return the number of sentences of each row, and the kind of each mention by frame and row."""
    parts = [rows[at : at + _DOCUMENTS_AT_ONCE] for at in range(0, len(rows), _DOCUMENTS_AT_ONCE)]
    width = int(kb.rows()[-1]) + 1
    found: Iterator[tuple[np.ndarray, sparse.csr_array]]
    with ExitStack() as stack:
        if min(processes, len(kb) // _DOCUMENTS_AT_ONCE) < 2:
            linker = EntityLinker(kb, aliases=aliases)
            found = (_mentions_of(kb, linker, width, part) for part in parts)
        else:
            context = multiprocessing.get_context("spawn")
            pool = stack.enter_context(ProcessPoolExecutor(processes, context))
            found = pool.map(partial(_search_part, kb.path, aliases, width), parts)
        counts, matrices = [np.zeros(0, np.int64)], [sparse.csr_array((0, width), dtype=np.uint8)]

        def searched() -> Iterator[int]:
            for numbers, mentions in found:
                counts.append(numbers)
                matrices.append(mentions)
                yield from numbers

        for _ in track_documents(searched(), "finding mentions", total=len(rows), enabled=progress):
            pass
    return np.concatenate(counts), sparse.vstack(matrices, format="csr")


def _search_part(
    path: Path, aliases: bool, width: int, rows: list[int]
) -> tuple[np.ndarray, sparse.csr_array]:
    kb, linker = _opened(path, aliases)
    return _mentions_of(kb, linker, width, rows)


@cache
def _opened(path: Path, aliases: bool) -> tuple[KnowledgeBase, EntityLinker]:
    """Return the knowledge base of a process of a pool, which opens it once."""
    kb = KnowledgeBase.open(path)
    return kb, EntityLinker(kb, aliases=aliases)


def _mentions_of(
    kb: KnowledgeBase, linker: EntityLinker, width: int, rows: list[int]
) -> tuple[np.ndarray, sparse.csr_array]:
    counts, starts, columns, kinds = array("q"), array("q", [0]), array("q"), array("B")
    for row in rows:
        document = kb.document_at(row)
        counts.append(len(document.sentences))
        for number in range(len(document.sentences)):
            mentioned = _mentioned(kb, linker, document, number)
            columns.extend(mentioned)
            kinds.extend(mentioned.values())
            starts.append(len(columns))
    arrays = np.array(kinds, np.uint8), np.array(columns, np.int64), np.array(starts, np.int64)
    return np.array(counts, np.int64), sparse.csr_array(arrays, shape=(len(starts) - 1, width))


def _mentioned(
    kb: KnowledgeBase, linker: EntityLinker, document: Document, number: int
) -> dict[int, int]:
    """Return the rows that a sentence mentions or links to, ascending, with the kind of mention."""
    titles: Iterable[str] = document.links[number] if document.links else ()
    linked = {row: LINK for title in titles if (row := kb.row(title)) is not None}
    mentioned = dict(linked)
    for rows in linker.mentions(document.sentences[number]):
        # A hyperlink says which of the readings is meant.
        if not any(row in linked for row in rows):
            for row in rows:
                mentioned[row] = min(mentioned.get(row, MAX_READINGS), len(rows))
    return dict(sorted(mentioned.items()))


_WORD = re.compile(r"\w+")
# With more words than these, all words of a text are looked up.
_MOST_SOUGHT = 50


class _ChangedNames:
    """Names whose meaning differs between two versions.

    `documents`: the documents that only one version has. `words`: aliases that are too common in
    only one version.
    """

    def __init__(self, documents: Iterable[Document], words: Iterable[str]) -> None:
        documents = list(documents)
        self._titles = {document.title for document in documents}
        names = {title.partition(" (")[0] for title in self._titles}
        names.update(alias for document in documents for alias in document_aliases(document))
        names.update(words)
        self._by_word: dict[str, list[frozenset[str]]] = {}
        for name in names:
            # Without words it is never found in a text.
            if found := frozenset(_WORD.findall(name)):
                self._by_word.setdefault(max(found, key=len), []).append(found)
        # In links, a title may have no words.
        sought = [
            *self._by_word,
            *(json.dumps(title, ensure_ascii=False)[1:-1] for title in self._titles),
        ]
        few = len(sought) <= _MOST_SOUGHT
        self._sought = [word.encode() for word in sought] if few else None

    def may_occur_in_text(self, text: bytes) -> bool:
        """Return whether the stored text of a document may contain one of the names."""
        return self._sought is None or any(word in text for word in self._sought)

    def may_occur_in(self, document: Document) -> bool:
        if any(title in self._titles for titles in document.links for title in titles):
            return True
        words = set(_WORD.findall("\n".join(document.sentences)))
        return any(
            name <= words for word in words & self._by_word.keys() for name in self._by_word[word]
        )
