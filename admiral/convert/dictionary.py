"""fairseq's ``dict.txt``: one symbol and its count on each line, in the order of the embedding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from admiral.errors import AdmiralError, RecordError

# fairseq.data.Dictionary inserts these before the first line of the file.
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"
FILE = "dict.txt"
PAIR = ("dict.source.txt", "dict.target.txt")  # in translation checkpoints such as GENRE

_PADDING = re.compile(r"madeupword\d{4,}")


def is_padding(symbol: str) -> bool:
    """Return whether `symbol` only pads the vocabulary to a round size."""
    return _PADDING.fullmatch(symbol) is not None


def find_dictionary(directory: Path) -> Path:
    """Return the dictionary file of a checkpoint folder.

    Raises
    ------
    AdmiralError
        If there is none, or the source and target dictionaries differ.
    """
    if (directory / FILE).is_file():
        return directory / FILE
    source, target = (directory / name for name in PAIR)
    if not source.is_file() or not target.is_file():
        raise AdmiralError(
            f"{directory}: holds neither {FILE} nor {' and '.join(PAIR)}. "
            "Copy it there from the checkpoint's archive or its data-bin folder."
        )
    if read_dictionary(source) != read_dictionary(target):
        raise AdmiralError(
            f"{target}: differs from {source.name}; BART has one vocabulary for both sides. "
            "Give the folder of a BART checkpoint."
        )
    return source


def read_dictionary(path: Path) -> list[str]:
    """Return the symbols of a dictionary in the order of their ids, the four specials first.

    Raises
    ------
    RecordError
        For a line without a count, or a duplicate symbol.
    AdmiralError
        If the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if lines[-1]:
        raise RecordError(
            f"{path}:{len(lines)}", "", "the file ends within a line", "Download it again."
        )
    symbols = list(SPECIALS)
    known = set(symbols)
    for number, line in enumerate(lines[:-1], start=1):
        symbol, separator, count = line.rpartition(" ")
        if not separator or not re.fullmatch(r"-?[0-9]+", count):
            raise RecordError(
                f"{path}:{number}",
                "count",
                "the line is not a symbol, a space and a number",
                "Give the dict.txt of the checkpoint.",
            )
        if symbol in known:
            raise RecordError(
                f"{path}:{number}",
                "symbol",
                f"{symbol!r} occurs twice",
                "Give the dict.txt of the checkpoint.",
            )
        known.add(symbol)
        symbols.append(symbol)
    return symbols


def write_dictionary(path: Path, symbols: Sequence[str]) -> None:
    """Write `symbols`, all with count 1, without the four specials that they begin with.

    Raises
    ------
    AdmiralError
        If a symbol contains a line break.
    ValueError
        If the symbols do not begin with the specials, or are not distinct.
    """
    if tuple(symbols[: len(SPECIALS)]) != SPECIALS or len(set(symbols)) != len(symbols):
        raise ValueError("symbols must begin with fairseq's specials and be distinct")
    for symbol in symbols:
        if "\n" in symbol or "\r" in symbol:
            raise AdmiralError(f"token {symbol!r} holds a line break, which {FILE} cannot express.")
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{symbol} 1\n" for symbol in symbols[len(SPECIALS) :])
