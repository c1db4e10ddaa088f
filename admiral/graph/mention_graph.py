"""The graph of a knowledge base: sentences and the titles that they mention, memory-mapped.

The graph of a version lies in ``graph/`` of what is derived from it. Entities are documents, by
row. Frames are sentences, numbered over all documents in the order of rows. Two arrays in
compressed sparse row format hold which frames mention an entity, and which entities a frame
mentions; the kind of each mention lies beside them. Edges between entities are never stored: they
are pairs within a frame.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from admiral.records import Sentence
from trie.token_trie import open_array

GRAPH = "graph"
ENTITY_FRAMES, FRAME_ENTITIES = "entity_frames", "frame_entities"
ROW_FRAMES = "row_frames"
_STARTS, _COLUMNS, _KINDS = "ptr", "idx", "kind"
_DTYPES = {
    ROW_FRAMES: np.uint32,
    **{
        f"{name}.{part}": dtype
        for name in (ENTITY_FRAMES, FRAME_ENTITIES)
        for part, dtype in ((_STARTS, np.uint32), (_COLUMNS, np.uint32), (_KINDS, np.uint8))
    },
}
#: Kind of a mention that is a hyperlink; other kinds are the number of readings of the name.
LINK = 0

_META = "graph.json"


def has_graph(kb: KnowledgeBase) -> bool:
    """Return whether there is a graph of the open version of a knowledge base."""
    return (kb.folder / GRAPH / _META).is_file()


def check_graph(path: str | Path) -> list[str]:
    """Return what is wrong with the graph of a knowledge base; nothing if it has none."""
    try:
        with KnowledgeBase.open(path) as kb:
            if has_graph(kb):
                graph = MentionGraph.open(kb)
                graph.entities_in(np.arange(graph.frames))
                graph.mentions_of(np.arange(graph.rows))
    except AdmiralError as error:
        return [str(error)]
    return []


def graph_arrays(sentences: np.ndarray, mentions: sparse.csr_array) -> dict[str, np.ndarray]:
    """Return the arrays of a graph by their names.

    `sentences`: number of sentences of each row; 0 for a removed one. `mentions`: the kinds of
    mentions by frame and row.
    """
    by_entity = mentions.tocsc()
    return {
        ROW_FRAMES: np.concatenate([np.zeros(1, np.int64), np.cumsum(sentences)]),
        **{
            f"{name}.{part}": values
            for name, matrix in ((ENTITY_FRAMES, by_entity), (FRAME_ENTITIES, mentions))
            for part, values in (
                (_STARTS, matrix.indptr),
                (_COLUMNS, matrix.indices),
                (_KINDS, matrix.data),
            )
        },
    }


def save_graph(
    folder: Path, arrays: dict[str, np.ndarray], settings: dict[str, Any]
) -> dict[str, int]:
    """Write a graph into a new folder, and return its counts.

    Raises AdmiralError if there are too many sentences or mentions for the format.
    """
    folder.mkdir()
    for name, values in arrays.items():
        dtype = _DTYPES[name]
        if values.size and int(values.max()) > np.iinfo(dtype).max:
            raise AdmiralError(
                f"{folder.parent}: has too many sentences or mentions for the format of graphs. "
                "Split the knowledge base."
            )
        np.save(folder / f"{name}.npy", values.astype(dtype, copy=False), allow_pickle=False)
    counts = {
        "entities": int(np.count_nonzero(np.diff(arrays[f"{ENTITY_FRAMES}.{_STARTS}"]))),
        "frames": int(arrays[ROW_FRAMES][-1]),
        "mentions": len(arrays[f"{FRAME_ENTITIES}.{_COLUMNS}"]),
        "links": int(np.count_nonzero(arrays[f"{FRAME_ENTITIES}.{_KINDS}"] == LINK)),
    }
    meta = json.dumps({"counts": counts, "settings": settings})
    (folder / _META).write_text(f"{meta}\n", encoding="utf-8")
    return counts


def _sparse_rows(
    arrays: dict[str, np.ndarray], name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return arrays[f"{name}.{_STARTS}"], arrays[f"{name}.{_COLUMNS}"], arrays[f"{name}.{_KINDS}"]


def rebuild_remedy(kb_path: Path) -> str:
    """Return the remedy for a graph that cannot be used."""
    return f"Build it with `admiral graph build --kb {kb_path}`."


def damaged(kb_path: Path, reason: object) -> AdmiralError:
    """Return the error for damaged files of a graph."""
    return AdmiralError(f"{kb_path}: its graph is damaged ({reason}). {rebuild_remedy(kb_path)}")


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
        self.row_frames = arrays[ROW_FRAMES]
        self._by_entity = _sparse_rows(arrays, ENTITY_FRAMES)
        self.by_frame = _sparse_rows(arrays, FRAME_ENTITIES)
        self.rows = len(self.row_frames) - 1
        self.frames = len(self.by_frame[0]) - 1
        sizes = {len(part) for rows in (self._by_entity, self.by_frame) for part in rows[1:]}
        if (
            self.rows != len(self._by_entity[0]) - 1
            or min(self.rows, self.frames) < 0
            or sizes != {int(self._by_entity[0][-1])}
            or sizes != {int(self.by_frame[0][-1])}
            or int(self.row_frames[-1]) != self.frames
        ):
            raise damaged(kb_path, "its files do not fit together")

    @classmethod
    def open(cls, kb: KnowledgeBase) -> Self:
        """Open the graph of an open knowledge base.

        Raises AdmiralError if this version has no graph, or files are damaged.
        """
        folder = kb.folder / GRAPH
        if not has_graph(kb):
            raise AdmiralError(f"{kb.path}: has no graph. {rebuild_remedy(kb.path)}")
        arrays = {}
        try:
            meta = json.loads((folder / _META).read_bytes())
            for name, dtype in _DTYPES.items():
                # A plain view of the map: reading an element of a memmap takes ten times as long.
                arrays[name] = np.asarray(open_array(folder / f"{name}.npy"))
                if arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != 1:
                    raise ValueError(f"{name}.npy is not an array of {np.dtype(dtype).name}")
            return cls(kb.path, arrays, meta["counts"], meta["settings"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(kb.path, error) from error

    def mentions_by_frame(self, rows: int) -> sparse.csr_array:
        """Return the kinds of mentions by frame and row, of which there may be more."""
        starts, columns, kinds = self.by_frame
        return sparse.csr_array((kinds, columns, starts), shape=(self.frames, rows))

    def frequency(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of frames that mention each row: int64."""
        starts = self._by_entity[0]
        frequency: np.ndarray = starts[rows + 1].astype(np.int64) - starts[rows]
        return frequency

    def mentions_within(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of mentions in the sentences of each row: int64."""
        starts = self.by_frame[0]
        first, end = self.row_frames[rows], self.row_frames[rows + 1]
        mentions: np.ndarray = starts[end].astype(np.int64) - starts[first]
        return mentions

    def mentions_of(self, rows: np.ndarray) -> Incidences:
        """Return the frames that mention each row."""
        return self._gather(self._by_entity, rows, self.frames)

    def entities_in(self, frames: np.ndarray) -> Incidences:
        """Return the rows that each frame mentions."""
        return self._gather(self.by_frame, frames, self.rows)

    def frames_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the frames of the documents in `rows`, with their positions in `rows`."""
        return self._positions(self.row_frames, rows, self.frames)

    def page_of(self, frames: np.ndarray) -> np.ndarray:
        """Return the row of the document that each frame belongs to: int64."""
        return self.row_frames.searchsorted(frames.astype(np.uint32), side="right") - 1

    def sentences(self, frames: np.ndarray) -> list[tuple[int, int]]:
        """Return the row and the sentence number of each frame."""
        pages = self.page_of(frames)
        numbers = frames - self.row_frames[pages]
        return list(zip(pages.tolist(), numbers.tolist(), strict=True))

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
