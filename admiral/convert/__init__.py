"""Conversion of BART checkpoints between fairseq (GENRE included) and Hugging Face.

fairseq is never imported: its files are read and written here. Checkpoints are loaded only with
torch's restricted loader, which runs no code from the file.
"""

from __future__ import annotations

import argparse
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GenerationConfig, PreTrainedTokenizerFast

from admiral.convert.tensor_names import (
    EMBEDDING,
    WEIGHTS,
    check_tensors,
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
    check_special_ids,
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
from admiral.models.checkpoint import SUMS, read_config, write_sums
from admiral.storage.atomic_files import as_os_errors, staging

NAMES = ("model.pt", "checkpoint_best.pt")

_REJECTED_CLASS = re.compile(r"(?:GLOBAL|global|class)\s+`?([A-Za-z_][\w]*(?:\.\w+)+)")


@dataclass(frozen=True, slots=True)
class FairseqCheckpoint:
    """The parts of a checkpoint that define the model."""

    # training arguments: ``args`` in older files, ``cfg["model"]`` in newer ones; may be empty
    settings: Mapping[str, object]
    weights: dict[str, torch.Tensor]  # tensors under their names in the file


def find_checkpoint(directory: Path, name: str | None = None) -> Path:
    """Return the checkpoint file in `directory`: `name`, or the first of `NAMES` that exists.

    Raises AdmiralError if there is no such file.
    """
    if not directory.is_dir():
        raise AdmiralError(f"{directory}: no such directory. Name the folder that holds model.pt.")
    for candidate in (name,) if name else NAMES:
        if (directory / candidate).is_file():
            return directory / candidate
    raise AdmiralError(
        f"{directory}: holds no {name or ' or '.join(NAMES)}. "
        "Name the file with --checkpoint-file, or give the folder of the unpacked checkpoint."
    )


def read_checkpoint(path: Path) -> FairseqCheckpoint:
    """Read a fairseq checkpoint.

    Only tensors, plain containers and `argparse.Namespace` are accepted. A file with any other
    class is rejected, because creating such an object can run code. Raises AdmiralError if the file
    is damaged, needs other classes, or is not a fairseq checkpoint.
    """
    state = _load(path)
    fields = _as_mapping(state)
    weights = fields.get("model")
    if not isinstance(weights, Mapping) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in weights.items()
    ):
        raise AdmiralError(
            f"{path}: field 'model' is missing or is not a table of tensors. "
            "Give a checkpoint that fairseq-train wrote."
        )
    return FairseqCheckpoint(_settings(fields), dict(weights))


def _load(path: Path) -> object:
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            # Memory-mapped, so that the optimiser state (two thirds of the file) is not read.
            return torch.load(
                path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
            )
    except (MemoryError, PermissionError) as error:
        raise AdmiralError(f"{path}: cannot be read ({error}).") from error
    except Exception as error:  # a damaged file can make the unpickler raise anything
        rejected = _REJECTED_CLASS.search(str(error))
        if rejected and "nsupported" in str(error):
            raise AdmiralError(
                f"{path}: needs the class {rejected[1]}, which is not loaded from a file, because "
                "that can run code. If you trust the file, save it again with fairseq as "
                "plain containers (args as a Namespace, model as tensors)."
            ) from error
        raise AdmiralError(
            f"{path}: is damaged or not a checkpoint ({_first_line(error)}). Download it again."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _settings(state: Mapping[str, object]) -> Mapping[str, object]:
    args = _as_mapping(state.get("args"))
    if args:
        return args
    config = _as_mapping(state.get("cfg"))
    return _as_mapping(config.get("model"))


def _as_mapping(value: object) -> Mapping[str, object]:
    if isinstance(value, argparse.Namespace):
        return vars(value)
    return value if isinstance(value, Mapping) else {}


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

    `source`: folder with ``model.pt`` or ``checkpoint_best.pt`` and ``dict.txt`` (or
    ``dict.source.txt`` and ``dict.target.txt``), and with ``encoder.json`` and ``vocab.bpe`` unless
    `tokenizer` is given. `out`: directory to write atomically: config, weights (safetensors, in the
    precision of the checkpoint), tokenizer, generation config and checksums. `tokenizer`: folder
    with ``encoder.json`` and ``vocab.bpe``, or with a Hugging Face tokenizer: one with GPT-2's byte
    pairs (as of any BART), or one whose tokens are named as in the dictionary. Raises AdmiralError
    if a file is missing, damaged, of another architecture, or does not match the others.
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


# What `hf_to_fairseq` writes. `fairseq_to_hf` lists its files in their checksums.
_FAIRSEQ_FILES = {
    "model.pt",
    "dict.txt",
    "dict.source.txt",
    "dict.target.txt",
    "encoder.json",
    "vocab.bpe",
    "tokenizer",
}


@dataclass(frozen=True, slots=True)
class Conversion:
    """Summary of a conversion."""

    directory: Path
    n_parameters: int
    vocab_size: int
    # remarks for the user, such as tensors that were left out and values that were assumed
    notices: tuple[str, ...]


@contextmanager
def atomic_directory(target: Path, *, source: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty directory that replaces `target` when the block ends without an error.

    `source`: input of the conversion, which must not be inside `target`. Raises AdmiralError if
    `target` exists and `overwrite` is False or it holds other files, or the disk cannot be written.
    """
    target = Path(os.path.abspath(target))  # unlike resolve(), does not follow links
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise AdmiralError(f"{target}: exists and is not a directory. Name another output.")
    if source.resolve().is_relative_to(target.resolve()):
        raise AdmiralError(f"{target}: holds the input {source}. Name another output.")
    with staging(target, overwrite=overwrite, owned=_is_conversion) as fresh, as_os_errors():
        yield fresh


def _is_conversion(directory: Path) -> bool:
    names = {path.name for path in directory.iterdir()}
    if SUMS in names:
        lines = (directory / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
        listed = {line.partition("  ")[2] for line in lines}
        return "config.json" in listed and names <= {*listed, SUMS}
    return {"model.pt", "dict.txt"} <= names <= _FAIRSEQ_FILES


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


__all__ = ["Conversion", "fairseq_to_hf", "hf_to_fairseq"]
