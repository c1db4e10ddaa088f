"""Settings of a training run: defaults, then a YAML file, then ``key=value`` overrides.

Each setting is declared once, in `TrainConfig`. The table of settings in ``docs/training.md`` is
generated from the declarations.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from admiral.settings import Name
from training.loop import Count, CountOrNone, Dropout, LoopSettings, Rate

#: Metrics of each task on development samples. The mean of each task's first one is `score`.
METRICS = {
    "retrieve": ("retrieve_top1", "retrieve_top5", "retrieve_found", "retrieve_mass"),
    "rerank": ("rerank_mrr", "rerank_recall5"),
    "prove": (
        "prove_f1",
        "prove_precision",
        "prove_recall",
        "prove_accuracy",
        "prove_exact",
    ),
}


class TrainConfig(LoopSettings):
    """Settings of a training run."""

    headings: ClassVar[dict[str, str]] = {
        "start": "Files",
        "hops": "Samples",
        "batch_tokens": "Steps and batches",
        "encoder_lr": "Optimisation",
        "save_every": "Output",
    }
    start: Name = "runs/warm"
    """Checkpoint to start from: a directory, `mini`, or a name on the Hugging Face hub."""
    samples: Name = "runs/samples.jsonl"
    """Training samples, written by `training.build_data`."""
    dev: str = ""
    """Development samples; empty: no evaluation."""
    kb: Name = "demo"
    """Knowledge base whose titles the retriever may generate in evaluation."""
    out: Name = "runs/mini"
    hops: Annotated[str, Field(pattern=r"^(all|\d(,\d)*)$")] = "all"
    """Hop numbers of the retrieval samples to use: `all`, or a list such as `0` or `1,2`."""
    target: Literal["sentences", "titles"] = "sentences"
    """The text before the title in the retriever's output.

    - `sentences`: identifiers of evidence sentences
    - `titles`: titles of their documents, which `variant=joint-docs` of `admiral retrieve` decodes
    """
    objective: Literal["marginal", "single"] = "marginal"
    """The training objective of the retriever.

    - `marginal`: the summed probability of all valid targets of a sample
    - `single`: the likelihood of each target, as a sample of its own, as in the paper
    """
    reranker: Literal["head", "pointwise"] = "head"
    """The part of the model that scores the sentences of a reranking sample.

    - `head`: a head on the encoder, which reads a document at once
    - `pointwise`: the decoder, which answers true or false for each sentence, as monoT5 does, for
      `--reranker pointwise` of `admiral retrieve`; it learns from the gold sentences and as many
      others
    """
    markers: bool = True
    """Add tokens for tasks, hop numbers and sentence identifiers to a vocabulary without them."""
    max_source: Annotated[int, Field(ge=16, le=1_000_000)] = 192
    """Maximum input length in tokens. Longer samples are left out, longer documents truncated."""
    max_target: Annotated[int, Field(ge=8, le=1_000_000)] = 160
    """Maximum output length in tokens. Longer targets are left out."""
    batch_tokens: Count = 4096
    """Maximum cost of a batch of generation samples (see Batches)."""
    rerank_tokens: Count = 4096
    """Maximum cost of a batch of reranking samples (see Batches)."""
    encoder_lr: Rate = 0.0001
    """Peak learning rate of the encoder, the embeddings and the reranking head."""
    decoder_lr: Rate = 0.0005
    """Peak learning rate of the decoder."""
    dropout: Dropout = 0.0
    """Dropout of hidden states."""
    attention_dropout: Dropout = 0.0
    """Dropout of attention weights."""
    label_smoothing: Dropout = 0.0
    """Label smoothing of target tokens."""
    attention_loss_weight: Rate = 0.5
    """Weight of the loss on the cross-attention (see Guided attention); 0: none."""
    eval_every: CountOrNone = 200
    eval_samples: Count = 100
    """Development samples of each task."""
    eval_beams: Count = 10
    """Beam size of retrieval in evaluation."""
    proof_beams: Count = 2
    """Beam size of proof generation in evaluation."""
    save_every: Count = 200

    @property
    def hop_numbers(self) -> frozenset[int] | None:
        """The hop numbers that `hops` lists; None for all."""
        return None if self.hops == "all" else frozenset(map(int, self.hops.split(",")))

    @field_validator("best_metric")
    @classmethod
    def _check_metric(cls, value: str) -> str:
        names = ("score", "loss", *(name for names in METRICS.values() for name in names))
        if value not in names:
            raise ValueError(f"{value!r} is not one of {', '.join(names)}")
        return value
