"""Hugging Face tokenizers: opened from a directory, or built from GPT-2's byte pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from admiral.convert.vocabulary import MASK, SPECIALS, BytePairs, gpt2_merges, is_padding
from admiral.errors import AdmiralError
from trie.model.safe_tokenizer import load_tokenizer


def open_tokenizer(directory: Path) -> PreTrainedTokenizerFast:
    """Open the tokenizer of a Hugging Face directory offline.

    Raises AdmiralError if the directory has no tokenizer that can be opened.
    """
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
    if words <= len(SPECIALS) + 1:  # transformers 5 builds an empty one if files are missing
        raise AdmiralError(
            f"{directory}: its tokenizer has no vocabulary. "
            "The folder needs tokenizer.json, or vocab.json and merges.txt."
        )
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise AdmiralError(f"{directory}: holds a tokenizer without tokenizer.json. Save it again.")
    return tokenizer


def extract_byte_pairs(tokenizer: PreTrainedTokenizerFast) -> BytePairs | None:
    """Return the byte pairs of a tokenizer that tokenizes as GPT-2 does; None otherwise."""
    merges = gpt2_merges(json.loads(tokenizer.backend_tokenizer.to_str()))
    return None if merges is None else BytePairs.from_merges(merges)


def build_tokenizer(
    symbols: Sequence[str], pairs: BytePairs, max_length: int, where: object
) -> PreTrainedTokenizerFast:
    """Build the tokenizer whose ids are the positions of `symbols`.

    `symbols`: fairseq's symbols: the four specials, then GPT-2 ids in digits and literal symbols
    such as ``<mask>`` and ``madeupword0000``. Raises AdmiralError if the byte pairs do not belong
    to the dictionary.
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
