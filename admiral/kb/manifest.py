"""The manifest of a knowledge base: written last, it says what belongs there and vouches for it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError

FORMAT = "admiral-kb"
FORMAT_VERSION = 2
NAME = "manifest.json"

_REBUILD = "Build it again with `admiral index`."


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The size in bytes and SHA-256 (hexadecimal) of one file."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a knowledge base holds.

    Attributes
    ----------
    counts
        Numbers of ``documents``, ``sentences`` and ``links``.
    settings
        How it was built: ``bm25`` (the backend or ``none``), ``on_duplicate``, ``sources``.
    files
        Every file but the manifest itself and the tries, by path relative to the directory.
    digest
        SHA-256 of all of the above; it identifies the knowledge base.
    """

    counts: dict[str, int]
    settings: dict[str, Any]
    files: dict[str, FileEntry]
    digest: str

    @property
    def documents(self) -> int:
        """The number of documents, which is the number of rows."""
        return self.counts["documents"]

    @property
    def bm25(self) -> str:
        """The BM25 backend whose index is there, or ``none``."""
        return str(self.settings["bm25"])


def describe_files(directory: Path) -> dict[str, FileEntry]:
    """Return the entries of all files below `directory`, sorted by path."""
    entries = {}
    for file in sorted(p for p in directory.rglob("*") if p.is_file()):
        with file.open("rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
        entries[file.relative_to(directory).as_posix()] = FileEntry(file.stat().st_size, checksum)
    return entries


def write_manifest(directory: Path, counts: dict[str, int], settings: dict[str, Any]) -> Manifest:
    """Describe the files of a finished knowledge base and write its manifest."""
    files = describe_files(directory)
    body = _body(counts, settings, files)
    manifest = Manifest(counts, settings, files, _digest(body))
    text = json.dumps({**body, "digest": manifest.digest}, indent=1, ensure_ascii=True)
    (directory / NAME).write_text(text + "\n", encoding="utf-8")
    return manifest


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest.

    Raises
    ------
    AdmiralError
        If there is none, it is of another format version, or it was changed.
    """
    path = directory / NAME
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        problem = "no such knowledge base" if not directory.exists() else "not a knowledge base"
        raise AdmiralError(
            f"{directory}: {problem} (there is no {NAME}). Check the path, or build one with "
            "`admiral index CORPUS --kb PATH`."
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
        raise AdmiralError(f"{path}: damaged ({error}). {_REBUILD}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise AdmiralError(f"{path}: field 'format' is not {FORMAT!r}. Check the path.")
    if value.get("version") != FORMAT_VERSION:
        raise AdmiralError(
            f"{path}: field 'version' is {value.get('version')!r}; this release reads version "
            f"{FORMAT_VERSION}. {_REBUILD}"
        )
    return _parse(value, path)


def is_knowledge_base(directory: Path) -> bool:
    """Whether a directory holds one of ours, of whatever version and in whatever state."""
    try:
        value = json.loads((directory / NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("format") == FORMAT


def check_sizes(directory: Path, manifest: Manifest) -> None:
    """Raise AdmiralError for the first file that is absent or not of its size."""
    for name, entry in manifest.files.items():
        try:
            size = (directory / name).stat().st_size
        except OSError as error:
            raise AdmiralError(
                f"{directory / name}: missing ({error.strerror}). {_REBUILD}"
            ) from error
        if size != entry.size:
            raise AdmiralError(
                f"{directory / name}: {size:,} bytes where the manifest says {entry.size:,}; the "
                f"file was cut off or changed. {_REBUILD}"
            )


def _parse(value: dict[str, Any], path: Path) -> Manifest:
    try:
        files = {
            str(name): FileEntry(int(entry["size"]), str(entry["sha256"]))
            for name, entry in value["files"].items()
        }
        counts = {str(name): int(count) for name, count in value["counts"].items()}
        settings = dict(value["settings"])
        digest = str(value["digest"])
        intact = digest == _digest(_body(counts, settings, files)) and "bm25" in settings
        intact = intact and counts["documents"] > 0 and not any(map(_outside, files))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AdmiralError(f"{path}: damaged (bad or missing {error}). {_REBUILD}") from error
    if not intact:
        raise AdmiralError(f"{path}: changed since it was written. {_REBUILD}")
    return Manifest(counts, settings, files, digest)


def _outside(name: str) -> bool:
    return name.startswith("/") or ".." in name.split("/")


def _body(
    counts: dict[str, int], settings: dict[str, Any], files: dict[str, FileEntry]
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "counts": counts,
        "settings": settings,
        "files": {n: {"size": e.size, "sha256": e.sha256} for n, e in files.items()},
    }


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
