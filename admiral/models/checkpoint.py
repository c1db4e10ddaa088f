"""Checkpoints: a BART seq2seq model, its tokenizer and heads on its encoder.

A checkpoint is a directory in the Hugging Face format, with additional files for the heads. A plain
BART directory works as retriever and prover. Weights are only read from safetensors.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from logging import getLogger
from pathlib import Path
from typing import Any

import torch
from transformers import BartForConditionalGeneration, PreTrainedTokenizerBase
from transformers.utils import logging

from admiral.errors import AdmiralError, first_line
from admiral.models.heads import (
    LOADING_ERRORS,
    RERANK_HEAD,
    SUFFICIENCY_HEAD,
    RerankHead,
    load_head,
    save_head,
)
from admiral.models.hf_config import read_config
from admiral.storage.bundled_names import MODELS
from trie import SafeTokenizer, Seq2Seq

logger = getLogger(__name__)

# The files of a checkpoint, including those of checkpoints saved by other programs.
_FILES = {
    *("config.json", "generation_config.json", "model.safetensors", RERANK_HEAD, SUFFICIENCY_HEAD),
    *("relevance_head.safetensors",),  # of a verifier
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.json", "vocab.txt", "merges.txt", "README.md", "SHA256SUMS", ".gitattributes"),
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint, ready for inference.

    Attributes
    ----------
    path
        Its directory.
    model, tokens
        The model and its tokenizer.
    head
        The rerank head; None if the checkpoint has none.
    """

    path: Path
    model: Seq2Seq
    tokens: SafeTokenizer
    head: RerankHead | None


def locate_checkpoint(name: str | Path) -> Path:
    """Return the directory of a checkpoint.

    Parameters
    ----------
    name
        The name of a bundled checkpoint (``mini``), which takes precedence, or a directory.

    Raises
    ------
    AdmiralError
        If there is no such checkpoint, or it has no safetensors file.
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
    """Return whether a directory holds only a checkpoint, so that it may be replaced."""
    names = {file.name for file in path.iterdir()} if path.is_dir() else set()
    return {"config.json", "model.safetensors"} <= names <= _FILES


def load_checkpoint(
    name: str | Path, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> Checkpoint:
    """Load a checkpoint for inference, from local files only.

    Raises
    ------
    AdmiralError
        In the same cases as `load_bart`, or if the tokenizer is missing or the tokenizer or head is
        damaged or belongs to another model.
    """
    path = locate_checkpoint(name)
    logger.debug("%s: loading on %s in %s", path, device, dtype)
    model = load_bart(path)
    try:
        tokens = SafeTokenizer.load(path, model.config.decoder_start_token_id)
        tokens.single_token("[")  # a tokenizer whose file is missing has no tokens
        head = load_head(path, model.lm_head.in_features)
        if head is not None:
            head.to(device).eval()
        model.to(device)  # type: ignore[arg-type]
        return Checkpoint(path, Seq2Seq(model, dtype=dtype), tokens, head)
    except LOADING_ERRORS as error:
        raise AdmiralError(
            f"{path}: not a usable BART checkpoint ({first_line(error)}); restore or convert it"
        ) from error


def load_bart(path: Path, **config: Any) -> BartForConditionalGeneration:
    """Load the model of a checkpoint directory in fp32, from its safetensors file.

    Parameters
    ----------
    path
        The directory.
    **config
        Fields that replace those of ``config.json``.

    Raises
    ------
    AdmiralError
        If the model is damaged, has another architecture, or lacks weights.
    """
    read_config(path)
    try:
        with quiet_transformers():
            loaded: Any = BartForConditionalGeneration.from_pretrained(
                path,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                **config,
            )
        model, report = loaded
        Seq2Seq(model)  # raises for variants of BART that can be loaded but not used
    except LOADING_ERRORS as error:
        raise AdmiralError(
            f"{path}: not a usable BART checkpoint ({first_line(error)}); restore or convert it"
        ) from error
    # transformers initialises missing weights with random numbers.
    if missing := report["missing_keys"]:
        raise AdmiralError(
            f"{path}: model.safetensors lacks {len(missing)} weights of a BART seq2seq model, "
            f"such as {min(missing)}. Give another checkpoint."
        )
    if dropped := [key for key in report["unexpected_keys"] if ".layers." in key]:
        raise AdmiralError(
            f"{path}: config.json has fewer layers than model.safetensors, which holds "
            f"{min(dropped)}. Restore the one that was changed."
        )
    if not all(value.isfinite().all() for value in model.parameters()):
        raise AdmiralError(f"{path}: model.safetensors has infinite or NaN weights. Restore it.")
    bart: BartForConditionalGeneration = model
    return bart


def save_checkpoint(
    out: Path,
    model: BartForConditionalGeneration,
    head: RerankHead | None,
    tokenizer: PreTrainedTokenizerBase,
    dtype: torch.dtype = torch.float16,
) -> None:
    """Save a checkpoint to a directory; the model itself is not changed.

    Parameters
    ----------
    out
        The directory; created if necessary.
    model, head, tokenizer
        The parts of the checkpoint; `head` may be None.
    dtype
        Data type of the saved weights.
    """
    out.mkdir(parents=True, exist_ok=True)
    with torch.device("meta"):
        converted = BartForConditionalGeneration(copy.deepcopy(model.config))
    # Converted one tensor at a time in host memory, so that no second copy is on the GPU.
    state = {k: v.detach().to("cpu", dtype) for k, v in model.state_dict().items()}
    converted.load_state_dict(state, assign=True)
    converted.tie_weights()
    converted.generation_config = model.generation_config
    with quiet_transformers():
        converted.save_pretrained(out)
        tokenizer.save_pretrained(out)
    if head is not None:
        save_head(out, head, dtype)


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Turn off the progress bars and messages of transformers during the block."""
    untyped: Any = logging  # some of its functions have no annotations
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    untyped.set_verbosity_error()
    untyped.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            untyped.enable_progress_bar()
