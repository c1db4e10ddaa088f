"""Choose the files of a folder to read, and count the others by reason."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from admiral.errors import AdmiralError
from admiral.io.remote import Place, RemotePath
from admiral.kb.corpus.files.file_types import file_type, uncompressed_name

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Folders that programs make; nobody means them by a folder of documents.
JUNK = frozenset(("node_modules", "bower_components", "__pycache__", "__MACOSX", "CVS"))

EXCLUDED = "excluded by --include or --exclude"
UNKNOWN = "not of a known type"
LINKED = "another path of a file that is read"
BROKEN = "cannot be read (broken links, permissions)"


class FilePatterns(NamedTuple):
    """Patterns as in ``.gitignore`` for paths below a folder.

    Attributes
    ----------
    include
        If there are any, only files that match one of them are read.
    exclude
        Files and folders that are not read.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


ALL_FILES = FilePatterns()


class ChosenFiles(NamedTuple):
    """Result of a walk.

    Attributes
    ----------
    files
        The files to read, sorted by path.
    skipped
        How many files are not read, by reason.
    unknown
        How many files there are of each suffix that is not known.
    """

    files: Sequence[Place]
    skipped: Counter[str]
    unknown: Counter[str]


def choose_files(path: Place, patterns: FilePatterns) -> ChosenFiles:
    """Choose the files to read below a folder, or the file itself.

    Hidden files and `JUNK` are left out without counting. A file with several paths is read once,
    by a path without symbolic links if it has one, so links in circles do no harm.

    Raises
    ------
    AdmiralError
        If the folder has no file to read, or a pattern is not valid.
    """
    if path.is_file():
        return ChosenFiles([path], Counter(), Counter())
    include, exclude = _spec(patterns.include), _spec(patterns.exclude)
    files: list[tuple[tuple[str, ...], Place]] = []
    skipped: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for parts, file in _files(path, exclude, skipped):
        relative = "/".join(parts)
        if (exclude and exclude.match_file(relative)) or (
            include and not include.match_file(relative)
        ):
            skipped[EXCLUDED] += 1
        elif file_type(file.name) is None:
            skipped[UNKNOWN] += 1
            unknown[PurePosixPath(uncompressed_name(file.name)).suffix or "no suffix"] += 1
        else:
            files.append((parts, file))
    if not files:
        others = f" Skipped: {dict(skipped)}." if skipped else ""
        raise AdmiralError(
            f"{path}: the folder holds no files of a known type, such as .md, .txt, .html or .pdf."
            f"{others} Check the path, --include and --exclude."
        )
    files.sort(key=lambda pair: pair[0])
    return ChosenFiles([file for _, file in files], skipped, unknown)


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


def _files(
    folder: Place, exclude: GitIgnoreSpec | None, skipped: Counter[str]
) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Yield the files below a folder with the parts of their paths relative to it."""
    if isinstance(folder, RemotePath):
        top = str(folder).rstrip("/") + "/"
        for remote in folder.files_below():
            parts = tuple(str(remote).removeprefix(top).split("/"))
            if JUNK.isdisjoint(parts):
                yield parts, remote
        return
    seen: set[tuple[int, int]] = set()
    links: list[tuple[tuple[str, ...], Path]] = []
    for parts, file in _local_files(folder, exclude, skipped, links):
        if _is_new(file, seen):
            yield parts, file
        else:
            skipped[LINKED] += 1
    links.sort()
    for parts, link in links:
        try:
            is_file, is_folder = link.is_file(), link.is_dir()
        except OSError:  # links in a circle
            is_file = is_folder = False
        if is_folder:
            inner: list[tuple[tuple[str, ...], Path]] = []
            for below, file in _local_files(link, exclude, skipped, inner, parts):
                if _is_new(file, seen):
                    yield below, file
            # Links in linked folders are not followed, which ends every circle.
        elif not is_file:
            skipped[BROKEN] += 1
        elif _is_new(link, seen):
            yield parts, link
        else:
            skipped[LINKED] += 1


def _local_files(
    folder: Path,
    exclude: GitIgnoreSpec | None,
    skipped: Counter[str],
    links: list[tuple[tuple[str, ...], Path]],
    above: tuple[str, ...] = (),
) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Yield regular files; symbolic links are appended to `links` instead."""

    def count_error(_: OSError) -> None:
        skipped[BROKEN] += 1

    for parent, folders, names in os.walk(folder, onerror=count_error):
        relative = (*above, *Path(parent).relative_to(folder).parts)
        kept = []
        for name in sorted(folders):
            if name.startswith(".") or name in JUNK:
                continue
            if exclude and exclude.match_file("/".join((*relative, name)) + "/"):
                skipped[EXCLUDED] += sum(len(found) for _, _, found in os.walk(Path(parent, name)))
            elif os.path.islink(os.path.join(parent, name)):
                links.append(((*relative, name), Path(parent, name)))
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            file = Path(parent, name)
            if name.startswith("."):
                continue
            try:
                mode = file.lstat().st_mode
            except OSError:  # removed since the folder was listed
                skipped[BROKEN] += 1
                continue
            if stat.S_ISLNK(mode):
                links.append(((*relative, name), file))
            elif stat.S_ISREG(mode):
                yield (*relative, name), file


def _is_new(file: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = file.stat()
    except OSError:
        return True  # reading it will say why it cannot be read
    key = status.st_dev, status.st_ino
    if key in seen:
        return False
    seen.add(key)
    return True
