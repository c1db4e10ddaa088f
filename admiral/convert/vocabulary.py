"""The vocabulary files of fairseq, and how its rows map to the ids of a Hugging Face tokenizer."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from admiral.errors import AdmiralError, RecordError
from trie.safe_tokenizer import load_tokenizer

logger = logging.getLogger(__name__)


def special_tokens(tokenizer: PreTrainedTokenizerFast, where: object) -> dict[str, str]:
    """Return the tokenizer's token for each of fairseq's specials, and for the mask if it has one.

    The ``[CLS]`` and ``[SEP]`` tokens of BERT tokenizers count as bos and eos.
    """
    tokens = (
        tokenizer.bos_token or tokenizer.cls_token,
        tokenizer.pad_token,
        tokenizer.eos_token or tokenizer.sep_token,
        tokenizer.unk_token,
    )
    for special, token in zip(SPECIALS, tokens, strict=True):
        if token is None:
            raise AdmiralError(
                f"{where}: the tokenizer has no token for fairseq's {special}. "
                "Set bos_token, pad_token, eos_token and unk_token in tokenizer_config.json."
            )
    if len(set(tokens)) != len(tokens):
        raise AdmiralError(
            f"{where}: the tokenizer uses one token for two of {', '.join(SPECIALS)}; fairseq "
            "needs four. Change tokenizer_config.json."
        )
    named = dict(zip(SPECIALS, tokens, strict=True))
    if tokenizer.mask_token is not None:
        named[MASK] = tokenizer.mask_token
    return named


def fairseq_order(
    tokenizer: PreTrainedTokenizerFast, pairs: BytePairs | None, rows: int, where: object
) -> dict[str, int]:
    """Return fairseq's symbols in its order, with the tokenizer's id of each.

    The four specials come first; the other tokens keep their order. Rows without a token become
    ``madeupword0000`` and so on, like fairseq's own padding. `pairs`: byte pairs of a GPT-2
    tokenizer, whose tokens are then written as GPT-2 ids; None for other tokenizers. Raises
    AdmiralError if the tokenizer has tokens without a row, or with the name of a fairseq special.
    """
    named = {token: special for special, token in special_tokens(tokenizer, where).items()}
    tokens: dict[int, str] = {number: token for token, number in tokenizer.get_vocab().items()}
    for number in sorted(tokens):
        if number >= rows:
            token = tokens.pop(number)
            if named.get(token) != MASK:
                raise AdmiralError(
                    f"{where}: token {token!r} has the id {number}, but the embedding has {rows} "
                    "rows. The tokenizer belongs to another model."
                )
            # Published GENRE tokenizers have a mask that the model was trained without.
            logger.warning("%s: token %r has no row in the embedding and is left out", where, token)
    symbol_of: dict[int, str] = {}
    for number, token in tokens.items():
        gpt2 = pairs.ids.get(token) if pairs is not None else None
        if token in named:
            symbol_of[number] = named[token]
        elif gpt2 is not None:
            symbol_of[number] = str(gpt2)
        elif pairs is not None and token.isascii() and token.isdigit():
            raise AdmiralError(
                f"{where}: the added token {token!r} looks like a GPT-2 id in fairseq. Rename it."
            )
        else:
            symbol_of[number] = token
    taken = set(symbol_of.values())
    if len(taken) != len(symbol_of):
        raise AdmiralError(
            f"{where}: a token bears the name of one of fairseq's specials "
            f"({', '.join((*SPECIALS, MASK))}) without being it. Rename it."
        )
    fillers = (
        name for n in range(rows + len(taken)) if (name := f"madeupword{n:04d}") not in taken
    )
    for number in range(rows):
        if number not in symbol_of:
            symbol_of[number] = next(fillers)
    id_of = {symbol: number for number, symbol in symbol_of.items()}
    missing = [special for special in SPECIALS if special not in id_of]
    if missing:
        raise AdmiralError(f"{where}: no row for {missing[0]}. The tokenizer is of another model.")
    first = {special: id_of[special] for special in SPECIALS}
    return first | {symbol_of[number]: number for number in sorted(symbol_of)}


def tokenizer_order(
    symbols: Sequence[str], tokenizer: PreTrainedTokenizerFast, where: object
) -> list[int]:
    """Return the tokenizer's id of each symbol, by name; the inverse of `fairseq_order`.

    `symbols`: fairseq's symbols in the order of the embedding rows. Returns the tokenizer's id of
    each row, a permutation. Padding symbols without a token get the free ids in order. Raises
    AdmiralError if the two vocabularies differ.
    """
    named = special_tokens(tokenizer, where)
    vocabulary = tokenizer.get_vocab()
    ids = [vocabulary.get(named.get(symbol, symbol)) for symbol in symbols]
    free = iter(sorted(set(range(len(symbols))) - {number for number in ids if number is not None}))
    order = []
    for symbol, number in zip(symbols, ids, strict=True):
        if number is None and not is_padding(symbol):
            raise AdmiralError(
                f"{where}: the tokenizer has no token {symbol!r}. "
                "Give the tokenizer of this checkpoint."
            )
        order.append(next(free, -1) if number is None else number)
    if sorted(order) != list(range(len(symbols))) or len(vocabulary) > len(symbols):
        raise AdmiralError(
            f"{where}: the tokenizer has {len(vocabulary)} tokens, the dictionary "
            f"{len(symbols)}, and they are not the same. Give the tokenizer of this checkpoint."
        )
    return order


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
    """Return the dictionary file of a checkpoint folder."""
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
    """Return the symbols of a dictionary in the order of their ids, the four specials first."""
    try:
        *lines, rest = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}). Download it again.") from error
    if rest:
        raise AdmiralError(f"{path}: ends within a line. Download it again.")
    symbols = dict.fromkeys(SPECIALS)
    for number, line in enumerate(lines, start=1):
        symbol, _, count = line.rpartition(" ")
        if not re.fullmatch(r"-?[0-9]+", count) or symbol in symbols:
            problem = "is not a new symbol, a space and a number"
            raise RecordError(f"{path}:{number}", "", problem, "Give the checkpoint's dict.txt.")
        symbols[symbol] = None
    return list(symbols)


def write_dictionary(path: Path, symbols: Sequence[str]) -> None:
    """Write `symbols`, all with count 1, without the four specials that they begin with."""
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
        """Read ``encoder.json`` and ``vocab.bpe``."""
        try:
            ids, merges = models.BPE.read_file(str(directory / ENCODER), str(directory / MERGES))
        except Exception as error:  # tokenizers raises no other class
            raise AdmiralError(
                f"{directory}: {ENCODER} or {MERGES} cannot be read ({error}). Download them again."
            ) from error
        return BytePairs(tuple(merges), ids)

    def write(self, directory: Path) -> None:
        """Write ``encoder.json`` and ``vocab.bpe``."""
        (directory / ENCODER).write_text(json.dumps(dict(self.ids)), encoding="utf-8")
        lines = [_VERSION, *(f"{left} {right}" for left, right in self.merges), ""]
        (directory / MERGES).write_bytes("\n".join(lines).encode())


def open_tokenizer(directory: Path) -> PreTrainedTokenizerFast:
    """Open the tokenizer of a Hugging Face directory offline."""
    if not directory.is_dir():
        raise AdmiralError(f"{directory}: no such directory. Name a folder with a tokenizer.")
    try:
        tokenizer = load_tokenizer(directory)
        words = len(tokenizer.get_vocab())
    except Exception as error:  # transformers and tokenizers raise many types
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise AdmiralError(
            f"{directory}: its tokenizer cannot be opened ({reason}). "
            "The folder needs tokenizer.json, or vocab.json and merges.txt."
        ) from error
    # transformers 5 builds an empty one if files are missing.
    if words <= len(SPECIALS) + 1 or not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise AdmiralError(
            f"{directory}: its tokenizer has no vocabulary. "
            "The folder needs tokenizer.json, or vocab.json and merges.txt."
        )
    return tokenizer


def extract_byte_pairs(tokenizer: PreTrainedTokenizerFast) -> BytePairs | None:
    """Return the byte pairs of a tokenizer that tokenizes as GPT-2 does; None otherwise."""
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    model, splitter = parts["model"], parts.get("pre_tokenizer") or {}
    if (
        model["type"] != "BPE"
        or parts.get("normalizer") is not None
        or splitter.get("type") != "ByteLevel"
        or splitter.get("add_prefix_space")
        or splitter.get("use_regex") is False
    ):
        return None
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"])
    return BytePairs.from_merges((left, right) for left, right in pairs)


def build_tokenizer(
    symbols: Sequence[str], pairs: BytePairs, max_length: int, where: object
) -> PreTrainedTokenizerFast:
    """Build the tokenizer whose ids are the positions of `symbols`.

    `symbols`: fairseq's symbols: the four specials, then GPT-2 ids in digits and literal symbols
    such as ``<mask>`` and ``madeupword0000``.
    """
    vocabulary: dict[str, int] = {}
    added = []
    for row, symbol in enumerate(symbols):
        token = symbol
        if symbol.isascii() and symbol.isdigit():
            token = pairs.tokens.get(int(symbol), "")
            if not token:
                raise AdmiralError(
                    f"{where}: symbol {symbol} is not an id of the byte-pair encoding. "
                    "Give the encoder.json and vocab.bpe (or tokenizer) of this checkpoint."
                )
        elif row < len(SPECIALS) or not is_padding(symbol):
            added.append(token)
        if vocabulary.setdefault(token, row) != row:
            raise AdmiralError(
                f"{where}: {symbol!r} stands for {token!r}, as an earlier line does. "
                "Give the dict.txt of the checkpoint."
            )
    needed = {part for left, right in pairs.merges for part in (left, right, left + right)}
    if missing := needed - vocabulary.keys():
        raise AdmiralError(
            f"{where}: lacks {len(missing)} tokens of the byte-pair encoding, such as "
            f"{min(missing)!r}. Give the encoder.json and vocab.bpe (or tokenizer) of this "
            "checkpoint, and its whole dict.txt."
        )
    bos, pad, eos, unk = SPECIALS
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=list(pairs.merges), unk_token=unk))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.post_processor = processors.RobertaProcessing(
        (eos, vocabulary[eos]), (bos, vocabulary[bos]), add_prefix_space=False
    )
    specials = {token: _added_token(token) for token in added}
    core.add_special_tokens(list(specials.values()))
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=specials[bos],
        cls_token=specials[bos],
        eos_token=specials[eos],
        sep_token=specials[eos],
        pad_token=specials[pad],
        unk_token=specials[unk],
        # A token that is not in the vocabulary would get an id after the last embedding row.
        mask_token=specials.get(MASK),
        model_max_length=max_length,
    )


def _added_token(token: str) -> AddedToken:
    # The mask absorbs the space before it, as in the published BART tokenizers.
    return AddedToken(token, special=True, normalized=False, lstrip=token == MASK)
