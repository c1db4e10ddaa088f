"""The seq2seq model and the reranking head as one module, with a loss for each kind of batch.

Guided attention is a loss on cross-attention that teaches a few heads where to copy from. Targets
copy most of their tokens: titles from the claim or the evidence, proof spans from both.
Cross-entropy alone teaches a model where to look only slowly. The loss is used in training only;
the architecture stays the same. Source: guided alignment training (Chen et al. 2016).

`open_initial_checkpoint` opens and checks the checkpoint to start from, and adds missing tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from tokenizers import AddedToken
from torch import nn
from torch.nn import functional as F
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from admiral.convert.vocabulary import open_tokenizer
from admiral.errors import AdmiralError
from admiral.models.checkpoint import (
    RerankHead,
    has_output_embedding,
    load_head,
    load_seq2seq,
    locate_checkpoint,
    read_config,
)
from admiral.requirements import MODELS
from proofs.generation.proof_grammar import missing_proof_marks
from training.multitask.multitask_settings import TrainConfig
from training.multitask.sample_batches import IGNORED, Batch, RerankBatch, SequenceBatch
from trie import SafeTokenizer, Seq2Seq
from trie.safe_tokenizer import MARKERS
from trie.seq2seq import quiet_transformers

# Files to download from the hub. Weights are safetensors only.
_FILES = ["*.json", "merges.txt", "vocab.txt", "model.safetensors", "rerank_head.safetensors"]


@dataclass(frozen=True, slots=True)
class InitialCheckpoint:
    """A checkpoint to train, on the CPU and in fp32."""

    name: str  # name in the model card: a name on the hub, or the last part of a directory
    path: Path
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    tokens: SafeTokenizer
    head: RerankHead | None  # the reranking head; None unless the reranker is trained


def open_initial_checkpoint(config: TrainConfig, tasks: tuple[str, ...]) -> InitialCheckpoint:
    """Open the initial checkpoint.

    New parameters, such as embeddings of added tokens and the reranking head, are initialised with
    the seed of the run.

    Raises AdmiralError if it is missing or damaged, or has another architecture.
    """
    path = _directory(config.start)
    model = load_seq2seq(path, **_dropout(path, config))
    tokenizer = open_tokenizer(path)
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
    if "rerank" in tasks and config.reranker == "head":
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


def _dropout(path: Path, config: TrainConfig) -> dict[str, float]:
    """Return the fields of the model's configuration for the dropout of the settings."""
    if read_config(path).model_type == "bart":
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
    embeddings: Any = model.get_input_embeddings()
    if len(tokenizer) > embeddings.num_embeddings:
        # The embeddings of the output stay apart if they are.
        tied = model.config.tie_word_embeddings
        model.config.tie_word_embeddings = tied and not has_output_embedding(model)
        with quiet_transformers():
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        model.config.tie_word_embeddings = tied


_HEADS = 4  # guided heads of the last layer; the others are free


def guided_attention_loss(attention: torch.Tensor, copies: torch.Tensor) -> torch.Tensor:
    """Return the mean negative log of the attention mass on the aligned source positions.

    - `attention`: weights of the cross-attention, (batch, heads, target, source).
    - `copies`: shape (batch, target, source), bool: source positions aligned with each target
      token.
    """
    mass = (attention[:, :_HEADS].float() * copies[:, None]).sum(-1)
    taught = mass > 0  # no position is aligned, or dropout has left none
    total = -mass.where(taught, 1.0).log().sum()
    return total / taught.sum().clamp(min=1)


def vocabulary_logits(model: Any, states: torch.Tensor) -> torch.Tensor:
    """Return the logits of the token after each decoder state, (..., vocabulary)."""
    kind, config = model.config.model_type, model.config
    # mT5 never divides the states by the square root of their size, and UMT5 always.
    if kind == "umt5" or (kind not in ("bart", "mt5") and config.scale_decoder_outputs):
        states = states * config.d_model**-0.5
    logits: torch.Tensor = model.lm_head(states)
    return logits + model.final_logits_bias if kind == "bart" else logits


