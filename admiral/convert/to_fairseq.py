"""Conversion of a Hugging Face BART directory to a folder that fairseq's ``BARTModel`` loads."""

from __future__ import annotations

from pathlib import Path

import torch

from admiral.convert.bart_config import to_fairseq_args
from admiral.convert.hf_tokenizers import extract_byte_pairs, open_tokenizer
from admiral.convert.tensor_names import (
    EMBEDDING,
    check_tensors,
    read_tensors,
    to_fairseq_names,
    to_hf_names,
    with_tied_copies,
)
from admiral.convert.to_hf import OWN_TOKENIZER, Conversion, atomic_directory
from admiral.convert.vocabulary import (
    FILE,
    MASK,
    PAIR,
    check_special_ids,
    fairseq_order,
    write_dictionary,
)
from admiral.errors import AdmiralError
from admiral.models.checkpoint import read_config


def hf_to_fairseq(source: Path, out: Path, *, overwrite: bool = False) -> Conversion:
    """Convert a Hugging Face BART to fairseq's files.

    Writes ``model.pt`` (with ``args`` as a Namespace), ``dict.txt`` and, for a tokenizer with
    GPT-2's byte pairs, ``encoder.json`` and ``vocab.bpe``. Any other tokenizer (such as the
    WordPiece tokenizer of the bundled `mini`) is copied to ``tokenizer/``, and ``dict.txt`` lists
    its tokens by name. The rows of the embedding are reordered so that fairseq's four specials come
    first. Raises AdmiralError if a file is missing or damaged, or fairseq cannot represent the
    model.
    """
    if not source.is_dir():
        raise AdmiralError(f"{source}: no such directory. Name a Hugging Face model directory.")
    with atomic_directory(out, source=source, overwrite=overwrite) as fresh:
        config = read_config(source)
        tokenizer = open_tokenizer(source)
        check_special_ids(config, tokenizer, source)
        state, left_out = to_fairseq_names(read_tensors(source), source)
        check_tensors(config, to_hf_names(state), source)
        pairs = extract_byte_pairs(tokenizer)
        order = fairseq_order(tokenizer, pairs, config.vocab_size, source)
        state[EMBEDDING] = state[EMBEDDING][torch.tensor(order.ids)]
        notices = [*left_out, *order.notices, *_notices(config, order.ids, pairs is None)]
        symbols = order.symbols
        task = "denoising" if MASK in symbols else "translation"
        # The denoising task adds the mask itself, so BART's files do not end with it.
        listed = symbols[:-1] if symbols[-1] == MASK else symbols
        for name in (FILE, *(PAIR if task == "translation" else ())):
            write_dictionary(fresh / name, listed)
        if pairs is not None:
            pairs.write(fresh)
        else:
            tokenizer.save_pretrained(fresh / OWN_TOKENIZER)
        torch.save(
            {
                "args": to_fairseq_args(config, task=task),
                "model": with_tied_copies(state),
                # Fields that fairseq's loader requires, as of an untrained checkpoint.
                "optimizer_history": [
                    {
                        "criterion_name": "CrossEntropyCriterion",
                        "optimizer_name": "FairseqAdam",
                        "lr_scheduler_state": {},
                        "num_updates": 0,
                    }
                ],
                "extra_state": {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}},
                "last_optimizer_state": None,
            },
            fresh / "model.pt",
        )
    parameters = sum(tensor.numel() for tensor in state.values())
    return Conversion(out, parameters, len(symbols), tuple(notices))


def _notices(config: object, ids: list[int], own_tokenizer: bool) -> list[str]:
    notices = []
    if own_tokenizer:
        notices.append(
            f"the tokenizer has no GPT-2 byte pairs: kept under {OWN_TOKENIZER}/, "
            f"and {FILE} lists its tokens by name"
        )
    if ids != sorted(ids):
        notices.append(f"rows of the embedding moved to the order of {FILE}")
    start, end = (getattr(config, f"{name}_token_id") for name in ("decoder_start", "eos"))
    if start != end:
        notices.append(f"fairseq starts the decoder with </s>, this model with token {start}")
    return notices
