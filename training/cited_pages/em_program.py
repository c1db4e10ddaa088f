"""Training on cited pages: what the verifier and the encoder of passages have in common."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from huggingface_hub import ModelCardData
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError
from training.cited_pages.em_losses import Strategy, em_loss
from training.cited_pages.em_settings import EmConfig
from training.data.cited_passages import CitedPassages, read_cited_passages
from training.loop.batch_loading import moved
from training.loop.loop_settings import values_of
from training.loop.run_files import SourceFile, TrainingState, markdown_table, render_card
from training.loop.training_loop import Program

_FIXED = (
    *("seed", "batch_claims", "max_length", "strategy", "sharpness", "scale", "shared_negatives"),
    "dropout",
)
_SELECTION = ("best_metric", "keep")
# Local paths, and settings that do not change the weights.
_OMITTED = {"out", "device", "tracker", "log_every", "save_every", "start", "pairs", "dev"}


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """The scores of the passages of claims.

    Attributes
    ----------
    scores
        Scores, (any,).
    positives, negatives
        Positions in `scores` of the passages of each claim.
    """

    scores: Tensor
    positives: list[list[int]]
    negatives: list[list[int]]


class EmModule(nn.Module, ABC):
    """A model that scores the passages of claims, with its loss."""

    def __init__(self, config: EmConfig) -> None:
        super().__init__()
        self._config = config

    def forward(self, batch: Any, claims: int) -> Tensor:
        """Return the mean loss of a batch, or the share of a part of one in it.

        Parameters
        ----------
        claims
            Number of claims of the whole batch.
        """
        scored = self.scored(batch)
        return self.loss(scored) * len(scored.positives) / claims

    def loss(self, scored: ScoredBatch) -> Tensor:
        """Return the mean loss of claims."""
        return em_loss(
            scored.scores,
            scored.positives,
            scored.negatives,
            cast(Strategy, self._config.strategy),
            sharpness=self._config.sharpness,
        )

    @abstractmethod
    def scored(self, batch: Any) -> ScoredBatch:
        """Return the scores of a batch."""


class EmProgram(Program):
    """Trains a model on claims with the passages of their page and of others.

    Raises
    ------
    AdmiralError
        For bad input.
    """

    reported_group = 0
    lengths = "max_length"
    introduction: ClassVar[str]
    pipeline_tag: ClassVar[str]
    module: EmModule

    def __init__(self, config: EmConfig, device: torch.device) -> None:
        self._config, self._device = config, device
        self.start = start = Path(config.start)
        for name in ("config.json", "model.safetensors"):
            if not (start / name).is_file():
                raise AdmiralError(
                    f"start: {start}: there is no {name}; give the directory of an encoder or "
                    "of a verifier"
                )
        self._train = _claims(Path(config.pairs), "pairs")
        self._dev = _claims(Path(config.dev), "dev") if config.dev else []
        self._files = [SourceFile.of("train", Path(config.pairs), {"claims": len(self._train)})]
        if config.dev:
            counts = {"claims": len(self._dev)}
            self._files.append(SourceFile.of("evaluate", Path(config.dev), counts))
        self._base = SourceFile.of("start from", start / "model.safetensors")
        self.fixed = values_of(config, _FIXED) | {
            "start": self._base.sha256,
            "pairs": self._files[0].sha256,
        }
        self.selection = values_of(config, _SELECTION) | {
            "dev": self._files[1].sha256 if config.dev else None
        }
        self.summary = f"claims: {len(self._train):,}"
        self._chosen: list[int] = []  # the best passage of each dev claim at the last evaluation

    def batches(self) -> Iterator[list[CitedPassages]]:
        """Yield the claims of batches forever, epoch after epoch."""
        size, epoch = self._config.batch_claims, 0
        while True:
            order = list(self._train)
            random.Random(f"{self._config.seed} {epoch}").shuffle(order)
            for first in range(0, len(order), size):
                yield order[first : first + size]
            epoch += 1

    def counts(self, items: Any) -> int:
        """Return the number of claims."""
        return len(items)

    def cost(self, items: Any) -> int:
        """Return the number of passages of a batch."""
        return sum(len(item.positives) + len(item.negatives) for item in items)

    def measure(self) -> dict[str, float]:
        """Return loss, accuracy, and the share of claims whose chosen passage has changed."""
        losses, right, chosen = 0.0, 0, []
        size = self._config.batch_claims
        self.module.eval()
        with torch.no_grad():
            for first in range(0, len(self._dev), size):
                items = self._dev[first : first + size]
                scored = self.module.scored(moved(self.collate(items), self._device))
                losses += float(self.module.loss(scored)) * len(items)
                for own, others in zip(scored.positives, scored.negatives, strict=True):
                    good = scored.scores[own]
                    chosen.append(int(good.argmax()))
                    right += bool(good.max() > scored.scores[others].max())
        self.module.train()
        count = len(self._dev)
        before, self._chosen = self._chosen, chosen
        changed = sum(a != b for a, b in zip(before, chosen, strict=False))
        values = {"loss": losses / count, "accuracy": right / count}
        return values | ({"changed": changed / count} if before else {})

    def card(self, state: TrainingState, devices: str) -> str:
        """Return the model card: use, files, scores and settings."""
        config = self._config
        data = ModelCardData(library_name="transformers", pipeline_tag=self.pipeline_tag)
        introduction = [
            f"{self.introduction}, trained by AdMIRaL {admiral.__version__} on cited pages, from "
            f"{self.start.name}."
        ]
        files = [
            (f.name, f.role, ", ".join(f"{n:,} {name}" for name, n in f.samples.items()), f.sha256)
            for f in [self._base, *self._files]
        ]
        return render_card(
            data,
            config,
            state,
            devices,
            introduction,
            list(markdown_table(("file", "for", "holds", "sha256"), files)),
            "on all development claims",
            {key: value for key, value in asdict(config).items() if key not in _OMITTED},
        )


def _claims(path: Path, name: str) -> list[CitedPassages]:
    claims = read_cited_passages(path)
    if not claims:
        raise AdmiralError(f"{name}: {path}: holds no claims")
    return claims
