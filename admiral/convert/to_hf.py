"""Conversion of a fairseq BART folder to a Hugging Face directory."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GenerationConfig, PreTrainedTokenizerFast

from admiral.convert.bart_config import to_bart_config
from admiral.convert.byte_pairs import ENCODER, MERGES, BytePairs
from admiral.convert.checkpoint_file import find_checkpoint, read_checkpoint
from admiral.convert.dictionary import MASK, find_dictionary, read_dictionary
from admiral.convert.hf_tokenizers import build_tokenizer, extract_byte_pairs, open_tokenizer
from admiral.convert.hf_weights import WEIGHTS
from admiral.convert.output_directory import Conversion, atomic_directory
from admiral.convert.tensor_names import EMBEDDING, check_tensors, to_current_names, to_hf_names
from admiral.convert.vocabulary import special_tokens, tokenizer_order
from admiral.errors import AdmiralError
from admiral.models.checkpoint_sums import write_sums

OWN_TOKENIZER = "tokenizer"  # where hf_to_fairseq saves a tokenizer that fairseq cannot read


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
        Directory to write atomically: config, weights (safetensors, in the precision of the
        checkpoint), tokenizer, generation config and checksums.
    checkpoint_file
        Name of the checkpoint file, if it is another one.
    tokenizer
        Folder with ``encoder.json`` and ``vocab.bpe``, or with a Hugging Face tokenizer: one with
        GPT-2's byte pairs (as of any BART), or one whose tokens are named as in the dictionary.
    overwrite
        Replace `out` if it exists.

    Raises
    ------
    AdmiralError
        If a file is missing, damaged, of another architecture, or does not match the others.
    """
    with atomic_directory(out, source=source, overwrite=overwrite) as fresh:
        path = find_checkpoint(source, checkpoint_file)
        dictionary = find_dictionary(source)
        byte_pairs_or_tokenizer = _find_tokenizer(source, tokenizer)
        checkpoint = read_checkpoint(path)
        state, notices = to_current_names(checkpoint.weights, path)
        config, assumed = to_bart_config(checkpoint.settings, state, path)
        check_tensors(config, to_hf_names(state), path)
        symbols = _read_symbols(dictionary, config.vocab_size, path)
        if isinstance(byte_pairs_or_tokenizer, BytePairs):
            hf_tokenizer = build_tokenizer(
                symbols, byte_pairs_or_tokenizer, config.max_position_embeddings, dictionary
            )
        else:
            hf_tokenizer = byte_pairs_or_tokenizer
            order = tokenizer_order(symbols, hf_tokenizer, dictionary)
            state[EMBEDDING] = state[EMBEDDING][torch.tensor(order).argsort()]
        vocabulary = hf_tokenizer.get_vocab()
        specials = {
            name: vocabulary[token] for name, token in special_tokens(hf_tokenizer, source).items()
        }
        config.bos_token_id = specials["<s>"]
        config.pad_token_id = specials["<pad>"]
        config.eos_token_id = specials["</s>"]
        # fairseq starts the decoder with the end-of-sequence token and ends sequences with it.
        config.decoder_start_token_id = config.forced_eos_token_id = specials["</s>"]
        generation = GenerationConfig.from_model_config(config)
        # transformers keeps it in the generation config and warns if it is in both.
        config.forced_eos_token_id = None
        tensors = {name: tensor.clone() for name, tensor in to_hf_names(state).items()}
        hf_tokenizer.save_pretrained(fresh)
        config.save_pretrained(fresh)
        generation.save_pretrained(fresh)
        save_file(tensors, fresh / WEIGHTS, metadata={"format": "pt"})
        # safetensors makes its file readable by the owner only, unlike the other files.
        (fresh / WEIGHTS).chmod((fresh / "config.json").stat().st_mode)
        write_sums(fresh)
    parameters = sum(tensor.numel() for tensor in state.values())
    return Conversion(out, parameters, config.vocab_size, (*notices, *assumed))


def _find_tokenizer(source: Path, tokenizer: Path | None) -> BytePairs | PreTrainedTokenizerFast:
    for directory in (source,) if tokenizer is None else (tokenizer,):
        if BytePairs.exist_in(directory):
            return BytePairs.read(directory)
    if tokenizer is None and (source / OWN_TOKENIZER).is_dir():
        tokenizer = source / OWN_TOKENIZER
    if tokenizer is None:
        raise AdmiralError(
            f"{source}: holds no {ENCODER} and {MERGES}, from which the tokenizer is made. Copy "
            "fairseq's gpt2_bpe files there, or name a local BART tokenizer with --tokenizer."
        )
    opened = open_tokenizer(tokenizer)
    return extract_byte_pairs(opened) or opened


def _read_symbols(dictionary: Path, rows: int, checkpoint: Path) -> list[str]:
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
