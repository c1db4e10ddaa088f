"""Build the graph of a knowledge base, and keep it up to date while documents come and go.

The graph says which sentence mentions which title. What a sentence mentions changes only if it
contains a name of a changed document: its title without the qualifier, or an alias. Words that have
become too common to be aliases, or no longer are, count as changed names too. Documents that
contain all words of a changed name are therefore read anew; the others keep their mentions.
"""

from __future__ import annotations

import multiprocessing
import re
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.graph_ranking import MAX_READINGS, EntityLinker
from admiral.graph.mention_graph import (
    LINK,
    MentionGraph,
    graph_arrays,
    graph_folder,
    is_graph,
    read_graph_manifest,
    save_arrays,
    write_graph_manifest,
)
from admiral.io.progress import track_documents
from admiral.kb import KnowledgeBase
from admiral.kb.alias_index import document_aliases
from admiral.kb.store import checked_kb_path, copy_permissions, read_manifest
from admiral.kb.transaction import remove_older_versions
from admiral.records import Document
from admiral.storage.atomic_files import staging


@dataclass(frozen=True, slots=True)
class GraphReport:
    """Report of the build of a graph.

    Attributes
    ----------
    entities
        Number of documents that a sentence mentions.
    frames
        Number of sentences.
    mentions
        Number of pairs of a sentence and a document that it mentions.
    links
        How many of them are hyperlinks.
    bytes, seconds
        Size on disk and time taken.
    """

    path: Path
    entities: int
    frames: int
    mentions: int
    links: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class KeptMentions:
    """Mentions of an earlier version that a build takes over.

    Attributes
    ----------
    digest
        Digest of the version that they belong to.
    graph
        The graph of the earlier version.
    earlier
        For each row, that of the same document in the earlier version, int64; -1 for documents
        whose sentences are searched.
    later
        For each row of the earlier version, that of the same document now, uint32. Rows of
        documents that are gone are never read.
    """

    digest: str
    graph: MentionGraph
    earlier: np.ndarray
    later: np.ndarray


