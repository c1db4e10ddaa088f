"""Training on citations of which only the cited page is known, not the passage that supports them.

A verifier and an encoder of passages learn from the same file of claims with the passages of their
page and others, by expectation maximisation. The passages of the cited page are the positives of a
claim, other passages its negatives. The E step weights the positives by the current scores, without
a gradient; the M step is the negative log-likelihood of each positive against the negatives alone
(Petroni et al., 2023): the other positives are not in its denominator.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import torch
from huggingface_hub import ModelCardData
from torch import Tensor, nn

import admiral
from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import json_objects
from admiral.settings import Name
from admiral.storage.atomic_files import encode_record, write_atomically
from training.loop import Count, Dropout, LoopSettings, MaxLength, Rate, values_of
from training.loop.model_card import SourceFile, markdown_table, render_card
from training.loop.run_files import TrainingState
from training.loop.training_loop import Program, moved

#: How the positives of a claim are weighted: ``hard`` and ``soft`` are EM, the others its controls.
Strategy = Literal["hard", "soft", "first", "random", "uniform"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


class EmConfig(LoopSettings):
    """Settings of a run that trains a verifier or an encoder on cited pages."""

    headings: ClassVar[dict[str, str]] = {
        "start": "Files",
        "strategy": "Loss",
        "max_length": "Examples",
        "batch_claims": "Steps and batches",
        "lr": "Optimisation",
    }
    start: Name = "runs/bge-small"
    """Directory of the encoder or verifier to start from."""
    pairs: Name = "runs/citation-pairs.jsonl"
    """File of claims with passages, written by `training.citation_pairs`."""
    out: Name = "runs/citation-model"
    strategy: Strategy = "hard"
    """Passage of the cited page that is taken as right.

    - `hard`: the one with the highest score, as in the paper
    - `soft`: all, by the softmax of their scores
    - `first`: the first
    - `random`: a random one
    - `uniform`: all, equally
    """
    sharpness: Rate = 1.0
    """Factor of the scores in the weights of `soft`; large ones are `hard`."""
    scale: Rate = 20.0
    """Factor of the cosines that are the scores of an encoder."""
    shared_negatives: bool = True
    """Whether the passages of the other claims of a batch are negatives of an encoder."""
    max_length: MaxLength = 384
    """Maximum number of tokens of an input."""
    batch_claims: Count = 4
    """Claims of a batch, each with all its passages."""
    lr: Rate = 2e-5
    """Peak learning rate of the encoder."""
    head_lr: Rate = 1e-4
    """Peak learning rate of the heads of a verifier."""
    dropout: Dropout = 0.1
    """Dropout of hidden states of a verifier."""
    best_metric: Literal["accuracy", "loss"] = "accuracy"
    """Metric that decides which state is the best.

    - `accuracy`: share of claims whose best passage is of the cited page
    - `loss`: the loss
    """


def em_loss(
    scores: Tensor,
    positives: Sequence[Sequence[int]],
    negatives: Sequence[Sequence[int]],
    strategy: Strategy,
    *,
    sharpness: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the mean loss of claims.

    `scores`: scores of passages, (passages,). `positives`, `negatives`: positions of the passages
    of each claim, those of the cited page in their order. A claim needs one of each. `strategy`:
    how positives are weighted. `sharpness`: factor of the scores in the weights of ``soft``; with a
    large one, it is ``hard``. `generator`: source of randomness for ``random``.

    Raises ValueError if a claim has no positives or no negatives.
    """
    losses = []
    for own, others in zip(positives, negatives, strict=True):
        if not own or not others:
            raise ValueError("a claim has no positives or no negatives; leave it out")
        good, bad = scores[list(own)], scores[list(others)]
        weights = positive_weights(good, strategy, sharpness=sharpness, generator=generator)
        # log(exp(good) + sum of exp(bad)) for each positive by itself.
        total = torch.logaddexp(good, bad.logsumexp(0))
        losses.append((weights * (total - good)).sum())
    return torch.stack(losses).mean()


def positive_weights(
    scores: Tensor,
    strategy: Strategy,
    *,
    sharpness: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the weights of the positives of a claim, which sum to 1 and have no gradient.

    `scores`: scores of the positives in the order of the page, (positives,). `strategy`,
    `sharpness`, `generator`: see `em_loss`.
    """
    fixed = scores.detach()
    if strategy == "soft":
        return (sharpness * fixed).softmax(0)
    if strategy == "uniform":
        return torch.full_like(fixed, 1 / len(fixed))
    if strategy == "hard":
        chosen = int(fixed.argmax())
    elif strategy == "first":
        chosen = 0
    else:
        chosen = int(torch.randint(len(fixed), (1,), generator=generator))
    weights = torch.zeros_like(fixed)
    weights[chosen] = 1.0
    return weights


#: Title and text of a passage.
Titled = tuple[str, str]
_REMEDY = "Give a file that training.citation_pairs has written"


@dataclass(frozen=True, slots=True)
class CitedPassages:
    """A claim with the passages that training compares.

    Attributes
    ----------
    page
        Title of its page.
    claim
        The claim, as verifiers read it.
    query
        The query that sources are searched by.
    positives
        Passages of the cited page, in its order.
    negatives
        Passages of other pages.
    """

    id: str
    page: str
    claim: str
    query: str
    positives: tuple[Titled, ...]
    negatives: tuple[Titled, ...]


def write_cited_passages(path: Path, items: Iterable[CitedPassages]) -> int:
    """Write a file, which appears when it is complete, and return the number of claims."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for item in items:
            count += 1
            yield encode_record(asdict(item))

    write_atomically(path, lines())
    return count


def read_cited_passages(path: Path) -> list[CitedPassages]:
    """Read a file.

    Raises RecordError for a record that is not one, with file, line and field. Raises AdmiralError
    if the file cannot be read.
    """
    items = []
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        items.append(
            CitedPassages(
                id=_text(record, "id", where),
                page=_text(record, "page", where),
                claim=_text(record, "claim", where),
                query=_text(record, "query", where),
                positives=_passages(record, "positives", where),
                negatives=_passages(record, "negatives", where),
            )
        )
    return items


def _text(record: dict[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise RecordError(where, name, "is missing, or is no text", _REMEDY)
    return value


def _passages(record: dict[str, Any], name: str, where: str) -> tuple[Titled, ...]:
    value = record.get(name)
    if not isinstance(value, list) or not value or not all(_is_titled(each) for each in value):
        raise RecordError(where, name, "is not a list of titles with texts", _REMEDY)
    return tuple((title, text) for title, text in value)


def _is_titled(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and all(isinstance(each, str) for each in value)
    )


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

    def forward(self, batch: Any) -> Tensor:
        """Return the mean loss of a batch."""
        return self.loss(self.scored(batch))

    def loss(self, scored: ScoredBatch) -> Tensor:
        """Return the mean loss of claims."""
        return em_loss(
            scored.scores,
            scored.positives,
            scored.negatives,
            self._config.strategy,
            sharpness=self._config.sharpness,
        )

    @abstractmethod
    def scored(self, batch: Any) -> ScoredBatch:
        """Return the scores of a batch."""


class EmProgram(Program):
    """Trains a model on claims with the passages of their page and of others.

    Raises AdmiralError for bad input.
    """

    reported_group = 0
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
            {key: value for key, value in config.model_dump().items() if key not in _OMITTED},
        )


def _claims(path: Path, name: str) -> list[CitedPassages]:
    claims = read_cited_passages(path)
    if not claims:
        raise AdmiralError(f"{name}: {path}: holds no claims")
    return claims
