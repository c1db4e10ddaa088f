"""The files of fairseq's vocabularies: dictionaries, and GPT-2's byte pairs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

    Raises AdmiralError if there is none, or the source and target dictionaries differ.
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

    Raises RecordError for a line without a count, or a duplicate symbol. Raises AdmiralError if the
    file cannot be read.
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

    Raises AdmiralError if a symbol contains a line break. Raises ValueError if the symbols do not
    begin with the specials, or are not distinct.
    """
    if tuple(symbols[: len(SPECIALS)]) != SPECIALS or len(set(symbols)) != len(symbols):
        raise ValueError("symbols must begin with fairseq's specials and be distinct")
    for symbol in symbols:
        if "\n" in symbol or "\r" in symbol:
            raise AdmiralError(f"token {symbol!r} holds a line break, which {FILE} cannot express.")
    with path.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{symbol} 1\n" for symbol in symbols[len(SPECIALS) :])


ENCODER, MERGES = "encoder.json", "vocab.bpe"
END = "<|endoftext|>"
_VERSION = "#version: 0.2"


def byte_alphabet() -> list[str]:
    """Return the characters that represent bytes, in the order of GPT-2's ids 0 to 255."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(printable))
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(len(others))]


@dataclass(frozen=True)
class BytePairs:
    """A byte-pair encoding."""

    merges: tuple[tuple[str, str], ...]  # pairs of tokens to merge, in the order of their rank
    ids: Mapping[str, int]

    @cached_property
    def tokens(self) -> dict[int, str]:
        """GPT-2 id to token."""
        return {number: token for token, number in self.ids.items()}

    @staticmethod
    def from_merges(merges: Iterable[tuple[str, str]]) -> BytePairs:
        """Return the encoding with the ids that GPT-2 gives the tokens."""
        pairs = tuple(merges)
        ids: dict[str, int] = {}
        for token in (*byte_alphabet(), *(left + right for left, right in pairs), END):
            ids.setdefault(token, len(ids))
        return BytePairs(pairs, ids)

    @staticmethod
    def exist_in(directory: Path) -> bool:
        """Return whether `directory` holds both files."""
        return (directory / ENCODER).is_file() and (directory / MERGES).is_file()

    @staticmethod
    def read(directory: Path) -> BytePairs:
        """Read ``encoder.json`` and ``vocab.bpe``.

        Raises AdmiralError if a file is damaged, or the two do not belong together.
        """
        ids = _read_encoder(directory / ENCODER)
        merges = _read_merges(directory / MERGES)
        expected = BytePairs.from_merges(merges).ids.keys()
        differing = (expected - {END}) ^ (ids.keys() - {END})
        if differing:
            raise AdmiralError(
                f"{directory / ENCODER}: does not belong to {MERGES} ({len(differing)} tokens are "
                f"in one and not in the other, such as {min(differing)!r}). "
                "Take both from the same place."
            )
        return BytePairs(tuple(merges), ids)

    def write(self, directory: Path) -> None:
        """Write ``encoder.json`` and ``vocab.bpe``."""
        (directory / ENCODER).write_text(json.dumps(dict(self.ids)), encoding="utf-8")
        lines = [_VERSION, *(f"{left} {right}" for left, right in self.merges), ""]
        (directory / MERGES).write_bytes("\n".join(lines).encode())


def gpt2_merges(tokenizer: Mapping[str, object]) -> tuple[tuple[str, str], ...] | None:
    """Return the merges of a ``tokenizer.json`` that tokenizes as GPT-2 does; None otherwise."""
    model, splitter = tokenizer.get("model"), tokenizer.get("pre_tokenizer")
    if not isinstance(model, Mapping) or not isinstance(splitter, Mapping):
        return None
    if (
        model.get("type") != "BPE"
        or tokenizer.get("normalizer") is not None
        or splitter.get("type") != "ByteLevel"
        or splitter.get("add_prefix_space")
        or splitter.get("use_regex") is False
    ):
        return None
    return tuple(_pair(merge) for merge in model.get("merges", ()))


def _pair(merge: str | Sequence[str]) -> tuple[str, str]:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def _read_encoder(path: Path) -> dict[str, int]:
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if (
        not isinstance(ids, dict)
        or not all(type(number) is int for number in ids.values())
        or len(set(ids.values())) != len(ids)
    ):
        raise AdmiralError(
            f"{path}: is not a table of tokens and different numbers. Download it again."
        )
    return ids


def _read_merges(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if not lines[0].startswith("#version") or lines[-1]:
        raise AdmiralError(
            f"{path}: does not begin with '#version' or ends within a line. Download it again."
        )
    merges = []
    for number, line in enumerate(lines[1:-1], start=2):
        left, separator, right = line.partition(" ")
        if not (left and separator and right) or " " in right:
            raise RecordError(
                f"{path}:{number}", "", "the line is not two tokens", "Download it again."
            )
        merges.append((left, right))
    return merges
