"""Build the graph of a knowledge base: which sentence mentions which title."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from admiral.graph.entity_linking import MAX_READINGS, EntityLinker
from admiral.graph.graph_files import (
    LINK,
    graph_arrays,
    graph_folder,
    is_graph,
    save_arrays,
    write_graph_manifest,
)
from admiral.graph.mention_graph import MentionGraph
from admiral.io.progress import track_documents
from admiral.kb import KnowledgeBase
from admiral.kb.kb_paths import checked_kb_path
from admiral.kb.store.file_modes import copy_permissions
from admiral.kb.store.member_manifests import read_combined_manifest
from admiral.records import Document
from admiral.storage.atomic_directories import staging


@dataclass(frozen=True, slots=True)
class GraphReport:
    """Report of the build of a graph.

    Attributes
    ----------
    path
        Directory of the graph.
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
    overwrite: bool = True,
    progress: bool = True,
    kept: KeptMentions | None = None,
) -> GraphReport:
    """Build the graph of a knowledge base into its folder ``graph``.

    A graph belongs to one version of a knowledge base, as it is opened. It appears only once it is
    complete; until then, an earlier graph stays.

    Parameters
    ----------
    kb_path
        Directory of the knowledge base, also of a changed or joined one.
    aliases
        Whether sentences and claims also mention documents by their aliases.
    overwrite
        Whether to replace an existing graph.
    progress
        Whether to report progress on standard error.
    kept
        Mentions that need not be searched for, see `admiral.graph.keeping_graph`. Those of another
        version are not used.

    Raises
    ------
    AdmiralError
        If the knowledge base cannot be opened or its directory cannot be written.
    """
    began = time.monotonic()
    path = checked_kb_path(kb_path).absolute()
    read_combined_manifest(path)  # before anything is written beside a mistyped path
    folder = graph_folder(path)
    # Another writer may have changed both before this one has the lock.
    with (
        staging(folder, overwrite=overwrite, owned=is_graph, wait=kept is not None) as directory,
        KnowledgeBase.open(path) as kb,
    ):
        if kept is not None and kept.digest != kb.digest:
            kept = None
        linker = EntityLinker(kb, aliases=aliases)
        counts = _write_arrays(directory, kb, linker, kept, progress)
        settings = {"aliases": aliases, "readings": MAX_READINGS}
        write_graph_manifest(directory, kb.digest, counts, settings)
        copy_permissions(directory, kb.path)
    size = sum(file.stat().st_size for file in folder.iterdir())
    return GraphReport(folder, bytes=size, seconds=time.monotonic() - began, **counts)


def _write_arrays(
    directory: Path,
    kb: KnowledgeBase,
    linker: EntityLinker,
    kept: KeptMentions | None,
    progress: bool,
) -> dict[str, int]:
    """Write all arrays and return the counts of the report."""
    live = kb.rows()
    rows = int(live[-1]) + 1 if len(live) else 0
    sentences = np.zeros(rows, dtype=np.int64)
    entities, kinds, lengths = array("I"), array("B"), array("I")
    documents = track_documents(kb.documents(), "finding mentions", total=len(kb), enabled=progress)
    for row, document in zip(live.tolist(), documents, strict=True):
        sentences[row] = len(document.sentences)
        if kept is not None and (earlier := int(kept.earlier[row])) >= 0:
            mentions = kept.graph.mentions_in(earlier)
            entities.frombytes(kept.later[mentions.values].tobytes())
            kinds.frombytes(mentions.kinds.tobytes())
            lengths.frombytes(mentions.lengths.tobytes())
            continue
        for number in range(len(document.sentences)):
            mentioned = _mentioned(kb, linker, document, number)
            entities.extend(mentioned)
            kinds.extend(mentioned.values())
            lengths.append(len(mentioned))
    columns = np.array(entities, dtype=np.uint32)
    arrays = graph_arrays(
        sentences, np.array(lengths, dtype=np.uint32), columns, np.array(kinds, dtype=np.uint8)
    )
    save_arrays(directory, arrays)
    return {
        "entities": int(np.count_nonzero(np.bincount(columns))),
        "frames": len(lengths),
        "mentions": len(columns),
        "links": kinds.count(LINK),
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
