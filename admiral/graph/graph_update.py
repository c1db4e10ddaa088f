"""Keep the graph of a knowledge base up to date while documents are added and removed.

What a sentence mentions changes only if it contains a name of a changed document: its title without
the qualifier, or an alias. Words that have become too common to be aliases, or no longer are, count
as changed names too. Documents that contain all words of a changed name are therefore read anew;
the others keep their mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.graph_build import KeptMentions, build_graph
from admiral.graph.graph_files import graph_folder, read_graph_manifest
from admiral.graph.mention_graph import MentionGraph
from admiral.kb import KnowledgeBase
from admiral.kb.aliases.document_aliases import document_aliases
from admiral.kb.versions.transaction import remove_older_versions
from admiral.records import Document

_WORD = re.compile(r"\w+")


@contextmanager
def keeping_graph(kb_path: str | Path, *, progress: bool = True) -> Iterator[None]:
    """Bring the graph of a knowledge base up to date after a change in the block.

    Without a graph, or without a change, nothing happens. Otherwise the graph equals that of a new
    build, which is made where the earlier graph does not help: after a compaction, or if it was not
    up to date before. Until it is complete, queries report that the graph is of another version;
    so they do if the update fails.

    Parameters
    ----------
    kb_path
        Directory of the knowledge base.
    progress
        Whether to report progress on standard error.

    Raises
    ------
    AdmiralError
        If the new graph cannot be written. The change of the knowledge base is done then.
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
    """Compare two versions whose first `shared` rows hold the same documents unless removed."""
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

    Parameters
    ----------
    documents
        The documents that only one version has.
    words
        Aliases that are too common in only one version.
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
        """Return whether a document contains all words of a name, or links to a changed title."""
        if any(title in self._titles for titles in document.links for title in titles):
            return True
        words = set(_WORD.findall("\n".join(document.sentences)))
        return any(
            name <= words for word in words & self._by_word.keys() for name in self._by_word[word]
        )
