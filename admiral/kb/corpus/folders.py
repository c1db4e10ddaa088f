"""Choose the files of a corpus that are read.

Hidden files and folders that programs make are ignored. A file with several paths is read once, by
a path without symbolic links if it has one, so links in circles do no harm.
"""

from __future__ import annotations

import stat
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from admiral.errors import AdmiralError
from admiral.io.streams import Place, RemotePath
from admiral.kb.corpus.files.file_types import file_type

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Folders that nobody means by a folder of documents.
_JUNK = frozenset(("node_modules", "bower_components", "__pycache__", "__MACOSX", "CVS"))
EXCLUDED = "excluded by --include or --exclude"
UNKNOWN = "not of a known type"
LINKED = "another path of a file that is read"
BROKEN = "cannot be read (broken links, permissions)"
SPECIAL = "no regular file"


class FilePatterns(NamedTuple):
    """Patterns as in ``.gitignore`` for paths below a folder."""

    include: tuple[str, ...] = ()  # if there are any, only files that match one of them are read
    exclude: tuple[str, ...] = ()  # files and folders that are not read


ALL_FILES = FilePatterns()
#: What is not read, and why.
Others = list[tuple[Place, str]]


def choose_files(path: Place, patterns: FilePatterns) -> tuple[Sequence[Place], Others]:
    """Return the documents below a folder, or the file itself, and what is not read there."""
    if path.is_file():
        return [path], []
    include, exclude = _spec(patterns.include), _spec(patterns.exclude)
    files: list[Place] = []
    others: Others = []
    for parts, file in walk(path, others):
        relative = "/".join(parts)
        if (exclude and exclude.match_file(relative)) or (
            include and not include.match_file(relative)
        ):
            others.append((file, EXCLUDED))
        elif file_type(file.name) is None:
            others.append((file, UNKNOWN))
        else:
            files.append(file)
    if not files:
        shown = ", ".join(f"{n} {why}" for why, n in Counter(why for _, why in others).items())
        counts = f" Skipped: {shown}." if shown else ""
        raise AdmiralError(
            f"{path}: the folder holds no files of a known type, such as .md, .txt, .html or .pdf."
            f"{counts} Check the path, --include and --exclude."
        )
    return files, others


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    if not patterns:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise AdmiralError(
            f"--include or --exclude: not a pattern of .gitignore ({error}). Correct it."
        ) from error


def data_files(path: Place) -> Sequence[Place]:
    """Return the file itself, or the files below a folder that are no documents."""
    if path.is_file():
        return [path]
    others: Others = []
    files = [file for _, file in walk(path, others) if file_type(file.name) is None]
    broken = next((file for file, why in others if why == BROKEN), None)
    if broken is not None:
        raise AdmiralError(
            f"{broken}: cannot be read, so the corpus {path} would be incomplete. Make it "
            "readable, or remove the link or the folder."
        )
    if not files:
        raise AdmiralError(f"{path}: the folder holds no data files. Check the path.")
    return files


def walk(folder: Place, others: Others) -> list[tuple[tuple[str, ...], Place]]:
    """Return the files below a folder, each with the parts of its path there, sorted by these."""
    if isinstance(folder, RemotePath):
        top = str(folder).rstrip("/") + "/"
        remote = ((tuple(str(f).removeprefix(top).split("/")), f) for f in folder.files_below())
        return [(parts, file) for parts, file in remote if _JUNK.isdisjoint(parts)]
    return sorted(_walk(folder, others))


def _walk(folder: Path, others: Others) -> Iterator[tuple[tuple[str, ...], Path]]:
    seen: set[tuple[int, int]] = set()
    waiting, links = [folder], deque[Path]()
    while waiting or links:  # links last, so that a file is read by its own path
        path = waiting.pop() if waiting else links.popleft()
        try:
            status = path.stat()
            members = sorted(path.iterdir()) if stat.S_ISDIR(status.st_mode) else []
        except OSError:
            others.append((path, BROKEN))
            continue
        is_seen = (status.st_dev, status.st_ino) in seen
        seen.add((status.st_dev, status.st_ino))
        if stat.S_ISDIR(status.st_mode):
            for member in () if is_seen else members:
                if not member.name.startswith(".") and member.name not in _JUNK:
                    (links if member.is_symlink() else waiting).append(member)
        elif is_seen:
            others.append((path, LINKED))
        elif stat.S_ISREG(status.st_mode):
            yield path.relative_to(folder).parts, path
        else:
            others.append((path, SPECIAL))
