"""Training of the verifier: its loss, its measures, its directory and model card.

The loss is that of labels of the whole, of sentences and of the tokens of claims. A source with
examples labelled ``not_entailment`` is measured with two classes, entailment or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch
from accelerate import Accelerator
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from proofs.verifier.classifier_verifier import (
    HEADS,
    EvidenceModel,
    new_model,
    read_model,
    write_model,
)
from proofs.verifier.evidence_verifier import EvidenceEncoder
from training.loop.model_card import SourceFile
from training.loop.run_files import TrainingState
from training.loop.training_loop import parameter_groups
from training.verification import (
    UNKNOWN,
    EncodedExample,
    ExampleBatch,
    ExampleSet,
    collate,
    read_example_set,
)
from training.verification.example_program import (
    ExampleEvaluator,
    ExampleProgram,
    marginal_losses,
    right_and_known,
)
from training.verification.verifier_settings import VerifierConfig

#: Weights of the losses of sentences and of tokens, beside 1 for the whole.
SENTENCE_WEIGHT, TOKEN_WEIGHT = 0.5, 0.3


class VerifierLoss(nn.Module):
    """A verifier with its loss.

    `model`: the verifier; its weights are trained in place. `dropout`: probability of the dropout
    of hidden states. Attention weights have none.
    """

    def __init__(self, model: EvidenceModel, dropout: float) -> None:
        super().__init__()
        self.model = model
        for name, module in model.named_modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0 if "attention.self" in name else dropout

    def forward(self, batch: ExampleBatch) -> Tensor:
        """Return the mean loss of a batch."""
        whole, sentences, tokens = self.scores(batch)
        loss = marginal_losses(whole, batch.labels).mean()
        for logits, labels, weight in (
            (sentences, batch.sentences, SENTENCE_WEIGHT),
            (tokens, batch.token_labels, TOKEN_WEIGHT),
        ):
            known = (labels != UNKNOWN).sum().clamp(min=1)
            loss = loss + weight * marginal_losses(logits, labels).sum() / known
        return loss

    def scores(self, batch: ExampleBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the whole, of sentences and of tokens, (examples, ..., 3)."""
        whole, sentences, tokens = self.model(batch.ids, batch.mask, batch.segments)
        return (
            whole.float(),
            _at(sentences, batch.markers).float(),
            _at(tokens, batch.tokens).float(),
        )


def _at(values: Tensor, positions: Tensor) -> Tensor:
    """Return the rows of `values`, (examples, length, 3), at positions, (examples, n)."""
    return values.gather(1, positions[:, :, None].expand(-1, -1, values.shape[2]))


class VerifierEvaluator(ExampleEvaluator[EncodedExample]):
    """Measures a verifier on development examples."""

    columns = 7  # logits, and right and known labels of sentences and of tokens
    counts: ClassVar = {"sentences": 3, "tokens": 5}
    score = "macro_f1"

    def __init__(
        self,
        dev: ExampleSet[EncodedExample],
        encoder: EvidenceEncoder,
        max_tokens: int,
        accelerator: Accelerator,
    ) -> None:
        super().__init__(dev, max_tokens, accelerator)
        self._encoder = encoder

    def _rows(self, module: VerifierLoss, items: Sequence[EncodedExample]) -> Tensor:
        batch = self._moved(collate(items, self._encoder))
        whole, sentences, tokens = module.scores(batch)
        counts = (
            *right_and_known(sentences, batch.sentences, UNKNOWN),
            *right_and_known(tokens, batch.token_labels, UNKNOWN),
        )
        return torch.cat([whole, torch.stack(counts, dim=1)], dim=1)


class VerifierProgram(ExampleProgram[EncodedExample]):
    """Trains a verifier on examples."""

    product = "verifier"
    loss_kinds = ("verifier",)

    def __init__(self, config: VerifierConfig, accelerator: Accelerator, _: ExitStack) -> None:
        self.start = start = Path(config.start)
        if not (start / "config.json").is_file():
            raise AdmiralError(
                f"start: {start}: there is no model; give the directory of an encoder or of a "
                f"verifier, or get one with python -m training base {start} --from NAME"
            )
        try:
            is_verifier = (start / HEADS).is_file()
            model, self._tokenizer = (
                read_model(start) if is_verifier else new_model(start, config.seed)
            )
            if accelerator.device.type == "cpu":
                # Its backward pass is faster there.
                model.classifier.set_attn_implementation("eager")
            self._encoder = encoder = EvidenceEncoder.of(self._tokenizer, config.max_length)
        except ValueError as error:
            raise AdmiralError(str(error)) from error
        origin = SourceFile.of("start from", start / "model.safetensors")
        read = partial(read_example_set, encoder=encoder)
        super().__init__(config, read, [origin], {"start": origin.sha256})
        self.module: VerifierLoss = VerifierLoss(model, config.dropout)
        self.groups = parameter_groups(
            self.module, model.encoder_parameters(), config.lr, config.head_lr
        )
        if self._dev is not None:
            tokens = config.batch_tokens
            self._evaluator = VerifierEvaluator(self._dev, encoder, tokens, accelerator)
            source = config.best_metric.partition("/")[0]
            if "/" in config.best_metric and source not in self._evaluator.sources:
                raise AdmiralError(
                    f"{config.dev}: holds no examples for {config.best_metric!r}; its sources are "
                    f"{', '.join(self._evaluator.sources)}"
                )

    def collate(self, items: Any) -> ExampleBatch:
        """Return a padded batch."""
        return collate(items, self._encoder)

    def card(self, state: TrainingState, devices: str) -> str:
        """Return the model card."""
        introduction = (
            f"A verifier for AdMIRaL {admiral.__version__}, started from {self.start.name}: it "
            "reads a claim with up to six titled sentences of evidence, and estimates how likely "
            "the evidence entails the claim, contradicts it, or does neither. "
            f"`{HEADS}` holds two more heads, which say the same of each sentence and of each "
            "token of the claim."
        )
        return self._card(state, devices, introduction, "natural-language-inference")

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        length = self._config.max_length
        write_model(folder, self.module.model, self._tokenizer, dtype, length)
