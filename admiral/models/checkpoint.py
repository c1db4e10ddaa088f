"""Checkpoints: a BART seq2seq model, its tokenizer and the heads on its encoder.

A checkpoint is a directory in the Hugging Face layout; the heads' files are ours. A plain BART
directory works as retriever and prover. Weights are read from safetensors only.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from transformers import BartForConditionalGeneration, PreTrainedTokenizerBase
from transformers.utils import logging

from admiral.errors import AdmiralError, first_line
from admiral.models.heads import (
    RERANK_HEAD,
    SUFFICIENCY_HEAD,
    UNUSABLE,
    RerankHead,
    load_head,
    save_head,
)
from admiral.models.hf_config import read_config
from admiral.storage.bundled_names import MODELS
from trie import Seq2Seq, Tokens

# The files of a checkpoint, also of those that others saved.
_FILES = {
    *("config.json", "generation_config.json", "model.safetensors", RERANK_HEAD, SUFFICIENCY_HEAD),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "README.md", "SHA256SUMS", ".gitattributes"),
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint, ready for inference."""

    path: Path
    model: Seq2Seq
    tokens: Tokens
    head: RerankHead | None


def locate_checkpoint(name: str | Path) -> Path:
    """Return the directory of a bundled checkpoint (``mini``, whatever lies here) or of a path.

    Raises
    ------
    AdmiralError
        If it is neither.
    """
    path = Path(name)
    if str(name) in MODELS:
        path = Path(str(resources.files("admiral"))) / "data" / str(name)
        if not path.is_dir():
            raise AdmiralError(
                f"model {str(name)!r}: the bundled checkpoint is not in this installation; "
                "train one as the README says, and give its directory by --model"
            )
    if not (path / "config.json").is_file():
        raise AdmiralError(
            f"model {str(name)!r}: no such checkpoint; "
            f"give {' or '.join(MODELS)}, or a directory with config.json and model.safetensors"
        )
    if not (path / "model.safetensors").is_file():
        raise AdmiralError(
            f"{path}: no model.safetensors; pickled weights are not read, "
            "convert them with save_pretrained"
        )
    return path


def is_checkpoint(path: Path) -> bool:
    """Whether a directory is one that a checkpoint may take the place of: it holds nothing else."""
    names = {file.name for file in path.iterdir()} if path.is_dir() else set()
    return {"config.json", "model.safetensors"} <= names <= _FILES


def load_checkpoint(
    name: str | Path, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> Checkpoint:
    """Load a checkpoint for inference, from local files only.

    Raises
    ------
    AdmiralError
        As `load_bart` does, or if the tokenizer or the head is missing, damaged, or of another
        model.
    """
    path = locate_checkpoint(name)
    model = load_bart(path)
    try:
        tokens = Tokens.load(path, model.config.decoder_start_token_id)
        tokens.symbol("[")  # a tokenizer without its file has no tokens
        head = load_head(path, model.lm_head.in_features)
        if head is not None:
            head.to(device).eval()
        model.to(device)  # type: ignore[arg-type]
        return Checkpoint(path, Seq2Seq(model, dtype=dtype), tokens, head)
    except UNUSABLE as error:
        raise AdmiralError(
            f"{path}: not a usable BART checkpoint ({first_line(error)}); restore or convert it"
        ) from error


def load_bart(path: Path, **config: Any) -> BartForConditionalGeneration:
    """Load the model of a checkpoint directory in fp32, from its safetensors.

    Parameters
    ----------
    config
        Fields of its ``config.json`` to be set otherwise.

    Raises
    ------
    AdmiralError
        If it is damaged, of another architecture, or lacks weights.
    """
    read_config(path)
    try:
        with quiet():
            loaded: Any = BartForConditionalGeneration.from_pretrained(
                path,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                **config,
            )
        model, report = loaded
        Seq2Seq(model)  # refuses variants of BART that could be loaded, but not used
    except UNUSABLE as error:
        raise AdmiralError(
            f"{path}: not a usable BART checkpoint ({first_line(error)}); restore or convert it"
        ) from error
    # transformers fills them with random numbers.
    if missing := report["missing_keys"]:
        raise AdmiralError(
            f"{path}: model.safetensors lacks {len(missing)} weights of a BART seq2seq model, "
            f"such as {min(missing)}. Give another checkpoint."
        )
    if cut := [key for key in report["unexpected_keys"] if ".layers." in key]:
        raise AdmiralError(
            f"{path}: config.json has fewer layers than model.safetensors, which holds {min(cut)}. "
            "Restore the one that was changed."
        )
    if not all(value.isfinite().all() for value in model.parameters()):
        raise AdmiralError(f"{path}: model.safetensors holds what is no number. Restore it.")
    found: BartForConditionalGeneration = model
    return found


def save_checkpoint(
    out: Path,
    model: BartForConditionalGeneration,
    head: RerankHead | None,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Write a checkpoint to the directory `out` in `dtype`; the model itself is left as it is."""
    out.mkdir(parents=True, exist_ok=True)
    with torch.device("meta"):
        twin = BartForConditionalGeneration(copy.deepcopy(model.config))
    # Converted tensor by tensor, and in host memory: a GPU need not hold a second model.
    state = {k: v.detach().to("cpu", dtype) for k, v in model.state_dict().items()}
    twin.load_state_dict(state, assign=True)
    twin.tie_weights()
    twin.generation_config = model.generation_config
    with quiet():
        twin.save_pretrained(out)
        tokenizer.save_pretrained(out)
    if head is not None:
        save_head(out, head, dtype)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' loading bars and notices off the terminal."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
