"""Conversion of checkpoints: BART between fairseq (GENRE included) and Hugging Face, pickled ones.

fairseq is never imported: its files are read and written here. Pickled files are loaded only with
torch's restricted loader, which runs no code from the file.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import GenerationConfig, PreTrainedTokenizerFast

from admiral.convert.tensor_names import (
    EMBEDDING,
    WEIGHTS,
    check_tensors,
    load_pickled,
    read_tensors,
    to_bart_config,
    to_current_names,
    to_fairseq_args,
    to_fairseq_names,
    to_hf_names,
    with_tied_copies,
)
from admiral.convert.vocabulary import (
    ENCODER,
    FILE,
    MASK,
    MERGES,
    PAIR,
    BytePairs,
    build_tokenizer,
    extract_byte_pairs,
    fairseq_order,
    find_dictionary,
    open_tokenizer,
    read_dictionary,
    special_tokens,
    tokenizer_order,
    write_dictionary,
)
from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_seq2seq, read_config, write_sums
from admiral.storage.atomic_files import as_os_errors, explain_write_errors
from trie.seq2seq import quiet_transformers

__all__ = ["Conversion", "fairseq_to_hf", "hf_to_fairseq", "hf_to_safetensors"]

_CHECKPOINTS = ("model.pt", "checkpoint_best.pt")
_OWN_TOKENIZER = "tokenizer"  # where a tokenizer is saved that fairseq cannot read


@dataclass(frozen=True, slots=True)
class Conversion:
    """Summary of a conversion."""

    directory: Path
    n_parameters: int
    vocab_size: int


def fairseq_to_hf(
    source: Path,
    out: Path,
    *,
    checkpoint_file: str | None = None,
    tokenizer: Path | None = None,
) -> Conversion:
    """Convert a fairseq BART (bart.base, bart.large, GENRE, or one trained from them).

    `source`: folder with ``model.pt`` or ``checkpoint_best.pt`` and ``dict.txt`` (or
    ``dict.source.txt`` and ``dict.target.txt``), and with ``encoder.json`` and ``vocab.bpe`` unless
    `tokenizer` is given. `out`: directory to write atomically: config, weights (safetensors, in the
    precision of the checkpoint), tokenizer, generation config and checksums. `tokenizer`: folder
    with ``encoder.json`` and ``vocab.bpe``, or with a Hugging Face tokenizer: one with GPT-2's byte
    pairs (as of any BART), or one whose tokens are named as in the dictionary.
    """
    with _new_directory(out) as fresh:
        path = _find_checkpoint(source, checkpoint_file)
        dictionary = find_dictionary(source)
        byte_pairs_or_tokenizer = _find_tokenizer(source, tokenizer)
        settings, weights = _read_checkpoint(path)
        state = to_current_names(weights, path)
        config = to_bart_config(settings, state, path)
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
    return Conversion(out, parameters, config.vocab_size)


def hf_to_fairseq(source: Path, out: Path) -> Conversion:
    """Convert a Hugging Face BART to fairseq's files.

    Writes ``model.pt`` (with ``args`` as a Namespace), ``dict.txt`` and, for a tokenizer with
    GPT-2's byte pairs, ``encoder.json`` and ``vocab.bpe``. Any other tokenizer (such as the
    WordPiece tokenizer of the bundled `mini`) is copied to ``tokenizer/``, and ``dict.txt`` lists
    its tokens by name. The rows of the embedding are reordered so that fairseq's four specials come
    first.
    """
    if not source.is_dir():
        raise AdmiralError(f"{source}: no such directory. Name a Hugging Face model directory.")
    with _new_directory(out) as fresh:
        config = read_config(source, {"bart": "BART"})
        tokenizer = open_tokenizer(source)
        state = to_fairseq_names(read_tensors(source), source)
        check_tensors(config, to_hf_names(state), source)
        pairs = extract_byte_pairs(tokenizer)
        order = fairseq_order(tokenizer, pairs, config.vocab_size, source)
        state[EMBEDDING] = state[EMBEDDING][torch.tensor(list(order.values()))]
        symbols = list(order)
        task = "denoising" if MASK in symbols else "translation"
        # The denoising task adds the mask itself, so BART's files do not end with it.
        listed = symbols[:-1] if symbols[-1] == MASK else symbols
        for name in (FILE, *(PAIR if task == "translation" else ())):
            write_dictionary(fresh / name, listed)
        if pairs is not None:
            pairs.write(fresh)
        else:
            tokenizer.save_pretrained(fresh / _OWN_TOKENIZER)
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
    return Conversion(out, parameters, len(symbols))


def hf_to_safetensors(source: Path, out: Path) -> Conversion:
    """Convert a Hugging Face BART or T5 with pickled weights to a checkpoint that retrieval loads.

    Such are the published models for page retrieval and for hops, and monoT5. `source`: folder with
    ``config.json``, ``pytorch_model.bin``, and the tokenizer.
    """
    if source.is_file():
        raise AdmiralError(
            f"{source}: is no folder of a model. A pickled trie is not needed: tries are made of "
            "the titles of a knowledge base, which `admiral index` builds from the documents."
        )
    with _new_directory(out) as fresh:
        tensors = read_tensors(source)
        tokenizer = open_tokenizer(source)
        shutil.copyfile(source / "config.json", fresh / "config.json")
        save_file({name: each.clone() for name, each in tensors.items()}, fresh / WEIGHTS)
        model: Any = load_seq2seq(fresh)  # in fp32, tied weights once
        with quiet_transformers():
            model.to(next(iter(tensors.values())).dtype).save_pretrained(fresh)
        tokenizer.save_pretrained(fresh)
        write_sums(fresh)
    return Conversion(out, model.num_parameters(), len(tokenizer))


@contextmanager
def _new_directory(path: Path) -> Iterator[Path]:
    """Yield a directory that is renamed to `path` when the block ends without an error."""
    if path.exists():
        raise AdmiralError(f"{path}: exists already. Name another output, or move it away.")
    with (
        explain_write_errors(path),
        as_os_errors(),
        TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as temporary,
    ):
        fresh = Path(temporary, "new")
        fresh.mkdir()
        yield fresh
        fresh.rename(path)


def _find_checkpoint(directory: Path, name: str | None) -> Path:
    if not directory.is_dir():
        raise AdmiralError(f"{directory}: no such directory. Name the folder that holds model.pt.")
    for candidate in (name,) if name else _CHECKPOINTS:
        if (directory / candidate).is_file():
            return directory / candidate
    raise AdmiralError(
        f"{directory}: holds no {name or ' or '.join(_CHECKPOINTS)}. "
        "Name the file with --checkpoint-file, or give the folder of the unpacked checkpoint."
    )


def _read_checkpoint(path: Path) -> tuple[Mapping[str, object], dict[str, torch.Tensor]]:
    """Return the arguments of a fairseq checkpoint, which may be empty, and its tensors."""
    fields = _as_mapping(load_pickled(path))
    weights = _as_mapping(fields.get("model"))
    if not weights or not all(isinstance(value, torch.Tensor) for value in weights.values()):
        raise AdmiralError(
            f"{path}: field 'model' is missing or is not a table of tensors. "
            "Give a checkpoint that fairseq-train wrote."
        )
    # ``args`` in older files, ``cfg["model"]`` in newer ones.
    settings = _as_mapping(fields.get("args")) or _as_mapping(
        _as_mapping(fields.get("cfg")).get("model")
    )
    return settings, dict(weights)


def _as_mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, argparse.Namespace):
        return vars(value)
    return value if isinstance(value, Mapping) else {}


def _find_tokenizer(source: Path, tokenizer: Path | None) -> BytePairs | PreTrainedTokenizerFast:
    for directory in (source,) if tokenizer is None else (tokenizer,):
        if BytePairs.exist_in(directory):
            return BytePairs.read(directory)
    if tokenizer is None and (source / _OWN_TOKENIZER).is_dir():
        tokenizer = source / _OWN_TOKENIZER
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
