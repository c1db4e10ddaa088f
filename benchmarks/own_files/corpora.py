"""The five corpora: copies of files that are installed, chosen by fixed rules."""

from __future__ import annotations

import shutil
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from re import compile as pattern
from typing import NamedTuple

_HERE = Path(__file__).parent
_PROJECT = _HERE.parents[1]
_MANUALS = Path("/usr/share/man")
_DOCUMENTATION = Path("/usr/share/doc")
_MANUAL_SECTIONS = ("man1", "man5", "man7", "man8")
# Pages of one program, where it has more than this, would be most of the corpus.
_MOST_PAGES = 500
_PROGRAM = pattern(r"[^-_.]*")
_DOCUMENT = pattern(
    r"(?i)(?!changelog|copyright|changes)(.*\.(html|md|rst|txt)|readme[^.]*)(\.gz)?"
)
_README = pattern(r"(?i)readme(\.(md|rst|txt))?")


class CopiedFile(NamedTuple):
    """A file of a corpus and its path in it."""

    source: Path
    target: Path


def manuals() -> Iterator[CopiedFile]:
    """Yield the manual pages in English of sections 1, 5, 7 and 8."""
    pages = [
        path
        for section in _MANUAL_SECTIONS
        for path in sorted(_MANUALS.glob(f"{section}/*"))
        if path.is_file() and not path.is_symlink()
    ]
    counts = Counter(map(_program, pages))
    for page in pages:
        if counts[_program(page)] <= _MOST_PAGES:
            yield CopiedFile(page, page.relative_to(_MANUALS))


def _program(page: Path) -> str:
    match = _PROGRAM.match(page.name)
    return match.group() if match else ""


def packages() -> Iterator[CopiedFile]:
    """Yield the metadata and READMEs of the installed Python packages."""
    folder = Path(sysconfig.get_path("purelib"))
    for path in sorted(folder.rglob("*")):
        is_metadata = path.name == "METADATA" and path.parent.suffix == ".dist-info"
        if path.is_file() and (is_metadata or _README.fullmatch(path.name)):
            yield CopiedFile(path, path.relative_to(folder))


def package_docs() -> Iterator[CopiedFile]:
    """Yield the documentation of the packages of the system, without changelogs and licences.

    A page that exists in HTML is not also taken in Markdown.
    """
    for path in sorted(_DOCUMENTATION.rglob("*")):
        is_document = _DOCUMENT.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        if is_document and not (path.suffix == ".md" and path.with_suffix(".html").exists()):
            yield CopiedFile(path, path.relative_to(_DOCUMENTATION))


def project() -> Iterator[CopiedFile]:
    """Yield README and documentation of this project."""
    for path in (_PROJECT / "README.md", *sorted((_PROJECT / "docs").rglob("*.md"))):
        if path.is_file():
            yield CopiedFile(path, path.relative_to(_PROJECT))


def vault() -> Iterator[CopiedFile]:
    """Yield the linked notes that come with this benchmark."""
    folder = _HERE / "vault"
    for path in sorted(folder.rglob("*.md")):
        yield CopiedFile(path, path.relative_to(folder))


CORPORA: dict[str, Callable[[], Iterator[CopiedFile]]] = {
    "manuals": manuals,
    "packages": packages,
    "package-docs": package_docs,
    "project": project,
    "vault": vault,
}


def copy_corpus(name: str, folder: Path) -> int:
    """Replace a folder by the files of a corpus and return their number.

    Parameters
    ----------
    name
        One of `CORPORA`.
    folder
        Removed if it exists; not created if there are no files.
    """
    shutil.rmtree(folder, ignore_errors=True)
    files = list(CORPORA[name]())
    for file in files:
        target = folder / file.target
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.source, target)
    return len(files)
