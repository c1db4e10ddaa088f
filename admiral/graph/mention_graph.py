"""The graph of a knowledge base: sentences and the titles that they mention, memory-mapped.

The graph lies in ``graph/`` of the knowledge base; its manifest ties it to one version. Entities
are documents, by row. Frames are sentences, numbered over all documents in the order of rows. Two
arrays in compressed sparse row format hold which frames mention an entity, and which entities a
frame mentions; the kind of each mention lies beside them. Edges between entities are never stored:
they are pairs within a frame.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from admiral.kb.store import (
    GRAPH_REQUEST,
    digest_of,
    read_manifest,
    write_with_digest,
)
from admiral.kb.store.contents import GRAPH
from admiral.records import Sentence
from admiral.storage.atomic_files import FileEntry, describe_files
from trie.token_trie import open_array

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

_FORMAT, _VERSION, _NAME = "admiral-graph", 1, "graph.json"


def graph_folder(kb_path: Path) -> Path:
    """Return the directory of the graph of a knowledge base."""
    return kb_path / GRAPH


def rebuild_remedy(kb_path: Path) -> str:
    """Return the remedy for a graph that cannot be used."""
    return f"Build it with `admiral graph build --kb {kb_path}`."


def missing_graph_error(kb_path: Path) -> AdmiralError:
    """Return the error for a knowledge base without a graph."""
    return AdmiralError(f"{kb_path}: has no graph. {rebuild_remedy(kb_path)}")


def graph_arrays(
    sentences: np.ndarray, lengths: np.ndarray, columns: np.ndarray, kinds: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the arrays of a graph by their names.

    `sentences`: number of sentences of each row; 0 for a removed one. `lengths`: number of mentions
    in each frame. `columns`, `kinds`: rows that the frames mention, one frame after the other,
    ascending within a frame, and the kind of each mention.
    """
    order = np.argsort(columns, kind="stable")
    frames = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)[order]
    by_entity = _starts(np.bincount(columns, minlength=len(sentences))), frames, kinds[order]
    by_frame = _starts(lengths), columns, kinds
    return {
        ROW_FRAMES: _starts(sentences),
        **{
            f"{name}.{part}": values
            for name, rows in ((ENTITY_FRAMES, by_entity), (FRAME_ENTITIES, by_frame))
            for part, values in zip((_STARTS, _COLUMNS, _KINDS), rows, strict=True)
        },
    }


def _starts(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def save_arrays(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write the arrays of a graph.

    Raises AdmiralError if there are too many sentences or mentions for the format.
    """
    for name, values in arrays.items():
        dtype = _DTYPES[name]
        if values.size and int(values.max()) > np.iinfo(dtype).max:
            raise AdmiralError(
                f"{folder.parent}: has too many sentences or mentions for the format of graphs. "
                "Split the knowledge base."
            )
        np.save(folder / f"{name}.npy", values.astype(dtype, copy=False), allow_pickle=False)


def load_arrays(kb_path: Path) -> dict[str, np.ndarray]:
    """Open all arrays of a graph, memory-mapped.

    Raises AdmiralError if one is missing, truncated or of another type.
    """
    folder, arrays = graph_folder(kb_path), {}
    for name, dtype in _DTYPES.items():
        path = folder / f"{name}.npy"
        try:
            array = open_array(path)
        except (OSError, ValueError) as error:
            raise damaged(kb_path, f"{path.name}: {error}") from error
        if array.dtype != np.dtype(dtype) or array.ndim != 1:
            raise damaged(kb_path, f"{path.name}: not an array of {np.dtype(dtype).name}")
        # A plain view of the map: reading an element of a memmap takes ten times as long.
        arrays[name] = np.asarray(array)
    return arrays


def sparse_rows(
    arrays: dict[str, np.ndarray], name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return starts, columns and kinds of an array in compressed sparse row format."""
    return arrays[f"{name}.{_STARTS}"], arrays[f"{name}.{_COLUMNS}"], arrays[f"{name}.{_KINDS}"]


def damaged(kb_path: Path, reason: object) -> AdmiralError:
    """Return the error for damaged files of a graph."""
    return AdmiralError(f"{graph_folder(kb_path)}: damaged ({reason}). {rebuild_remedy(kb_path)}")


def write_graph_manifest(
    folder: Path, kb_digest: str, counts: dict[str, int], settings: dict[str, Any]
) -> None:
    """Write the manifest of a graph, with all files in its directory."""
    files = {
        name: {"size": entry.size, "sha256": entry.sha256}
        for name, entry in describe_files(folder).items()
    }
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "knowledge_base": kb_digest,
        "counts": counts,
        "settings": settings,
        "files": files,
    }
    write_with_digest(folder / _NAME, body)


def read_graph_manifest(kb_path: Path) -> dict[str, Any]:
    """Read and check the manifest of the graph of a knowledge base.

    Returns ``knowledge_base`` (digest of its version), ``counts``, ``settings``, and ``files``, a
    `FileEntry` for each. Raises AdmiralError if there is no graph, its format version is unknown,
    or the manifest was modified.
    """
    path = graph_folder(kb_path) / _NAME
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise missing_graph_error(kb_path) from None
    except OSError as error:
        raise AdmiralError(
            f"{path}: cannot be read ({error.strerror}). Check the permissions."
        ) from error
    except (ValueError, RecursionError) as error:
        raise damaged(kb_path, f"{_NAME}: {error}") from error
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise damaged(kb_path, f"{_NAME}: field 'format' is not {_FORMAT!r}")
    if value.get("version") != _VERSION:
        raise AdmiralError(
            f"{path}: field 'version' is {value.get('version')!r}; this release reads version "
            f"{_VERSION}. {rebuild_remedy(kb_path)}"
        )
    digest = value.pop("digest", None)
    if digest != digest_of(value):
        raise damaged(kb_path, f"{_NAME}: changed since it was written")
    value["files"] = {name: FileEntry(**entry) for name, entry in value["files"].items()}
    return value


def is_graph(folder: Path) -> bool:
    """Return whether a directory holds a graph, in any state."""
    return (folder / _NAME).is_file()


def changed_files(kb_path: Path, files: dict[str, FileEntry]) -> list[str]:
    """Compare the files of a graph with its manifest; return one message per difference."""
    folder = graph_folder(kb_path)
    actual = describe_files(folder)
    actual.pop(_NAME, None)
    problems = [
        f"{folder / name}: {'was changed' if name in actual else 'missing'}"
        for name, entry in files.items()
        if actual.get(name) != entry
    ]
    return problems + [f"{folder / n}: does not belong there" for n in actual if n not in files]


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

        Raises AdmiralError if it has no graph, or one of another version of the knowledge base, or
        files are damaged.
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
        if manifest["knowledge_base"] != read_manifest(kb_path).digest:
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
        return GRAPH_REQUEST in read_manifest(kb_path).settings
    except AdmiralError:
        return False  # that it cannot be read is a problem of the knowledge base