def build_graph(
    kb_path: str | Path,
    *,
    aliases: bool = True,
    progress: bool = True,
    kept: KeptMentions | None = None,
    processes: int = 1,
) -> GraphReport:
    """Build the graph of a knowledge base into its folder ``graph``.

    A graph belongs to one version of a knowledge base, as it is opened. It appears only once it is
    complete; until then, an earlier graph stays.

    Raises AdmiralError if the knowledge base cannot be opened or its directory cannot be written.

    `kb_path`: directory of the knowledge base. `aliases`: whether
    sentences and claims also mention documents by their aliases. `kept`: mentions that need not be
    searched for, see `admiral.graph.keeping_graph`. Those of another version are not used.
    `processes`: number of processes that search for mentions. A program that asks for more than one
    must guard its main module (``if __name__ == "__main__"``), as `multiprocessing` requires.
    """
    began = time.monotonic()
    path = checked_kb_path(kb_path).absolute()
    read_manifest(path)  # before anything is written beside a mistyped path
    folder = graph_folder(path)
    # Another writer may have changed both before this one has the lock.
    with (
        staging(folder, overwrite=True, owned=is_graph, wait=kept is not None) as directory,
        KnowledgeBase.open(path) as kb,
    ):
        if kept is not None and kept.digest != kb.digest:
            kept = None
        processes = min(processes, len(kb) // _DOCUMENTS_AT_ONCE)
        with _mapping(kb, aliases, kept, processes) as search:
            counts = _write_arrays(directory, kb, search, progress)
        settings = {"aliases": aliases, "readings": MAX_READINGS}
        write_graph_manifest(directory, kb.digest, counts, settings)
        copy_permissions(directory, kb.path)
    size = sum(file.stat().st_size for file in folder.iterdir())
    return GraphReport(folder, bytes=size, seconds=time.monotonic() - began, **counts)


@dataclass(frozen=True, slots=True)
class _Found:
    """The mentions of some documents, in the order of their sentences.

    Attributes
    ----------
    sentences
        Number of sentences of each document.
    lengths
        Number of mentions of each sentence.
    entities, kinds
        Row and kind of each mention.
    """

    sentences: array[int] = field(default_factory=lambda: array("I"))
    lengths: array[int] = field(default_factory=lambda: array("I"))
    entities: array[int] = field(default_factory=lambda: array("I"))
    kinds: array[int] = field(default_factory=lambda: array("B"))

    def extend(self, later: _Found) -> array[int]:
        """Add the mentions of further documents; return the number of sentences of each."""
        for name in self.__slots__:
            getattr(self, name).extend(getattr(later, name))
        return later.sentences


class _Search:
    def __init__(self, kb: KnowledgeBase, aliases: bool, kept: KeptMentions | None = None) -> None:
        self._kb, self._kept = kb, kept
        self._linker = EntityLinker(kb, aliases=aliases)

    def __call__(self, rows: list[int]) -> _Found:
        found, kept = _Found(), self._kept
        for row in rows:
            document = self._kb.document_at(row)
            found.sentences.append(len(document.sentences))
            if kept is not None and (earlier := int(kept.earlier[row])) >= 0:
                mentions = kept.graph.mentions_in(earlier)
                found.entities.frombytes(kept.later[mentions.values].tobytes())
                found.kinds.frombytes(mentions.kinds.tobytes())
                found.lengths.frombytes(mentions.lengths.tobytes())
                continue
            for number in range(len(document.sentences)):
                mentioned = _mentioned(self._kb, self._linker, document, number)
                found.entities.extend(mentioned)
                found.kinds.extend(mentioned.values())
                found.lengths.append(len(mentioned))
        return found


_DOCUMENTS_AT_ONCE = 2048


@contextmanager
def _mapping(
    kb: KnowledgeBase, aliases: bool, kept: KeptMentions | None, processes: int
) -> Iterator[Callable[[list[list[int]]], Iterator[_Found]]]:
    """Yield the function that searches documents, given parts of their rows."""
    if processes < 2 or kept is not None:
        yield partial(map, _Search(kb, aliases, kept))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        processes, context, _open_search, (kb.path, kb.digest, aliases)
    ) as pool:
        try:
            yield partial(pool.map, _search_rows)
        except BrokenProcessPool as error:
            raise AdmiralError(
                f"{kb.path}: a process that searched for mentions ended early. Run `admiral graph "
                f"build --kb {kb.path}` again"
            ) from error


_search: _Search  # of a process of a pool


def _open_search(path: Path, digest: str, aliases: bool) -> None:
    """Open the search of this process of a pool."""
    global _search
    kb = KnowledgeBase.open(path)
    if kb.digest != digest:
        raise AdmiralError(f"{path}: the knowledge base was changed meanwhile")
    _search = _Search(kb, aliases)


def _search_rows(rows: list[int]) -> _Found:
    return _search(rows)


def _write_arrays(
    directory: Path,
    kb: KnowledgeBase,
    search: Callable[[list[list[int]]], Iterator[_Found]],
    progress: bool,
) -> dict[str, int]:
    live = kb.rows().tolist()
    parts = [live[at : at + _DOCUMENTS_AT_ONCE] for at in range(0, len(live), _DOCUMENTS_AT_ONCE)]
    found = _Found()
    searched = (length for part in search(parts) for length in found.extend(part))
    for _ in track_documents(searched, "finding mentions", total=len(kb), enabled=progress):
        pass
    sentences = np.zeros(live[-1] + 1 if live else 0, dtype=np.int64)
    sentences[live] = found.sentences
    columns = np.array(found.entities, dtype=np.uint32)
    arrays = graph_arrays(
        sentences,
        np.array(found.lengths, dtype=np.uint32),
        columns,
        np.array(found.kinds, dtype=np.uint8),
    )
    save_arrays(directory, arrays)
    return {
        "entities": int(np.count_nonzero(np.bincount(columns))),
        "frames": len(found.lengths),
        "mentions": len(columns),
        "links": found.kinds.count(LINK),
    }


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


