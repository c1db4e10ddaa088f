"""Choose the files of a folder to read, and count the others by reason."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from admiral.errors import AdmiralError
from admiral.io.streams import Place, RemotePath
from admiral.kb.corpus.files.file_types import file_type, uncompressed_name

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Folders that programs make; nobody means them by a folder of documents.
JUNK = frozenset(("node_modules", "bower_components", "__pycache__", "__MACOSX", "CVS"))

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


class ChosenFiles(NamedTuple):
    """Result of a walk."""

    files: Sequence[Place]  # the files to read, sorted by path
    # The files, and the folders that cannot be listed, that are not read, each with the reason.
    others: Sequence[tuple[Place, str]] = ()

    @property
    def skipped(self) -> Counter[str]:
        """Number of files that are skipped, by reason."""
        return Counter(reason for _, reason in self.others)

    @property
    def unknown(self) -> Counter[str]:
        """Number of files of unknown type, by suffix."""
        names = (uncompressed_name(file.name) for file, why in self.others if why == UNKNOWN)
        return Counter(PurePosixPath(name).suffix or "no suffix" for name in names)


def choose_files(path: Place, patterns: FilePatterns) -> ChosenFiles:
    """Choose the files to read below a folder, or the file itself.

    Hidden files and `JUNK` are left out without counting. A file with several paths is read once,
    by a path without symbolic links if it has one, so links in circles do no harm.

    Raises AdmiralError if the folder has no file to read, or a pattern is not valid.
    """
    if path.is_file():
        return ChosenFiles([path])
    include, exclude = _spec(patterns.include), _spec(patterns.exclude)
    files: list[tuple[tuple[str, ...], Place]] = []
    others: list[tuple[Place, str]] = []
    for parts, file in _files(path, exclude, others):
        relative = "/".join(parts)
        if (exclude and exclude.match_file(relative)) or (
            include and not include.match_file(relative)
        ):
            others.append((file, EXCLUDED))
        elif file_type(file.name) is None:
            others.append((file, UNKNOWN))
        else:
            files.append((parts, file))
    if not files:
        skipped = dict(ChosenFiles([], others).skipped)
        counts = f" Skipped: {skipped}." if skipped else ""
        raise AdmiralError(
            f"{path}: the folder holds no files of a known type, such as .md, .txt, .html or .pdf."
            f"{counts} Check the path, --include and --exclude."
        )
    files.sort(key=lambda pair: pair[0])
    return ChosenFiles([file for _, file in files], others)


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
    folder: Place, exclude: GitIgnoreSpec | None, others: list[tuple[Place, str]]
) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Yield the files below a folder with the parts of their paths relative to it.

    Files and folders are noted as seen by their inodes, which ends every circle of links.
    """
    if isinstance(folder, RemotePath):
        top = str(folder).rstrip("/") + "/"
        for remote in folder.files_below():
            parts = tuple(str(remote).removeprefix(top).split("/"))
            if JUNK.isdisjoint(parts):
                yield parts, remote
        return
    seen: set[tuple[int, int]] = set()
    links: list[tuple[tuple[str, ...], Path]] = []
    for parts, file in _local_files(folder, exclude, others, links, seen):
        if _is_new(file, seen):
            yield parts, file
        else:
            others.append((file, LINKED))
    while links:
        links.sort(reverse=True)
        parts, link = links.pop()
        try:
            is_file, is_folder = link.is_file(), link.is_dir()
        except OSError:  # links in a circle
            is_file = is_folder = False
        if is_folder:
            for below, file in _local_files(link, exclude, others, links, seen, parts):
                if _is_new(file, seen):
                    yield below, file
                else:
                    others.append((file, LINKED))
        elif not is_file:
            others.append((link, SPECIAL if link.exists() else BROKEN))
        elif _is_new(link, seen):
            yield parts, link
        else:
            others.append((link, LINKED))


def _local_files(
    folder: Path,
    exclude: GitIgnoreSpec | None,
    others: list[tuple[Place, str]],
    links: list[tuple[tuple[str, ...], Path]],
    seen: set[tuple[int, int]],
    above: tuple[str, ...] = (),
) -> Iterator[tuple[tuple[str, ...], Path]]:
    def count_error(error: OSError) -> None:
        others.append((Path(error.filename or folder), BROKEN))

    for parent, folders, names in os.walk(folder, onerror=count_error):
        if not _is_new(Path(parent), seen):
            folders.clear()
            continue
        relative = (*above, *Path(parent).relative_to(folder).parts)
        kept = []
        for name in sorted(folders):
            if name.startswith(".") or name in JUNK:
                continue
            if exclude and exclude.match_file("/".join((*relative, name)) + "/"):
                others += [
                    (Path(inner, file), EXCLUDED)
                    for inner, _, found in os.walk(Path(parent, name))
                    for file in found
                ]
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
                others.append((file, BROKEN))
                continue
            if stat.S_ISLNK(mode):
                links.append(((*relative, name), file))
            elif stat.S_ISREG(mode):
                yield (*relative, name), file
            else:
                others.append((file, SPECIAL))


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
