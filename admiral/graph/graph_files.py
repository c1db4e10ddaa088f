"""Files of a mention graph, and the manifest that ties them to one version of a knowledge base.

The graph lies in ``graph/`` of the knowledge base. Entities are documents, by row. Frames are
sentences, numbered over all documents in the order of rows. Two arrays in compressed sparse row
format hold which frames mention an entity, and which entities a frame mentions; the kind of each
mention lies beside them. Edges between entities are never stored: they are pairs within a frame.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from admiral.errors import AdmiralError
from admiral.kb.store.contents import GRAPH
from admiral.kb.store.manifest import digest_of, write_with_digest
from admiral.storage.checksums import FileEntry, describe_files
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
    """Return where each row of an array in compressed sparse row format begins, and the end."""
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
