"""Open the checkpoint that a run starts from, check it, and add missing tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from tokenizers import AddedToken
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from admiral.convert.vocabulary import open_tokenizer
from admiral.errors import AdmiralError
from admiral.models.checkpoint import (
    RerankHead,
    has_output_embedding,
    load_head,
    load_seq2seq,
    locate_checkpoint,
    read_seq2seq_config,
)
from admiral.storage import MODELS
from proofs.generation.proof_grammar import missing_proof_marks
from training.multitask.multitask_settings import TrainConfig
from trie import SafeTokenizer, Seq2Seq
from trie.model.quiet_transformers import quiet_transformers
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
    model: PreTrainedModel
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
    model = load_seq2seq(path, **_dropout(path, config))
    tokenizer = open_tokenizer(path)
    _check_tokenizer(path, model, tokenizer)
    torch.manual_seed(config.seed)
    _add_markers(path, model, tokenizer, tasks, config.markers)
    longest = max(config.max_source, config.max_target)
    positions = Seq2Seq(model).max_source
    if longest > positions:
        raise AdmiralError(
            f"{path}: has {positions} positions; "
            f"max_source and max_target must not exceed them, and one is {longest}."
        )
    # On two cores, a step of 32 x 128 tokens takes 1.35 times as long with fused attention, because
    # of its backward pass.
    model.set_attn_implementation("eager")
    head = None
    if "rerank" in tasks:
        width = model.config.hidden_size
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
    path: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    rows = _embedding_rows(model)
    largest = max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise AdmiralError(
            f"{path}: its tokenizer has ids up to {largest}, its model only {rows} embeddings. "
            "Use the tokenizer of the model."
        )
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        ours, theirs = getattr(tokenizer, name), getattr(model.config, name, None)
        if ours != theirs:
            raise AdmiralError(
                f"{path}: {name} is {ours} in its tokenizer, but {theirs} in its config.json. "
                "Use the tokenizer of the model."
            )


def _dropout(path: Path, config: TrainConfig) -> dict[str, float]:
    """Return the fields of the model's configuration for the dropout of the settings."""
    if read_seq2seq_config(path).model_type == "bart":
        return {"dropout": config.dropout, "attention_dropout": config.attention_dropout}
    if config.attention_dropout != config.dropout:
        raise AdmiralError(
            f"{path}: has one dropout for hidden states and attention weights; "
            f"set attention_dropout to the value of dropout, {config.dropout}."
        )
    return {"dropout_rate": config.dropout}


def _add_markers(
    path: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    tasks: tuple[str, ...],
    wanted: bool,
) -> None:
    """Add tokens for tasks, hops, identifiers and the marks of titles and proofs, if missing."""
    vocabulary = tokenizer.get_vocab()
    missing = [marker for marker in MARKERS if marker not in vocabulary]
    missing_marks = missing_proof_marks(SafeTokenizer(tokenizer))
    if not missing and not missing_marks:
        return
    if not wanted:
        if missing and len(tasks) > 1:
            raise AdmiralError(
                f"{path}: its tokenizer has no task tokens, which a model of several tasks needs. "
                "Set markers to true, or train one task."
            )
        if "prove" in tasks and missing_marks:
            raise AdmiralError(
                f"{path}: its tokenizer has no token for {' '.join(missing_marks)}, which proofs "
                "contain. Set markers to true."
            )
        return
    added = [AddedToken(m, special=True, normalized=False) for m in (*missing, *missing_marks)]
    tokenizer.add_tokens(added, True)
    if len(tokenizer) > _embedding_rows(model):
        with quiet_transformers():
            _resize(model, len(tokenizer))


def _embedding_rows(model: PreTrainedModel) -> int:
    """Return the number of tokens that a model has embeddings for."""
    embeddings: Any = model.get_input_embeddings()
    return int(embeddings.num_embeddings)


def _resize(model: PreTrainedModel, size: int) -> None:
    """Add rows to the embeddings of a model, which stay apart if they are."""
    tied = model.config.tie_word_embeddings
    model.config.tie_word_embeddings = tied and not has_output_embedding(model)
    model.resize_token_embeddings(size, mean_resizing=False)
    model.config.tie_word_embeddings = tied
