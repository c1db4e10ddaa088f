"""The manifest of a knowledge base: written last, it says what belongs there and vouches for it.

A knowledge base as `admiral index` builds it has a manifest of version 2. One that was changed
since has one of version 3, which also names its parts. One that joins others has one of version 4
(`members`).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError
from admiral.kb.store.parts import (
    FORMAT_VERSION,
    JOINED_VERSION,
    SEGMENTS,
    UPDATED_VERSION,
    Base,
    Delta,
    Manifest,
)
from admiral.storage.atomic_files import write_atomically
from admiral.storage.checksums import REBUILD, FileEntry, describe_files

FORMAT = "admiral-kb"
NAME = "manifest.json"

_PART = re.compile(rf"\.|{SEGMENTS}/[0-9a-f]{{16}}")


def write_manifest(directory: Path, counts: dict[str, int], settings: dict[str, Any]) -> Manifest:
    """Describe the files of a knowledge base that was just built and write its manifest."""
    return replace_manifest(directory, counts, settings, describe_files(directory), None, None)


def replace_manifest(
    directory: Path,
    counts: dict[str, int],
    settings: dict[str, Any],
    files: dict[str, FileEntry],
    base: Base | None,
    delta: Delta | None,
) -> Manifest:
    """Write the manifest of another version, in one step: from here on readers see that one.

    Without a base everything there is the base, as after a build.
    """
    body = _body(counts, settings, files, base, delta)
    digest = write_sealed(directory / NAME, body)
    base = base or Base(".", counts["documents"], digest)
    return Manifest(counts, settings, files, base, delta, digest)


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of a knowledge base that holds documents itself.

    Raises
    ------
    AdmiralError
        If there is none, it is of another format version, it was changed, or the knowledge base
        joins others.
    """
    value = read_value(directory)
    if value["version"] == JOINED_VERSION:
        raise AdmiralError(
            f"{directory}: joins other knowledge bases and holds no documents itself. Name the one "
            "of its members that is meant; `admiral info` lists them."
        )
    return _parse(value, directory / NAME)


def read_value(directory: Path) -> dict[str, Any]:
    """Read the manifest as it stands; AdmiralError if there is none or of another version."""
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
        raise AdmiralError(f"{path}: damaged ({error}). {REBUILD}") from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise AdmiralError(f"{path}: field 'format' is not {FORMAT!r}. Check the path.")
    if value.get("version") not in (FORMAT_VERSION, UPDATED_VERSION, JOINED_VERSION):
        raise AdmiralError(
            f"{path}: field 'version' is {value.get('version')!r}; this release reads versions "
            f"{FORMAT_VERSION} to {JOINED_VERSION}. {REBUILD}"
        )
    return value


def write_sealed(path: Path, body: dict[str, Any]) -> str:
    """Write a JSON object with a digest of itself, which is returned, in one step."""
    digest = digest_of(body)
    text = json.dumps({**body, "digest": digest}, indent=1, ensure_ascii=True) + "\n"
    write_atomically(path, [text.encode("ascii")])
    return digest


def is_knowledge_base(directory: Path) -> bool:
    """Whether a directory holds one of ours, of whatever version and in whatever state."""
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
            base, delta = Base(".", counts["documents"], digest), None
            body = _body(counts, settings, files)
        else:
            base = Base(**value["base"])
            delta = None if value["delta"] is None else Delta(**value["delta"])
            body = _body(counts, settings, files, base, delta)
        intact = digest == digest_of(body) and "bm25" in settings and counts["documents"] > 0
        intact = intact and not any(map(_outside, files)) and _fit(counts, base, delta)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AdmiralError(f"{path}: damaged (bad or missing {error}). {REBUILD}") from error
    if not intact:
        raise AdmiralError(f"{path}: changed since it was written. {REBUILD}")
    return Manifest(counts, settings, files, base, delta, digest)


def _outside(name: str) -> bool:
    return name.startswith("/") or ".." in name.split("/")


def _fit(counts: dict[str, int], base: Base, delta: Delta | None) -> bool:
    """Whether the parts have names of ours, and as many documents together as are counted."""
    added, removed = (delta.documents, delta.removed) if delta else (0, 0)
    parts = [base.path] + ([delta.path] if delta else [])
    return (
        all(map(_PART.fullmatch, parts))
        and min(added, removed) >= 0
        and counts["documents"] == base.documents - removed + added
    )


def _body(
    counts: dict[str, int],
    settings: dict[str, Any],
    files: dict[str, FileEntry],
    base: Base | None = None,
    delta: Delta | None = None,
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "counts": counts,
        "settings": settings,
        "files": {name: asdict(entry) for name, entry in files.items()},
    }
    if base is not None:
        parts = {"base": asdict(base), "delta": asdict(delta) if delta else None}
        body.update(version=UPDATED_VERSION, **parts)
    return body


def digest_of(body: dict[str, Any]) -> str:
    """Return the SHA-256 of a JSON object."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
