"""Open the checkpoint that a run starts from, check it, and add missing tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from tokenizers import AddedToken
from transformers import BartForConditionalGeneration, PreTrainedTokenizerFast

from admiral.convert.hf_tokenizers import open_tokenizer
from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_bart, locate_checkpoint, quiet_transformers
from admiral.models.heads import RerankHead, load_head
from admiral.storage.bundled_names import MODELS
from training.loop.run_config import TrainConfig
from trie import SafeTokenizer
from trie.model.safe_tokenizer import MARKERS

# Files to download from the hub. Weights are safetensors only.
_FILES = ["*.json", "merges.txt", "vocab.txt", "model.safetensors", "rerank_head.safetensors"]


@dataclass(frozen=True, slots=True)
class InitialCheckpoint:
    """A checkpoint to train, on the CPU and in fp32.

    Attributes
    ----------
    name
        Name in the model card: a name on the hub, or the last part of a directory.
    head
        The reranking head; None unless the reranker is trained.
    """

    name: str
    path: Path
    model: BartForConditionalGeneration
    tokenizer: PreTrainedTokenizerFast
    tokens: SafeTokenizer
    head: RerankHead | None


def open_initial_checkpoint(config: TrainConfig, tasks: tuple[str, ...]) -> InitialCheckpoint:
    """Open the initial checkpoint.

    New parameters, such as embeddings of added tokens and the reranking head, are initialised with
    the seed of the run.

    Raises
    ------
    AdmiralError
        If it is missing or damaged, has another architecture, or a tokenizer of another model.
    """
    path = _directory(config.start)
    model = load_bart(path, dropout=config.dropout, attention_dropout=config.attention_dropout)
    tokenizer = open_tokenizer(path)
    _check_tokenizer(path, model, tokenizer)
    torch.manual_seed(config.seed)
    _add_markers(path, model, tokenizer, tasks, config.markers)
    longest = max(config.max_source, config.max_target)
    if longest > model.config.max_position_embeddings:
        raise AdmiralError(
            f"{path}: has {model.config.max_position_embeddings} positions; "
            f"max_source and max_target must not exceed them, and one is {longest}."
        )
    # On two cores, a step of 32 x 128 tokens takes 1.35 times as long with fused attention, because
    # of its backward pass.
    model.set_attn_implementation("eager")
    head = None
    if "rerank" in tasks:
        width = model.lm_head.in_features
        head = load_head(path, width) or RerankHead(width)
    tokens = SafeTokenizer(tokenizer, model.config.decoder_start_token_id)
    name = path.name if Path(config.start).is_dir() else config.start
    return InitialCheckpoint(name, path, model, tokenizer, tokens, head)


def _directory(name: str) -> Path:
    """Return the directory of a checkpoint, downloading one from the hub unless it is cached."""
    if Path(name).is_dir() or name in MODELS:
        return locate_checkpoint(name)
    try:
        return locate_checkpoint(snapshot_download(name, allow_patterns=_FILES))
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise AdmiralError(
            f"start {name!r}: is not a directory and cannot be downloaded from the hub "
            f"({type(error).__name__}). Give a checkpoint directory, or check the connection."
        ) from error


def _check_tokenizer(
    path: Path, model: BartForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    rows = model.lm_head.out_features
    largest = max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise AdmiralError(
            f"{path}: its tokenizer has ids up to {largest}, its model only {rows} embeddings. "
            "Use the tokenizer of the model."
        )
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        ours, theirs = getattr(tokenizer, name), getattr(model.config, name)
        if ours != theirs:
            raise AdmiralError(
                f"{path}: {name} is {ours} in its tokenizer, but {theirs} in its config.json. "
                "Use the tokenizer of the model."
            )


def _add_markers(
    path: Path,
    model: BartForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    tasks: tuple[str, ...],
    wanted: bool,
) -> None:
    vocabulary = tokenizer.get_vocab()
    missing = [marker for marker in MARKERS if marker not in vocabulary]
    if not missing:
        return
    if not wanted:
        if len(tasks) > 1:
            raise AdmiralError(
                f"{path}: its tokenizer has no task tokens, which a model of several tasks needs. "
                "Set markers to true, or train one task."
            )
        return
    tokenizer.add_tokens([AddedToken(m, special=True, normalized=False) for m in missing], True)
    if len(tokenizer) > model.lm_head.out_features:
        with quiet_transformers():
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
