r"""Parallel text of fairseq: ``<split>.source`` and ``<split>.target``, one sample per line.

fairseq reads both files as UTF-8 and ends lines at LF, CR and CR LF. A text that contains one of
these would shift all later pairs. It is refused or, if requested, escaped (``\n``, ``\r``, and
``\\`` for the backslash).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.storage.atomic_files import replacing

_SIDES = ("source", "target")
_ESCAPES: dict[str, str] = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_ORIGINALS = {escape: char for char, escape in _ESCAPES.items()}
_BREAK = re.compile(r"[\\\n\r]")
_ESCAPE = re.compile(r"\\.?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextPair:
    """One sample of a sequence-to-sequence model: its input and its output."""

    source: str
    target: str


def parallel_paths(directory: Path, split: str) -> tuple[Path, Path]:
    """Return the two files of a split such as ``train`` or ``valid``."""
    if not re.fullmatch(r"\w[\w.-]*", split):
        raise AdmiralError(f"{split!r} is not the name of a split. Use for example 'train'.")
    source, target = (directory / f"{split}.{side}" for side in _SIDES)
    return source, target


def write_parallel_text(
    directory: Path, split: str, pairs: Iterable[TextPair], *, escape: bool = False
) -> int:
    """Write one split and return the number of pairs.

    Both files are renamed into place when they are complete. A crash leaves the old files, the new
    ones, or a source without target, but never two files that do not belong together.

    `directory`: directory of the files; created if it is missing. `split`: name of the files
    without extension. `pairs`: the samples. `escape`: escape line breaks and backslashes; otherwise
    a line break is an error.

    Raises RecordError if a text contains a line break (without `escape`) or a lone surrogate.
    Raises AdmiralError if a file cannot be written.
    """
    final = parallel_paths(directory, split)
    number = 0
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            # Contexts exit in reverse order: the source is renamed first, then the target.
            files = [stack.enter_context(replacing(path)) for path in reversed(final)][::-1]
            for number, pair in enumerate(pairs, start=1):
                lines = [
                    _line(text, f"{path}:{number}", side, escape)
                    for text, path, side in zip(
                        (pair.source, pair.target), final, _SIDES, strict=True
                    )
                ]
                for file, line in zip(files, lines, strict=True):
                    file.write(line)
            for file in files:
                file.flush()
                os.fsync(file.fileno())
            # Readers refuse a source without target, so the old target is removed first.
            final[1].unlink(missing_ok=True)
    except OSError as error:
        raise AdmiralError(
            f"{final[0]}: cannot be written ({error.strerror or error}). "
            "Check the space and the permissions."
        ) from error
    return number


def read_parallel_text(directory: Path, split: str, *, escaped: bool = False) -> Iterator[TextPair]:
    """Yield the pairs of one split.

    `directory`, `split`: as in `write_parallel_text`. `escaped`: whether the text was written with
    ``escape=True``.

    Raises RecordError if a line is not UTF-8, contains a carriage return or (if `escaped`) an
    invalid escape, or has no counterpart in the other file. Raises AdmiralError if a file is
    missing or cannot be read.
    """
    paths = parallel_paths(directory, split)
    with ExitStack() as stack:
        try:
            files = [stack.enter_context(path.open("rb")) for path in paths]
        except OSError as error:
            raise AdmiralError(
                f"{error.filename}: cannot be read ({error.strerror}). "
                f"A split needs both {paths[0].name} and {paths[1].name}."
            ) from error
        for number in count(1):
            lines = [file.readline() for file in files]
            if not any(lines):
                return
            for side, (line, path) in enumerate(zip(lines, paths, strict=True)):
                if not line:
                    raise RecordError(
                        f"{path}:{number}",
                        "",
                        f"the file ends, but {paths[1 - side].name} continues",
                        "Write the split again.",
                    )
            source, target = (
                _text(line, f"{path}:{number}", escaped)
                for line, path in zip(lines, paths, strict=True)
            )
            yield TextPair(source, target)


def _line(text: str, where: str, side: str, escape: bool) -> bytes:
    if escape:
        text = _BREAK.sub(lambda match: _ESCAPES[match[0]], text)
    elif "\n" in text or "\r" in text:
        raise RecordError(
            where, side, "the text contains a line break", "Remove it, or write with escape=True."
        )
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        raise RecordError(
            where,
            side,
            f"character {error.start} is half of a surrogate pair, which UTF-8 cannot hold",
            "Repair the text.",
        ) from error


def _text(line: bytes, where: str, escaped: bool) -> str:
    line = line.removesuffix(b"\n").removesuffix(b"\r")  # files from Windows end lines in CR LF
    if b"\r" in line:
        raise RecordError(
            where, "", "a carriage return, at which fairseq ends the line", "Remove it."
        )
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise RecordError(where, "", f"not UTF-8 ({error.reason})", "Convert the file.") from error
    return _ESCAPE.sub(lambda match: _original(match[0], where), text) if escaped else text


def _original(escape: str, where: str) -> str:
    if escape not in _ORIGINALS:
        raise RecordError(
            where, "", f"{escape!r} is not an escape", "Read the split with escaped=False."
        )
    return _ORIGINALS[escape]
