"""Rows of the embedding: fairseq's order against a Hugging Face tokenizer's ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transformers import BartConfig, PreTrainedTokenizerFast

from admiral.convert.byte_pairs import BytePairs
from admiral.convert.dictionary import MASK, SPECIALS, is_padding
from admiral.errors import AdmiralError


@dataclass(frozen=True, slots=True)
class Order:
    """A vocabulary in fairseq's order.

    Attributes
    ----------
    symbols
        fairseq's symbols, the four specials first.
    ids
        The tokenizer's id of each; a permutation of the rows.
    notices
        What was left out.
    """

    symbols: list[str]
    ids: list[int]
    notices: list[str]


def roles(tokenizer: PreTrainedTokenizerFast, where: object) -> dict[str, str]:
    """Return the tokenizer's token for each of fairseq's specials, and for the mask if it has one.

    BERT's names of the first and the last token (``[CLS]``, ``[SEP]``) count as bos and eos.
    """
    found = (
        tokenizer.bos_token or tokenizer.cls_token,
        tokenizer.pad_token,
        tokenizer.eos_token or tokenizer.sep_token,
        tokenizer.unk_token,
    )
    for special, token in zip(SPECIALS, found, strict=True):
        if token is None:
            raise AdmiralError(
                f"{where}: the tokenizer has no token for fairseq's {special}. "
                "Set bos_token, pad_token, eos_token and unk_token in tokenizer_config.json."
            )
    if len(set(found)) != len(found):
        raise AdmiralError(
            f"{where}: the tokenizer uses one token for two of {', '.join(SPECIALS)}; fairseq "
            "needs four. Change tokenizer_config.json."
        )
    named = dict(zip(SPECIALS, found, strict=True))
    if tokenizer.mask_token is not None:
        named[MASK] = tokenizer.mask_token
    return named


def fairseq_order(
    tokenizer: PreTrainedTokenizerFast, pairs: BytePairs | None, rows: int, where: object
) -> Order:
    """Put a tokenizer's vocabulary into fairseq's order.

    The four specials come first; the others keep their order. Rows without a token become
    ``madeupword0000`` and so on, as fairseq's own padding.

    Parameters
    ----------
    pairs
        GPT-2's byte pairs where the tokenizer has them: its tokens are then written as GPT-2 ids.
    rows
        Rows of the embedding.

    Raises
    ------
    AdmiralError
        Where the tokenizer has tokens without a row.
    """
    named = {token: special for special, token in roles(tokenizer, where).items()}
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
            # Published GENRE tokenizers name a mask that the model was trained without.
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
    return Order([symbol_of[number] for number in ids], ids, notices)


def tokenizer_order(
    symbols: Sequence[str], tokenizer: PreTrainedTokenizerFast, where: object
) -> list[int]:
    """Find the id of each symbol by its name; the inverse of `fairseq_order`.

    Returns
    -------
    list of int
        A permutation: the tokenizer's id of each of fairseq's rows. Padding without a token takes
        the free ids in its order.

    Raises
    ------
    AdmiralError
        Where the two vocabularies differ.
    """
    named = roles(tokenizer, where)
    vocabulary = tokenizer.get_vocab()
    ids = [vocabulary.get(named.get(symbol, symbol)) for symbol in symbols]
    free = iter(sorted(set(range(len(symbols))) - {number for number in ids if number is not None}))
    result = []
    for symbol, number in zip(symbols, ids, strict=True):
        if number is None and not is_padding(symbol):
            raise AdmiralError(
                f"{where}: the tokenizer has no token {symbol!r}. "
                "Give the tokenizer of this checkpoint."
            )
        result.append(next(free, -1) if number is None else number)
    if sorted(result) != list(range(len(symbols))) or len(vocabulary) > len(symbols):
        raise AdmiralError(
            f"{where}: the tokenizer has {len(vocabulary)} tokens, the dictionary "
            f"{len(symbols)}, and they are not the same. Give the tokenizer of this checkpoint."
        )
    return result


def check_config(config: BartConfig, tokenizer: PreTrainedTokenizerFast, where: object) -> None:
    """Check that model and tokenizer mean the same specials; unset ids of the model pass."""
    named = roles(tokenizer, where)
    numbers = (config.bos_token_id, config.pad_token_id, config.eos_token_id)
    for special, number in zip(("<s>", "<pad>", "</s>"), numbers, strict=True):
        token = named[special]
        if number is not None and number != tokenizer.convert_tokens_to_ids(token):
            raise AdmiralError(
                f"{where}: config.json gives the id {number} for {special}, the tokenizer "
                f"{tokenizer.convert_tokens_to_ids(token)} ({token!r}). Correct one of them."
            )
