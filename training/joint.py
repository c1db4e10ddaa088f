"""Train one checkpoint for the three tasks: hop retrieval, sentence reranking, proofs.

Run as ``accelerate launch -m training.joint --config configs/mini.yaml`` or, on one device,
``python -m training.joint --config configs/mini.yaml``. A killed run goes on where it was last
saved when the same command is started again.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from torch import nn
from transformers import BartForConditionalGeneration

from admiral.checkpoint import RerankHead, load_head, save_checkpoint
from admiral.errors import AdmiralError
from training.batches import Group, Pair, RerankBatch, SequenceBatch, bucket, collate, encode
from training.guide import AttentionGuide
from training.samples import read_samples
from training.state import load_state, save_state
from trie import Tokens


@dataclass
class TrainConfig:
    """Settings of a training run.

    Attributes
    ----------
    start
        Directory of the checkpoint to start from.
    samples
        File that `training.build_data` wrote.
    out
        Directory of the trained checkpoint.
    steps
        Optimizer steps; a batch costs at most `batch_tokens` (see `training.batches.bucket`).
    encoder_rate, decoder_rate
        Peak learning rates.
    guide
        Weight of the loss on the cross-attention (see `training.guide`).
    """

    start: str = "runs/warm"
    samples: str = "runs/samples.jsonl"
    out: str = "runs/mini"
    steps: int = 2000
    batch_tokens: int = 4096
    rerank_tokens: int = 4096
    max_source: int = 192
    max_target: int = 160
    encoder_rate: float = 1e-4
    decoder_rate: float = 5e-4
    weight_decay: float = 0.01
    warmup: int = 100
    clip: float = 1.0
    dropout: float = 0.0
    guide: float = 0.5
    precision: str = "bf16"
    seed: int = 0
    save_every: int = 200
    log_every: int = 20


class Trainee(nn.Module):
    """The seq2seq model and the reranker's head, with one loss per kind of batch."""

    def __init__(self, model: BartForConditionalGeneration, head: RerankHead, guide: float) -> None:
        super().__init__()
        self.model = model
        self.head = head
        self._guide = guide

    def forward(self, batch: SequenceBatch | RerankBatch) -> torch.Tensor:
        """Return the mean cross-entropy of the target tokens, or of the gold sentences."""
        if isinstance(batch, SequenceBatch):
            with AttentionGuide(self.model) as guide:
                loss: torch.Tensor = self.model(
                    input_ids=batch.input_ids,
                    attention_mask=batch.attention_mask,
                    labels=batch.labels,
                ).loss
            return loss + self._guide * guide.loss(batch.attention_mask, batch.copies)
        hidden = self.model.model.encoder(
            input_ids=batch.input_ids, attention_mask=batch.attention_mask
        ).last_hidden_state
        logits = self.head(hidden).float().flatten()
        with torch.autocast(logits.device.type, enabled=False):
            scores = torch.sparse.mm(batch.pooling, logits[:, None]).squeeze(1)
        return _rerank_loss(scores, batch)


def _rerank_loss(scores: torch.Tensor, batch: RerankBatch) -> torch.Tensor:
    """Each gold sentence against all the others of its claim, and a logistic term.

    The first orders the sentences of different documents, the second gives the scores a zero.
    """
    losses = []
    for claim in batch.group.unique():
        mine = batch.group == claim
        gold, wrong = scores[mine & batch.gold], scores[mine & ~batch.gold]
        against = torch.logsumexp(wrong, 0).expand_as(gold)
        losses.append((torch.logaddexp(gold, against) - gold).mean())
    weight = torch.where(batch.gold, 3.0, 1.0)
    logistic = nn.functional.binary_cross_entropy_with_logits(
        scores, batch.gold.float(), weight=weight
    )
    return torch.stack(losses).mean() + logistic


def batches(items: list[Pair | Group], config: TrainConfig) -> Iterator[list[Pair] | list[Group]]:
    """Yield batches without end, epoch after epoch, in an order that only the seed decides."""
    pairs = [i for i in items if isinstance(i, Pair)]
    groups = [i for i in items if isinstance(i, Group)]
    epoch = config.seed
    while True:
        together: list[list[Pair] | list[Group]] = []
        together += bucket(pairs, config.batch_tokens, epoch)
        together += bucket(groups, config.rerank_tokens, epoch)
        random.Random(epoch).shuffle(together)
        yield from together
        epoch += 1