_GOLD_WEIGHT = 3.0  # of gold sentences in the logistic loss, because they are rare


class MultiTaskModel(nn.Module):
    """A seq2seq model and a reranking head that share an encoder.

    `model`, `head`: the head is needed for reranking batches only. `attention_loss_weight`: weight
    of the loss on the cross-attention (see `training.multitask.multitask_model`).
    """

    def __init__(
        self,
        model: PreTrainedModel,
        head: RerankHead | None = None,
        attention_loss_weight: float = 0.0,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self._attention_loss_weight, self._label_smoothing = attention_loss_weight, label_smoothing

    def encoder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the encoder and of the reranking head."""
        parameters = list(self.model.get_encoder().parameters())
        if self.head is not None:
            parameters += self.head.parameters()
        return parameters

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the mean loss of a batch."""
        if isinstance(batch, SequenceBatch):
            return self._sequence_loss(batch)
        hidden = self.model.get_encoder()(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        if self.head is None:
            raise ValueError("reranking batches need a head")
        return rerank_loss(sentence_means(self.head(hidden), batch), batch)

    def _sequence_loss(self, batch: SequenceBatch) -> torch.Tensor:
        """Return the negative log marginal likelihood of the targets of each input.

        The likelihood of an input is the sum of the probabilities of all its targets. The loss is
        summed over inputs and divided by the number of target tokens, that of the mean target of an
        input, so that with one target per input it is the cross-entropy per token.
        """
        hidden = self.model.get_encoder()(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        guided = bool(self._attention_loss_weight) and bool(batch.copies.any())
        output = self.model.get_decoder()(
            input_ids=batch.decoder_ids,
            encoder_hidden_states=hidden[batch.owners],
            encoder_attention_mask=batch.attention_mask[batch.owners],
            use_cache=False,
            output_attentions=guided,
        )
        real = batch.labels != IGNORED
        logits = vocabulary_logits(self.model, output.last_hidden_state[real])
        losses = F.cross_entropy(
            logits.float(),
            batch.labels[real],
            label_smoothing=self._label_smoothing,
            reduction="none",
        )
        sequences = losses.new_zeros(len(real)).index_add(0, real.nonzero()[:, 0], losses)
        counts = torch.bincount(batch.owners)
        number = torch.arange(len(real), device=real.device)
        place = number - torch.searchsorted(batch.owners, batch.owners)  # within its input
        scores = losses.new_full((len(counts), int(counts.max())), -torch.inf)
        scores[batch.owners, place] = -sequences
        tokens = (real.sum(1) / counts[batch.owners]).sum()
        loss = -scores.logsumexp(1).sum() / tokens
        if guided:
            attention = guided_attention_loss(output.cross_attentions[-1], batch.copies)
            loss = loss + self._attention_loss_weight * attention
        return loss


def sentence_means(logits: torch.Tensor, batch: RerankBatch) -> torch.Tensor:
    """Return the mean token score of each sentence, (claims, sentences).

    `logits`: token scores, (passes, length).
    """
    sums = F.pad(logits.float().cumsum(1), (1, 0)).flatten()
    return (sums[batch.ends] - sums[batch.begins]) / (batch.ends - batch.begins)


def rerank_loss(scores: torch.Tensor, batch: RerankBatch) -> torch.Tensor:
    """Return a listwise softmax loss plus a logistic loss.

    The first contrasts each gold sentence with all other sentences of its claim. The second
    calibrates the scores, so that 0 separates gold from other sentences.
    """
    wrong = scores.masked_fill(batch.gold | ~batch.real, -torch.inf)
    against = wrong.logsumexp(1, keepdim=True)
    contrasts = (torch.logaddexp(scores, against) - scores).masked_fill(~batch.gold, 0.0)
    ordering = (contrasts.sum(1) / batch.gold.sum(1)).mean()
    logistic = F.binary_cross_entropy_with_logits(
        scores,
        batch.gold.to(scores.dtype),
        weight=batch.real * torch.where(batch.gold, _GOLD_WEIGHT, 1.0),
        reduction="sum",
    )
    return ordering + logistic / batch.real.sum()
