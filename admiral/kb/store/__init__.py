"""Read and write the manifest of a knowledge base, which is written last and lists all files.

Format version 2 is a knowledge base as `admiral index` builds it. Version 3 is one that has been
changed since; its manifest also names the segments.

A version has a base segment, whose documents were indexed together. If it has changed since, it
also has one delta segment: the documents that were added and the rows of the base that were
removed. Everything written has the permissions of its knowledge base, which may be shared: the
user who changes it may have another umask than its builder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.kb.embeddings import EMBEDDINGS
from admiral.requirements import is_bundled
from admiral.storage.atomic_files import REBUILD, FileEntry, describe_files, write_atomically

FORMAT_VERSION, UPDATED_VERSION = 2, 3
SEGMENTS = "segments"


FORMAT = "admiral-kb"
NAME = "manifest.json"
#: Setting of a knowledge base that is to have a graph: a digest of the command that asked for it.
GRAPH_REQUEST = "graph_request"


@dataclass(frozen=True, slots=True)
class BaseSegment:
    """Documents that were indexed together."""

    # directory relative to the knowledge base: ``.``, or a folder below ``segments`` after a
    # compaction
    path: str
    documents: int  # number of documents, which have the rows from 0 on, including removed ones
    digest: str  # identifies the documents; token tries are tied to it


@dataclass(frozen=True, slots=True)
class DeltaSegment:
    """Changes since the base segment was written."""

    path: str  # directory relative to the knowledge base, a folder below ``segments``
    documents: int  # number of added documents; their rows follow those of the base
    removed: int  # number of removed rows of the base


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of ``manifest.json``."""

    counts: dict[str, int]  # numbers of ``documents``, ``sentences`` and ``links``
    # settings of the build: ``bm25`` (the backend or ``none``), ``passages``, ``on_duplicate``,
    # ``sources``
    settings: dict[str, Any]
    # all files except the manifest itself and the tries, by path relative to the directory
    files: dict[str, FileEntry]
    # base, delta: the segments; `delta` is None if nothing has changed since the base was written
    base: BaseSegment
    delta: DeltaSegment | None
    digest: str  # SHA-256 of all of the above, which identifies this version of the knowledge base

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.counts["documents"]

    @property
    def bm25(self) -> str:
        """The backend of the BM25 index, or ``none``."""
        return str(self.settings["bm25"])

    @property
    def rebuild(self) -> str:
        """The remedy for damaged files."""
        return _LIBRARY_REBUILD if "words" in self.settings else REBUILD

    def embeddings(self, segment: str) -> str | None:
        """Return the folder of the embeddings of a segment, given its path; None if it has none."""
        folders = (
            name.rpartition("/")[0]
            for name in self.embedding_files
            if split_segment(name)[0] == segment
        )
        return next(folders, None)

    @property
    def embedding_files(self) -> dict[str, FileEntry]:
        """The files of the embeddings of all segments."""
        prefix = f"{EMBEDDINGS}/"
        files = self.files.items()
        return {name: e for name, e in files if split_segment(name)[1].startswith(prefix)}

    @property
    def version(self) -> int:
        """The format version, which differs once the knowledge base has been changed."""
        return FORMAT_VERSION if self.digest == self.base.digest else UPDATED_VERSION


def split_segment(name: str) -> tuple[str, str]:
    """Split the path of a file into the path of its segment and the path in that segment."""
    if not name.startswith(f"{SEGMENTS}/"):
        return ".", name
    top, folder, inside = name.split("/", 2)
    return f"{top}/{folder}", inside


_LIBRARY_REBUILD = "Build it again with `admiral library build`."
_REBUILD_EITHER = "Build it again with `admiral index`, or `admiral library build`."
_SEGMENT_PATH = re.compile(rf"\.|{SEGMENTS}/[0-9a-f]{{16}}")


def write_manifest(directory: Path, counts: dict[str, int], settings: dict[str, Any]) -> Manifest:
    """Write the manifest of a knowledge base that was just built, with all files in it."""
    files = describe_files(directory)
    return replace_manifest(directory, counts, settings, files, None, None)


