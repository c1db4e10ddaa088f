"""Train a verifier of sources on cited pages, by expectation maximisation.

The log-odds of entailment rank the passages of a claim. Run as::

    accelerate launch -m training.source_verifier --config configs/paper-side-verifier.yaml

or with ``python``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from proofs.verifier import LABELS
from proofs.verifier.classifier_verifier import (
    HEADS,
    EvidenceModel,
    new_model,
    pad_inputs,
    read_model,
    write_model,
)
from proofs.verifier.evidence_verifier import EvidenceEncoder
from training.cited_pages import (
    CitedPassages,
    EmConfig,
    EmModule,
    EmProgram,
    ScoredBatch,
)
from training.command_options import training_command
from training.loop.training_loop import parameter_groups, run_training
from training.verification.verifier_program import VerifierLoss

_ENTAILED = LABELS.index("entailment")


def train_source_verifier(config: EmConfig, *, overwrite: bool = False) -> None:
    """Train a verifier (see `run_training`)."""
    run_training(
        config,
        lambda accelerator, _: SourceVerifierProgram(config, accelerator),
        overwrite=overwrite,
    )


@dataclass(frozen=True, slots=True)
class PassageBatch:
    """Claims paired with passages.

    Attributes
    ----------
    ids, mask, segments
        Inputs of the model, (pairs, length).
    claims, positive
        Number of the claim of each pair, and whether its passage is of the cited page, (pairs,).
    """

    ids: Tensor
    mask: Tensor
    segments: Tensor
    claims: Tensor
    positive: Tensor


class SourceVerifierLoss(EmModule):
    """A verifier with its loss."""

    def __init__(self, model: EvidenceModel, config: EmConfig) -> None:
        super().__init__(config)
        self._verifier = VerifierLoss(model, config.dropout, config.seed)  # has the dropout

    @property
    def model(self) -> EvidenceModel:
        """The verifier."""
        return self._verifier.model

    def scored(self, batch: PassageBatch) -> ScoredBatch:
        """Return the log-odds of entailment."""
        whole, _, _ = self.model(batch.ids, batch.mask, batch.segments)
        logits = whole.float()
        others = [at for at in range(len(LABELS)) if at != _ENTAILED]
        scores = logits[:, _ENTAILED] - logits[:, others].logsumexp(1)
        count = int(batch.claims.max()) + 1
        positives: list[list[int]] = [[] for _ in range(count)]
        negatives: list[list[int]] = [[] for _ in range(count)]
        rows = zip(batch.claims.tolist(), batch.positive.tolist(), strict=True)
        for at, (claim, is_positive) in enumerate(rows):
            (positives if is_positive else negatives)[claim].append(at)
        return ScoredBatch(scores, positives, negatives)


class SourceVerifierProgram(EmProgram):
    """Trains a verifier."""

    product = "verifier"
    loss_kinds = ("verifier",)
    introduction = "A verifier of sources: how likely a passage supports a claim"
    pipeline_tag = "text-classification"
    module: SourceVerifierLoss

    def __init__(self, config: EmConfig, accelerator: Accelerator) -> None:
        super().__init__(config, accelerator.device)
        try:
            is_verifier = (self.start / HEADS).is_file()
            model, self._tokenizer = (
                read_model(self.start) if is_verifier else new_model(self.start, config.seed)
            )
            self._encoder = EvidenceEncoder.of(self._tokenizer, config.max_length)
        except ValueError as error:
            raise AdmiralError(str(error)) from error
        self.module = SourceVerifierLoss(model, config)
        self.groups = parameter_groups(
            self.module, model.encoder_parameters(), config.lr, config.head_lr
        )

    def collate(self, items: Sequence[CitedPassages]) -> PassageBatch:
        """Return a padded batch; what does not fit the model is cut."""
        rows: list[tuple[int, bool, str, Any]] = [
            (number, is_positive, item.claim, _sentences(*passage))
            for number, item in enumerate(items)
            for is_positive, passages in ((True, item.positives), (False, item.negatives))
            for passage in passages
        ]
        inputs = self._encoder.encode([row[2] for row in rows], [row[3] for row in rows])
        ids, mask, segments = pad_inputs(
            [one.ids for one in inputs],
            [one.segments for one in inputs],
            self._encoder.special.pad,
        )
        return PassageBatch(
            ids,
            mask,
            segments,
            torch.tensor([row[0] for row in rows]),
            torch.tensor([row[1] for row in rows]),
        )

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        write_model(folder, self.module.model, self._tokenizer, dtype, self._config.max_length)


def _sentences(title: str, text: str) -> list[tuple[str, str]]:
    return [(title, sentence) for sentence in split_sentences(text) or [text]]


def _start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
    train_source_verifier(EmConfig.read(path, overrides), overwrite=overwrite)


main = training_command(_start, "Train a verifier on cited pages.", "docs/side.md")

if __name__ == "__main__":
    main()
