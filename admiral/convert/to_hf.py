"""From a fairseq checkpoint folder to a Hugging Face directory."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GenerationConfig, PreTrainedTokenizerFast

from admiral.convert.architecture import config_of
from admiral.convert.byte_pairs import ENCODER, MERGES, BytePairs
from admiral.convert.checkpoint_file import find_checkpoint, read_checkpoint
from admiral.convert.conversion import Conversion
from admiral.convert.dictionary import MASK, find_dictionary, read_dictionary
from admiral.convert.hf_directory import WEIGHTS
from admiral.convert.output_directory import atomic_directory
from admiral.convert.shapes import check_tensors
from admiral.convert.tokenizers import build_tokenizer, byte_pairs_of, open_tokenizer
from admiral.convert.vocabulary import roles, tokenizer_order
from admiral.convert.weights import EMBEDDING, modern, to_hf
from admiral.errors import AdmiralError
from admiral.models.checkpoint_sums import write_sums

OWN_TOKENIZER = "tokenizer"  # where hf_to_fairseq keeps one that fairseq cannot read


def fairseq_to_hf(
    source: Path,
    out: Path,
    *,
    checkpoint_file: str | None = None,
    tokenizer: Path | None = None,
    overwrite: bool = False,
) -> Conversion:
    """Convert a fairseq BART (bart.base, bart.large, GENRE, or one trained from them).

    Parameters
    ----------
    source
        Folder with ``model.pt`` or ``checkpoint_best.pt`` and ``dict.txt`` (or
        ``dict.source.txt`` and ``dict.target.txt``), and with ``encoder.json`` and ``vocab.bpe``
        unless `tokenizer` is given.
    out
        Directory to write: config, weights (safetensors, in the precision of the checkpoint),
        tokenizer, generation config, checksums. It appears when it is complete.
    checkpoint_file
        Another name of the checkpoint file.
    tokenizer
        Folder with ``encoder.json`` and ``vocab.bpe``, or with a Hugging Face tokenizer: one with
        GPT-2's byte pairs (any BART's), or one whose tokens have the names of the dictionary.
    overwrite
        Replace `out`.

    Raises
    ------
    AdmiralError
        Where a file is missing, damaged, of another architecture, or does not fit the others.
    """
    with atomic_directory(out, source=source, overwrite=overwrite) as fresh:
        path = find_checkpoint(source, checkpoint_file)
        dictionary = find_dictionary(source)
        spelling = _spelling(source, tokenizer)
        checkpoint = read_checkpoint(path)
        state, notices = modern(checkpoint.weights, path)
        config, assumed = config_of(checkpoint.settings, state, path)
        check_tensors(config, to_hf(state), path)
        symbols = _symbols(dictionary, config.vocab_size, path)
        if isinstance(spelling, BytePairs):
            made = build_tokenizer(symbols, spelling, config.max_position_embeddings, dictionary)
        else:
            made = spelling
            order = tokenizer_order(symbols, made, dictionary)
            state[EMBEDDING] = state[EMBEDDING][torch.tensor(order).argsort()]
        vocabulary = made.get_vocab()
        specials = {name: vocabulary[token] for name, token in roles(made, source).items()}
        config.bos_token_id = specials["<s>"]
        config.pad_token_id = specials["<pad>"]
        config.eos_token_id = specials["</s>"]
        # fairseq starts the decoder with the end of the sequence, and ends every sequence so.
        config.decoder_start_token_id = config.forced_eos_token_id = specials["</s>"]
        generation = GenerationConfig.from_model_config(config)
        # transformers moves generation settings there and complains where it finds them twice.
        config.forced_eos_token_id = None
        tensors = {name: tensor.clone() for name, tensor in to_hf(state).items()}
        made.save_pretrained(fresh)
        config.save_pretrained(fresh)
        generation.save_pretrained(fresh)
        save_file(tensors, fresh / WEIGHTS, metadata={"format": "pt"})
        # safetensors makes its file readable for the owner alone, unlike everything beside it.
        (fresh / WEIGHTS).chmod((fresh / "config.json").stat().st_mode)
        write_sums(fresh)
    parameters = sum(tensor.numel() for tensor in state.values())
    return Conversion(out, parameters, config.vocab_size, (*notices, *assumed))


def _spelling(source: Path, tokenizer: Path | None) -> BytePairs | PreTrainedTokenizerFast:
    for directory in (source,) if tokenizer is None else (tokenizer,):
        if BytePairs.present(directory):
            return BytePairs.read(directory)
    if tokenizer is None and (source / OWN_TOKENIZER).is_dir():
        tokenizer = source / OWN_TOKENIZER
    if tokenizer is None:
        raise AdmiralError(
            f"{source}: holds no {ENCODER} and {MERGES}, from which the tokenizer is made. Copy "
            "fairseq's gpt2_bpe files there, or name a local BART tokenizer with --tokenizer."
        )
    opened = open_tokenizer(tokenizer)
    return byte_pairs_of(opened) or opened


def _symbols(dictionary: Path, rows: int, checkpoint: Path) -> list[str]:
    symbols = read_dictionary(dictionary)
    if rows == len(symbols) + 1 and MASK not in symbols:
        symbols.append(MASK)  # fairseq's denoising task adds it after the file's last line
    if rows != len(symbols):
        raise AdmiralError(
            f"{dictionary}: gives {len(symbols)} symbols (four specials among them), but the "
            f"embedding in {checkpoint.name} has {rows} rows. "
            "Give the dict.txt that belongs to this checkpoint."
        )
    return symbols