def replace_manifest(
    directory: Path,
    counts: dict[str, int],
    settings: dict[str, Any],
    files: dict[str, FileEntry],
    base: BaseSegment | None,
    delta: DeltaSegment | None,
) -> Manifest:
    """Replace the manifest atomically; readers see the new version from then on.

    `base`: the base segment; None if the whole directory is the base, as after a build.
    """
    body = _body(counts, settings, files, base, delta)
    digest = write_with_digest(directory / NAME, body)
    base = base or BaseSegment(".", counts["documents"], digest)
    return Manifest(counts, settings, files, base, delta, digest)


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of a knowledge base.

    Raises AdmiralError if there is none, it has an unknown format version, or it was modified.
    """
    path = directory / NAME
    try:
        value: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        problem = "not a knowledge base" if directory.exists() else "no such knowledge base"
        raise AdmiralError(
            f"{directory}: {problem} (there is no {NAME}). Check the path, or build one with "
            "`admiral index`, or of sources with `admiral library build`."
        ) from None
    except NotADirectoryError:
        raise AdmiralError(
            f"{directory}: a knowledge base is a directory, and this is a file. Check the path."
        ) from None
    except OSError as error:
        raise AdmiralError(
            f"{path}: cannot be read ({error.strerror}). Check the permissions."
        ) from error
    except (ValueError, RecursionError) as error:
        raise AdmiralError(f"{path}: damaged ({error}). {_REBUILD_EITHER}") from error
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    found = fields.get("format")
    if found != FORMAT:
        raise AdmiralError(
            f"{path}: field 'format' is {found!r}, not {FORMAT!r}. Check the path. If it is of an "
            f"earlier release: {_REBUILD_EITHER}"
        )
    if fields.get("version") not in (FORMAT_VERSION, UPDATED_VERSION):
        raise AdmiralError(
            f"{path}: field 'version' is {fields.get('version')!r}; this release reads versions "
            f"{FORMAT_VERSION} and {UPDATED_VERSION}. {_REBUILD_EITHER}"
        )
    return _parse(fields, path)


def write_with_digest(path: Path, body: dict[str, Any]) -> str:
    """Write a JSON object with its own digest, atomically, and return the digest."""
    digest = digest_of(body)
    text = json.dumps({**body, "digest": digest}, indent=1, ensure_ascii=True) + "\n"
    write_atomically(path, [text.encode("ascii")])
    return digest


def is_knowledge_base(directory: Path) -> bool:
    """Return whether a directory holds a knowledge base, of any version and in any state."""
    try:
        value = json.loads((directory / NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("format") == FORMAT


def _parse(value: dict[str, Any], path: Path) -> Manifest:
    try:
        files = {
            str(name): FileEntry(int(entry["size"]), str(entry["sha256"]))
            for name, entry in value["files"].items()
        }
        counts = {str(name): int(count) for name, count in value["counts"].items()}
        settings = dict(value["settings"])
        digest = str(value["digest"])
        if value["version"] == FORMAT_VERSION:
            base, delta = BaseSegment(".", counts["documents"], digest), None
            body = _body(counts, settings, files)
        else:
            base = BaseSegment(**value["base"])
            delta = None if value["delta"] is None else DeltaSegment(**value["delta"])
            body = _body(counts, settings, files, base, delta)
        intact = digest == digest_of(body) and "bm25" in settings and counts["documents"] > 0
        intact = intact and not any(map(_outside, files)) and _consistent(counts, base, delta)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AdmiralError(
            f"{path}: damaged (bad or missing {error}). {_REBUILD_EITHER}"
        ) from error
    if not intact:
        raise AdmiralError(f"{path}: changed since it was written. {_REBUILD_EITHER}")
    return Manifest(counts, settings, files, base, delta, digest)


def _outside(name: str) -> bool:
    return name.startswith("/") or ".." in name.split("/")


def _consistent(counts: dict[str, int], base: BaseSegment, delta: DeltaSegment | None) -> bool:
    added, removed = (delta.documents, delta.removed) if delta else (0, 0)
    paths = [base.path] + ([delta.path] if delta else [])
    return (
        all(map(_SEGMENT_PATH.fullmatch, paths))
        and min(added, removed) >= 0
        and counts["documents"] == base.documents - removed + added
    )


def _body(
    counts: dict[str, int],
    settings: dict[str, Any],
    files: dict[str, FileEntry],
    base: BaseSegment | None = None,
    delta: DeltaSegment | None = None,
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "counts": counts,
        "settings": settings,
        "files": {name: asdict(entry) for name, entry in files.items()},
    }
    if base is not None:
        segments = {"base": asdict(base), "delta": asdict(delta) if delta else None}
        body.update(version=UPDATED_VERSION, **segments)
    return body


def digest_of(body: dict[str, Any]) -> str:
    """Return the SHA-256 of a JSON object."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def copy_permissions(tree: Path, kb: Path) -> None:
    """Give the folders of `tree` the mode of `kb`, and its files that of the manifest of `kb`."""
    folder_mode = stat.S_IMODE(kb.stat().st_mode)
    file_mode = stat.S_IMODE((kb / NAME).stat().st_mode)
    for folder, _, files in os.walk(tree):
        os.chmod(folder, folder_mode)
        for name in files:
            os.chmod(os.path.join(folder, name), file_mode)


def checked_kb_path(path: str | Path, noun: str = "knowledge base") -> Path:
    """Return the path of a knowledge base or a library; a relative path stays relative.

    Raises AdmiralError if the path is empty, which `Path` would take for the current folder, or its
    real path is not UTF-8, which Arrow and Java cannot open.
    """
    if not os.fspath(path):
        raise AdmiralError(f"the path of the {noun} is empty. Name a directory.")
    real_path = os.path.realpath(path)
    try:
        real_path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdmiralError(
            f"{real_path!r}: the path of a {noun} must be UTF-8. Choose another name."
        ) from error
    return Path(path)


def check_outside_folders(output: Path, *folders: str) -> None:
    """Raise `AdmiralError` if an output file would lie in a knowledge base or a checkpoint.

    `folders` are names or directories of the knowledge bases and checkpoints in use.
    """
    for folder in folders:
        is_read = os.path.isdir(folder) and not is_bundled(folder)
        if is_read and Path(os.path.realpath(output)).is_relative_to(os.path.realpath(folder)):
            raise AdmiralError(f"{output}: lies in {folder}, which is read. Choose another output")
