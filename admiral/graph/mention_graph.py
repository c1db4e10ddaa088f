"""Open the graph of a knowledge base: sentences and the titles that they mention, memory-mapped."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from admiral.errors import AdmiralError
from admiral.graph.graph_files import (
    ENTITY_FRAMES,
    FRAME_ENTITIES,
    LINK,
    ROW_FRAMES,
    changed_files,
    damaged,
    graph_folder,
    load_arrays,
    missing_graph_error,
    read_graph_manifest,
    rebuild_remedy,
    sparse_rows,
)
from admiral.kb import KnowledgeBase
from admiral.kb.store.manifest import GRAPH_REQUEST
from admiral.kb.store.member_manifests import read_combined_manifest
from admiral.records import Sentence

logger = logging.getLogger(__name__)


class Incidences(NamedTuple):
    """Pairs of a requested row or frame and what was found for it.

    Attributes
    ----------
    requests
        Position in the request, int64, ascending.
    values
        Frames or rows, int64.
    kinds
        `LINK` for a hyperlink, otherwise the number of readings of the name, uint8.
    """

    requests: np.ndarray
    values: np.ndarray
    kinds: np.ndarray


class DocumentMentions(NamedTuple):
    """The mentions in the sentences of a document.

    Attributes
    ----------
    values, kinds
        Rows and kinds as in `Incidences`, sentence by sentence.
    lengths
        Number of mentions in each sentence, uint32.
    """

    values: np.ndarray
    kinds: np.ndarray
    lengths: np.ndarray


class MentionGraph:
    """Which frames (sentences) mention which entities (documents, by row).

    Use :meth:`open`. The arrays are memory-mapped and shared between processes and threads.

    Attributes
    ----------
    rows, frames
        Numbers of rows of the knowledge base, including removed ones, and of sentences.
    counts, settings
        Counts and settings of the build.
    """

    def __init__(
        self,
        kb_path: Path,
        arrays: dict[str, np.ndarray],
        counts: dict[str, int],
        settings: dict[str, Any],
    ) -> None:
        self._path = kb_path
        self.counts, self.settings = counts, settings
        self._row_frames = arrays[ROW_FRAMES]
        self._by_entity = sparse_rows(arrays, ENTITY_FRAMES)
        self._by_frame = sparse_rows(arrays, FRAME_ENTITIES)
        self.rows = len(self._row_frames) - 1
        self.frames = len(self._by_frame[0]) - 1
        sizes = {len(part) for rows in (self._by_entity, self._by_frame) for part in rows[1:]}
        if (
            self.rows != len(self._by_entity[0]) - 1
            or min(self.rows, self.frames) < 0
            or sizes != {int(self._by_entity[0][-1])}
            or sizes != {int(self._by_frame[0][-1])}
            or int(self._row_frames[-1]) != self.frames
        ):
            raise damaged(kb_path, "its files do not fit together")

    @classmethod
    def open(cls, kb: KnowledgeBase) -> Self:
        """Open the graph of an open knowledge base.

        Raises
        ------
        AdmiralError
            If it has no graph, or one of another version of the knowledge base, or files are
            damaged.
        """
        manifest = read_graph_manifest(kb.path)
        if manifest["knowledge_base"] != kb.digest:
            raise AdmiralError(f"{graph_folder(kb.path)}: {_STALE} {rebuild_remedy(kb.path)}")
        graph = cls(kb.path, load_arrays(kb.path), manifest["counts"], manifest["settings"])
        kb.opened_files.add(graph_folder(kb.path).iterdir())
        return graph

    def frequency(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of frames that mention each row: int64."""
        starts = self._by_entity[0]
        frequency: np.ndarray = starts[rows + 1].astype(np.int64) - starts[rows]
        return frequency

    def mentions_within(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of mentions in the sentences of each row: int64."""
        starts = self._by_frame[0]
        first, end = self._row_frames[rows], self._row_frames[rows + 1]
        mentions: np.ndarray = starts[end].astype(np.int64) - starts[first]
        return mentions

    def mentions_of(self, rows: np.ndarray) -> Incidences:
        """Return the frames that mention each row."""
        return self._gather(self._by_entity, rows, self.frames)

    def entities_in(self, frames: np.ndarray) -> Incidences:
        """Return the rows that each frame mentions."""
        return self._gather(self._by_frame, frames, self.rows)

    def mentions_in(self, row: int) -> DocumentMentions:
        """Return what the sentences of a document mention."""
        frames = self.frames_of(np.array([row]))[1]
        found = self.entities_in(frames)
        lengths = np.bincount(found.requests, minlength=len(frames)).astype(np.uint32)
        return DocumentMentions(found.values, found.kinds, lengths)

    def frames_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the frames of the documents in `rows`, with their positions in `rows`."""
        return self._positions(self._row_frames, rows, self.frames)

    def page_of(self, frames: np.ndarray) -> np.ndarray:
        """Return the row of the document that each frame belongs to: int64."""
        return self._row_frames.searchsorted(frames.astype(np.uint32), side="right") - 1

    def sentences(self, frames: np.ndarray) -> list[tuple[int, int]]:
        """Return the row and the sentence number of each frame."""
        pages = self.page_of(frames)
        numbers = frames - self._row_frames[pages]
        return list(zip(pages.tolist(), numbers.tolist(), strict=True))

    def problem(self) -> str:
        """Return what is wrong with the contents of the arrays; "" if nothing."""
        for starts in (self._row_frames, self._by_entity[0], self._by_frame[0]):
            if starts[0] != 0 or (np.diff(starts.astype(np.int64)) < 0).any():
                return "an array of starts is not ascending from 0"
        frames = self.entities_in(np.arange(self.frames))
        mentions = np.stack([frames.values, frames.requests, frames.kinds])
        entities = self.mentions_of(np.arange(self.rows))
        other = np.stack([entities.requests, entities.values, entities.kinds])
        if not np.array_equal(mentions[:, np.lexsort(mentions[1::-1])], other):
            return "its two arrays hold different mentions"
        return ""

    def _gather(
        self, rows: tuple[np.ndarray, np.ndarray, np.ndarray], wanted: np.ndarray, limit: int
    ) -> Incidences:
        starts, columns, kinds = rows
        index, positions = self._positions(starts, wanted, len(columns))
        values = columns[positions].astype(np.int64)
        # Damaged values are found when they are first read: checking all would read all pages.
        if values.size and int(values.max()) >= limit:
            raise damaged(self._path, "a mention of something that does not exist")
        return Incidences(index, values, kinds[positions])

    def _positions(
        self, starts: np.ndarray, wanted: np.ndarray, limit: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions from each start to the next one, with the index in `wanted`."""
        first = starts[wanted].astype(np.int64)
        lengths = starts[wanted + 1] - first
        if lengths.size and (int(lengths.min()) < 0 or int((first + lengths).max()) > limit):
            raise damaged(self._path, "an array of starts is not ascending")
        index = np.repeat(np.arange(len(wanted)), lengths)
        before = np.cumsum(lengths) - lengths
        return index, np.arange(len(index)) + (first - before)[index]


def sentences_at(kb: KnowledgeBase, places: Sequence[tuple[int, int]]) -> list[Sentence]:
    """Return the sentences at pairs of a row and a number."""
    return [
        Sentence(document.title, number, document.sentences[number])
        for row, number in places
        for document in [kb.document_at(row)]
    ]


def mention_weights(kinds: np.ndarray, link_weight: float = 1.0) -> np.ndarray:
    """Return the weight of mentions: `link_weight` for links, else one over the readings."""
    return np.where(kinds == LINK, link_weight, 1.0 / np.maximum(kinds, 1))


_STALE = "the graph of another version of the knowledge base."


def graph_problems(kb_path: Path) -> list[str]:
    """Check the graph of a knowledge base thoroughly, if it has one or is to have one.

    A graph of another version of the knowledge base is no damage; it is logged as a warning.

    Returns
    -------
    list of str
        One message per problem, with the remedy; empty if there is no graph or it is intact. A
        missing graph is a problem if the build of the knowledge base asked for it.
    """
    try:
        if not graph_folder(kb_path).exists():
            return [str(missing_graph_error(kb_path))] if _is_asked_for(kb_path) else []
        manifest = read_graph_manifest(kb_path)
        if problems := changed_files(kb_path, manifest["files"]):
            return [f"{problem}. {rebuild_remedy(kb_path)}" for problem in problems]
        if manifest["knowledge_base"] != read_combined_manifest(kb_path).digest:
            logger.warning("%s: %s %s", graph_folder(kb_path), _STALE, rebuild_remedy(kb_path))
            return []
        graph = MentionGraph(
            kb_path, load_arrays(kb_path), manifest["counts"], manifest["settings"]
        )
        problem = graph.problem()
    except AdmiralError as error:
        return [str(error)]
    return [str(damaged(kb_path, problem))] if problem else []


def _is_asked_for(kb_path: Path) -> bool:
    try:
        return GRAPH_REQUEST in read_combined_manifest(kb_path).settings
    except AdmiralError:
        return False  # that it cannot be read is a problem of the knowledge base
