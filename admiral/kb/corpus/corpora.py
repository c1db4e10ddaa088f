"""The corpora of a build or of an addition: their formats, and their records in one stream."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from admiral.errors import AdmiralError, RecordError
from admiral.io.progress_bar import track
from admiral.io.remote import Place, corpus_path
from admiral.io.streams import numbered_lines
from admiral.kb.corpus.readers import FORMATS, Record, check_corpus, detect_format, read_corpus

logger = logging.getLogger(__name__)

BAD_RECORDS_SHOWN = 20


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise AdmiralError unless a setting has one of the values that it may have."""
    if value not in choices:
        raise AdmiralError(f"{name}={value!r}: unknown. Choose one of {', '.join(choices)}.")


class Sources:
    """One or more corpora, read in order.

    Parameters
    ----------
    corpora
        Files or folders, also by URL.
    format
        One of ``admiral.kb.corpus.readers.FORMATS`` for all corpora, or ``auto``.
    skip_bad
        Count and report bad records instead of raising the first.

    Attributes
    ----------
    bad
        How many records were skipped as bad so far.

    Raises
    ------
    AdmiralError
        If there is no corpus, one of them is absent, or its format cannot be told.
    """

    def __init__(
        self, corpora: Sequence[str | Path] | str | Path, format: str, skip_bad: bool
    ) -> None:
        self.bad = 0
        self._skip_bad = skip_bad
        paths = [
            corpus_path(p) for p in ([corpora] if isinstance(corpora, str | Path) else corpora)
        ]
        if not paths:
            raise AdmiralError("no corpus given. Name at least one file or folder.")
        check_choice("format", format, ("auto", *FORMATS))
        for path in paths:
            check_corpus(path)
        self._files = [
            (path, detect_format(path) if format == "auto" else format) for path in paths
        ]

    def __str__(self) -> str:
        return ", ".join(str(path) for path, _ in self._files)

    def describe(self) -> list[dict[str, str]]:
        """Return name and format of each corpus."""
        return [{"name": path.name, "format": format} for path, format in self._files]

    def records(self, progress: bool) -> Iterator[Record]:
        """Yield the records, reporting progress on standard error if asked for.

        Raises
        ------
        AdmiralError
            If a corpus cannot be read, or for the first bad record unless they are skipped.
        """
        yield from track(self._sound(), "reading", enabled=progress)
        if self.bad:
            logger.warning("%d bad records were skipped", self.bad)

    def _sound(self) -> Iterator[Record]:
        for path, format in self._files:
            for item in read_corpus(path, format):
                if isinstance(item, Record):
                    yield item
                    continue
                if not self._skip_bad:
                    raise item
                self.bad += 1
                if self.bad <= BAD_RECORDS_SHOWN:
                    logger.warning("skipped: %s", item)


class Places:
    """Where each row came from, to name both places of a duplicate: eight bytes a row."""

    def __init__(self) -> None:
        self._files: dict[Place, int] = {}
        self._places = array("Q")  # file number and line

    def note(self, record: Record) -> None:
        """Note the place of the next row."""
        number = self._files.setdefault(record.path, len(self._files))
        self._places.append(number << 40 | record.line)

    def refuse(self, record: Record, first: int, remedy: str) -> NoReturn:
        """Raise RecordError for a record whose title was taken by the row `first`."""
        place = self._places[first]
        path = list(self._files)[place >> 40]
        raise RecordError(
            record.where,
            "title",
            f"{record.document.title!r} is taken by the document at "
            f"{path}:{place & ((1 << 40) - 1)}",
            f"Titles are unique: correct one of them, or {remedy}.",
        )


def read_titles(path: Path) -> list[str]:
    """Return the titles of a file, one a line in UTF-8, which may be compressed.

    Raises
    ------
    AdmiralError
        If it cannot be read, is not UTF-8, or holds no title.
    """
    titles = []
    for item in numbered_lines(path):
        if isinstance(item, RecordError):
            raise item
        number, line = item
        try:
            titles.append(line.decode("utf-8").strip())
        except UnicodeDecodeError as error:
            raise RecordError(
                f"{path}:{number}",
                "",
                f"not UTF-8 (byte {error.start + 1})",
                "Convert the file to UTF-8, for example with iconv.",
            ) from error
    if not titles:
        raise AdmiralError(f"{path}: no titles in it. Write one title on each line.")
    return titles