@contextmanager
def keeping_graph(kb_path: str | Path, *, progress: bool = True) -> Iterator[None]:
    """Bring the graph of a knowledge base up to date after a change in the block.

    Without a graph, or without a change, nothing happens. Otherwise the graph equals that of a new
    build, which is made where the earlier graph does not help: after a compaction, or if it was not
    up to date before. Until it is complete, queries report that the graph is of another version;
    so they do if the update fails.

    Raises AdmiralError if the new graph cannot be written. The change of the knowledge base is done
    then.
    """
    path = Path(kb_path)
    if not graph_folder(path).exists():
        yield
        return
    with KnowledgeBase.open(path) as before:
        graph, aliases = None, True
        with suppress(AdmiralError):  # of another version, or damaged
            aliases = read_graph_manifest(path)["settings"]["aliases"]
            graph = MentionGraph.open(before)
        yield
        if graph is None or not before.current:
            kept = None
            if graph is not None:
                with KnowledgeBase.open(path) as after:
                    kept = _kept_mentions(before, graph, after)
            build_graph(path, aliases=aliases, kept=kept, progress=progress)
    # The change has kept what this reader held.
    remove_older_versions(path)


@dataclass(frozen=True, slots=True)
class _Changes:
    """The documents that differ between two versions, and where the others are.

    Attributes
    ----------
    documents
        Documents that only one of the versions has.
    earlier
        Row in the earlier version of each document that both have, by its row in the later one.
    """

    documents: list[Document]
    earlier: dict[int, int]


def _kept_mentions(
    before: KnowledgeBase, graph: MentionGraph, after: KnowledgeBase
) -> KeptMentions | None:
    """Return the mentions that a change leaves as they are; None if there are none."""
    shared = after.shared_rows(before)
    if not shared:
        return None
    changes = _changes(before, after, shared)
    names = _ChangedNames(changes.documents, before.common_aliases() ^ after.common_aliases())
    earlier = np.full(int(after.rows()[-1]) + 1, -1, dtype=np.int64)
    for row, document in zip(after.rows().tolist(), after.documents(), strict=True):
        if row in changes.earlier and not names.may_occur_in(document):
            earlier[row] = changes.earlier[row]
    later = np.zeros(graph.rows, dtype=np.uint32)
    later[list(changes.earlier.values())] = list(changes.earlier)
    return KeptMentions(after.digest, graph, earlier, later)


def _changes(before: KnowledgeBase, after: KnowledgeBase, shared: int) -> _Changes:
    old, new = before.rows(), after.rows()
    gone = np.setdiff1d(old[old < shared], new)
    same = new[new < shared].tolist()
    earlier = dict(zip(same, same, strict=True))
    documents = [before.document_at(row) for row in gone.tolist()]
    added = {}
    for row in old[old >= shared].tolist():
        document = before.document_at(row)
        added[document.title] = row, document
    last = shared - 1
    for row in new[new >= shared].tolist():
        document = after.document_at(row)
        known = added.get(document.title)
        # A document that was added again is the last one, and mentions are in the order of rows.
        if known is not None and known[1] == document and known[0] > last:
            earlier[row] = last = known[0]
            del added[document.title]
        else:
            documents.append(document)
    documents += [document for _, document in added.values()]
    return _Changes(documents, earlier)


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

    def may_occur_in(self, document: Document) -> bool:
        if any(title in self._titles for titles in document.links for title in titles):
            return True
        words = set(_WORD.findall("\n".join(document.sentences)))
        return any(
            name <= words for word in words & self._by_word.keys() for name in self._by_word[word]
        )