def rate(step: int, config: TrainConfig) -> float:
    """Return the share of the peak learning rate at `step`: linear up, then linear down to zero."""
    up = (step + 1) / max(config.warmup, 1)
    down = (config.steps - step) / max(config.steps - config.warmup, 1)
    return max(min(up, down), 0.0)


def train(config: TrainConfig) -> None:
    """Train as `config` says, and write the checkpoint to its `out`."""
    accelerator = Accelerator(mixed_precision=config.precision)
    set_seed(config.seed)
    model = BartForConditionalGeneration.from_pretrained(
        config.start, dtype=torch.float32, dropout=config.dropout, local_files_only=True
    )
    tokens = Tokens.load(config.start, model.config.decoder_start_token_id)
    width = model.lm_head.in_features
    head = load_head(Path(config.start), width) or RerankHead(width)
    trainee = Trainee(model, head, config.guide)
    encoder = set(trainee.model.model.encoder.parameters()) | set(trainee.head.parameters())
    others = [p for p in trainee.parameters() if p not in encoder]
    optimizer = torch.optim.AdamW(
        [
            {"params": list(encoder), "peak": config.encoder_rate},
            {"params": others, "peak": config.decoder_rate},
        ],
        weight_decay=config.weight_decay,
        fused=True,
    )
    items = [
        item
        for sample in read_samples(Path(config.samples))
        if (item := encode(tokens, sample, config.max_source, config.max_target)) is not None
    ]
    if not items:
        raise AdmiralError(f"{config.samples}: no usable sample; build it again")
    trainee, optimizer = accelerator.prepare(trainee, optimizer)
    out = Path(config.out)
    done = load_state(out / "state", accelerator.unwrap_model(trainee), optimizer)
    stream = batches(items, config)
    began, losses = time.monotonic(), {"pairs": [0.0, 0.0], "groups": [0.0, 0.0]}
    for step in range(config.steps):
        mine = [next(stream) for _ in range(accelerator.num_processes)][accelerator.process_index]
        if step < done:
            continue  # an earlier run trained on it
        batch = collate(mine, tokens.pad)
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * rate(step, config)
        with accelerator.autocast():
            loss = trainee(_moved(batch, accelerator.device))
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(trainee.parameters(), config.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        kind = losses["pairs" if isinstance(batch, SequenceBatch) else "groups"]
        kind[0] += loss.item()
        kind[1] += 1
        if (step + 1) % config.log_every == 0 and accelerator.is_main_process:
            shown = {k: round(v[0] / v[1], 4) for k, v in losses.items() if v[1]}
            record = {"step": step + 1, **shown, "seconds": round(time.monotonic() - began, 1)}
            click.echo(json.dumps(record), err=True)
            losses = {"pairs": [0.0, 0.0], "groups": [0.0, 0.0]}
        if (step + 1) % config.save_every == 0 and accelerator.is_main_process:
            save_state(out / "state", accelerator.unwrap_model(trainee), optimizer, step + 1)
    if accelerator.is_main_process:
        trained = accelerator.unwrap_model(trainee)
        save_checkpoint(out, trained.model, trained.head, Path(config.start))


def _moved(batch: SequenceBatch | RerankBatch, device: torch.device) -> SequenceBatch | RerankBatch:
    values = {name: getattr(batch, name).to(device) for name in batch.__dataclass_fields__}
    return type(batch)(**values)


@click.command()
@click.option("--config", "path", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE")
def main(path: Path, overrides: tuple[str, ...]) -> None:
    """Train the retriever, the reranker and the prover of one checkpoint together."""
    try:
        merged = OmegaConf.merge(
            OmegaConf.structured(TrainConfig),
            OmegaConf.load(path),
            OmegaConf.from_dotlist(list(overrides)),
        )
    except OmegaConfBaseException as error:
        raise click.ClickException(f"{path}: {str(error).splitlines()[0]}") from error
    try:
        train(TrainConfig(**OmegaConf.to_container(merged)))  # type: ignore[arg-type]
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
