"""Mapping between the rows of a fairseq embedding and the ids of a Hugging Face tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import BartConfig, PreTrainedTokenizerFast

from admiral.convert.vocabulary_files import MASK, SPECIALS, BytePairs, is_padding
from admiral.errors import AdmiralError


@dataclass(frozen=True, slots=True)
class FairseqVocabulary:
    """A vocabulary in fairseq's order."""

    symbols: list[str]  # fairseq's symbols, the four specials first
    ids: list[int]  # the tokenizer's id of each symbol; a permutation of the embedding rows
    notices: list[str]


def special_tokens(tokenizer: PreTrainedTokenizerFast, where: object) -> dict[str, str]:
    """Return the tokenizer's token for each of fairseq's specials, and for the mask if it has one.

    The ``[CLS]`` and ``[SEP]`` tokens of BERT tokenizers count as bos and eos. Raises AdmiralError
    if a special token is missing, or one token has two roles.
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
) -> FairseqVocabulary:
    """Return a tokenizer's vocabulary in fairseq's order.

    The four specials come first; the other tokens keep their order. Rows without a token become
    ``madeupword0000`` and so on, like fairseq's own padding. `pairs`: byte pairs of a GPT-2
    tokenizer, whose tokens are then written as GPT-2 ids; None for other tokenizers. Raises
    AdmiralError if the tokenizer has tokens without a row, or with the name of a fairseq special.
    """
    named = {token: special for special, token in special_tokens(tokenizer, where).items()}
    tokens: dict[int, str] = {number: token for token, number in tokenizer.get_vocab().items()}
    notices = []
    for number in sorted(tokens):
        if number >= rows:
            token = tokens.pop(number)
            if named.get(token) != MASK:
                raise AdmiralError(
                    f"{where}: token {token!r} has the id {number}, but the embedding has {rows} "
                    "rows. The tokenizer belongs to another model."
                )
            # Published GENRE tokenizers have a mask that the model was trained without.
            notices.append(f"token {token!r} has no row in the embedding and was left out")
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
    first = [id_of[special] for special in SPECIALS]
    ids = [*first, *(number for number in sorted(symbol_of) if number not in first)]
    return FairseqVocabulary([symbol_of[number] for number in ids], ids, notices)


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


def check_special_ids(
    config: BartConfig, tokenizer: PreTrainedTokenizerFast, where: object
) -> None:
    """Check that model config and tokenizer agree on the special tokens.

    Ids that the config does not set are not checked. Raises AdmiralError if an id differs.
    """
    named = special_tokens(tokenizer, where)
    numbers = (config.bos_token_id, config.pad_token_id, config.eos_token_id)
    for special, number in zip(("<s>", "<pad>", "</s>"), numbers, strict=True):
        token = named[special]
        if number is not None and number != tokenizer.convert_tokens_to_ids(token):
            raise AdmiralError(
                f"{where}: config.json gives the id {number} for {special}, the tokenizer "
                f"{tokenizer.convert_tokens_to_ids(token)} ({token!r}). Correct one of them."
            )
