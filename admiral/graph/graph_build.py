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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
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
        processes = min(processes, len(kb) // _DOCUMENTS_AT_ONCE)
        rows = kb.rows()
        with _mapping(kb, aliases, processes) as search:
            found = _search_all(search, rows.tolist(), progress)
        folder, temporary = kb.folder / GRAPH, kb.folder / f"{GRAPH}.new"
        shutil.rmtree(temporary, ignore_errors=True)
        sentences = np.zeros(int(rows[-1]) + 1, dtype=np.int64)
        sentences[rows] = found.sentences
        counts = save_graph(temporary, graph_arrays(sentences, *found.arrays()), _settings(aliases))
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
        found = _search_all(partial(map, _Search(after, aliases)), anew, progress=False)
        kept = np.setdiff1d(rows, anew)
        merged = _merge(graph, kept, np.array(anew, np.int64), found)
        save_graph(after.folder / GRAPH, graph_arrays(*merged), _settings(aliases))


def _settings(aliases: bool) -> dict[str, object]:
    return {"aliases": aliases, "readings": MAX_READINGS}


def _merge(
    graph: MentionGraph, kept: np.ndarray, anew: np.ndarray, found: _Found
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of the rows that are kept from a graph and of those that were read anew."""
    starts, columns, kinds = graph.by_frame
    lengths, new_columns, new_kinds = found.arrays()
    frames = graph.row_frames.astype(np.int64)
    # Where the frames and the mentions of each row begin, and how many there are, the new ones
    # after those of the graph.
    new_sentences = np.array(found.sentences, np.int64)
    first_new = np.cumsum(new_sentences) - new_sentences
    mentions_before = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    new_first, new_end = mentions_before[first_new], mentions_before[first_new + new_sentences]
    old_first, old_end = (starts[frames[kept + step]].astype(np.int64) for step in (0, 1))
    order = np.argsort(np.concatenate([kept, anew]), kind="stable")
    sentences = np.concatenate([frames[kept + 1] - frames[kept], new_sentences])[order]
    frame_starts = np.concatenate([frames[kept], graph.frames + first_new])[order]
    sizes = np.concatenate([old_end - old_first, new_end - new_first])[order]
    mention_starts = np.concatenate([old_first, len(columns) + new_first])[order]
    all_lengths = np.concatenate([np.diff(starts.astype(np.int64)), lengths])
    places = row_positions(mention_starts, sizes)
    rows = np.concatenate([kept, anew])[order]
    by_row = np.zeros(int(rows[-1]) + 1, np.int64)
    by_row[rows] = sentences
    return (
        by_row,
        all_lengths[row_positions(frame_starts, sentences)],
        np.concatenate([columns, new_columns])[places],
        np.concatenate([kinds, new_kinds])[places],
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The mentions of some documents, in the order of their sentences."""

    # numbers of sentences of each document and of mentions of each sentence; row and kind of each
    # mention
    sentences: array[int] = field(default_factory=lambda: array("I"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    entities: array[int] = field(default_factory=lambda: array("I"))
    kinds: array[int] = field(default_factory=lambda: array("B"))

    def extend(self, later: _Found) -> array[int]:
        """Add the mentions of further documents; return the number of sentences of each."""
        for name in self.__slots__:
            getattr(self, name).extend(getattr(later, name))
        return later.sentences

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return lengths, entities and kinds."""
        return (
            np.array(self.lengths, np.uint32),
            np.array(self.entities, np.uint32),
            np.array(self.kinds, np.uint8),
        )


class _Search:
    def __init__(self, kb: KnowledgeBase, aliases: bool) -> None:
        self._kb, self._linker = kb, EntityLinker(kb, aliases=aliases)

    def __call__(self, rows: list[int]) -> _Found:
        found = _Found()
        for row in rows:
            document = self._kb.document_at(row)
            found.sentences.append(len(document.sentences))
            for number in range(len(document.sentences)):
                mentioned = _mentioned(self._kb, self._linker, document, number)
                found.entities.extend(mentioned)
                found.kinds.extend(mentioned.values())
                found.lengths.append(len(mentioned))
        return found


_DOCUMENTS_AT_ONCE = 2048
_Map = Callable[[list[list[int]]], Iterator[_Found]]


@contextmanager
def _mapping(kb: KnowledgeBase, aliases: bool, processes: int) -> Iterator[_Map]:
    """Yield the function that searches documents, given parts of their rows."""
    if processes < 2:
        yield partial(map, _Search(kb, aliases))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _open_search, (kb.path, aliases)) as pool:
        try:
            yield partial(pool.map, _search_rows)
        except BrokenProcessPool as error:
            raise AdmiralError(
                f"{kb.path}: a process that searched for mentions ended early. Run `admiral graph "
                f"build --kb {kb.path}` again"
            ) from error


_search: _Search  # of a process of a pool


def _open_search(path: Path, aliases: bool) -> None:
    """Open the search of this process of a pool."""
    global _search
    _search = _Search(KnowledgeBase.open(path), aliases)


def _search_rows(rows: list[int]) -> _Found:
    return _search(rows)


def _search_all(search: _Map, rows: list[int], progress: bool) -> _Found:
    parts = [rows[at : at + _DOCUMENTS_AT_ONCE] for at in range(0, len(rows), _DOCUMENTS_AT_ONCE)]
    found = _Found()
    searched = (length for part in search(parts) for length in found.extend(part))
    for _ in track_documents(searched, "finding mentions", total=len(rows), enabled=progress):
        pass
    return found


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
