"""Training on citations of which only the cited page is known, not the passage that supports them.

A verifier and an encoder of passages learn from the same file of claims with the passages of their
page and others, by expectation maximisation. The passages of the cited page are the positives of a
claim, other passages its negatives. The E step weights the positives by the current scores, without
a gradient; the M step is the negative log-likelihood of each positive against the negatives alone
(Petroni et al., 2023): the other positives are not in its denominator.

The verifier ranks passages by their log-odds of entailment. The encoder learns as in DPR (Karpukhin
et al., 2020), but one encoder reads claims and passages, and a text is the mean of its states: the
form that libraries store. SIDE has two encoders, and the state of the first token.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args

import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

import admiral
from admiral.errors import AdmiralError
from admiral.io.sentence_splitter import split_sentences
from admiral.settings import Name
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
from training.data.records import read_records
from training.loop import Count, Dropout, LoopSettings, MaxLength, Rate, values_of
from training.loop.model_card import SourceFile, markdown_table, render_card
from training.loop.run_files import TrainingState
from training.loop.training_loop import Program, moved, parameter_groups
from training.verification.verifier_program import VerifierLoss
from trie.seq2seq import quiet_transformers

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
Passages = Annotated[tuple[Titled, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class CitedPassages:
    """A claim with the passages that training compares."""

    id: str
    page: str  # title of its page
    claim: str  # as verifiers read it
    query: str  # the query that sources are searched by
    positives: Passages  # of the cited page, in its order
    negatives: Passages  # of other pages


def read_cited_passages(path: Path) -> list[CitedPassages]:
    """Read a file; raise RecordError for a record that is not one, with file, line and field."""
    remedy = "Give a file that training.citation_pairs has written"
    return list(read_records(path, CitedPassages, remedy))


@dataclass(frozen=True, slots=True)
class PassageBatch:
    """The passages of claims."""

    ids: Tensor  # inputs of the model, (passages, length)
    mask: Tensor
    claims: Tensor  # number of the claim of each passage, (passages,)
    positive: Tensor  # whether it is of the cited page, (passages,)
    # segments of inputs that hold claim and passage, (passages, length), or else inputs of the
    # queries, (claims, length)
    segments: Tensor
    query_ids: Tensor
    query_mask: Tensor


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """Scores of passages, and the positions in them of those of each claim."""

    scores: Tensor
    positives: list[list[int]]
    negatives: list[list[int]]


class EmModule(nn.Module):
    """A model that scores the passages of claims, with its loss."""

    def __init__(self, config: EmConfig) -> None:
        super().__init__()
        self._config = config

    def forward(self, batch: PassageBatch) -> Tensor:
        """Return the mean loss of a batch."""
        return self.loss(self.scored(batch))

    def loss(self, scored: ScoredBatch) -> Tensor:
        """Return the mean loss of claims."""
        lists = scored.positives, scored.negatives
        config = self._config
        return em_loss(scored.scores, *lists, config.strategy, sharpness=config.sharpness)

    @abstractmethod
    def scored(self, batch: PassageBatch) -> ScoredBatch:
        """Return the scores of a batch."""


class SourceVerifierLoss(EmModule):
    """A verifier with its loss."""

    def __init__(self, model: EvidenceModel, config: EmConfig) -> None:
        super().__init__(config)
        self.model = VerifierLoss(model, config.dropout).model  # which has the dropout

    def scored(self, batch: PassageBatch) -> ScoredBatch:
        """Return the log-odds of entailment."""
        logits = self.model(batch.ids, batch.mask, batch.segments)[0].float()
        entailed = LABELS.index("entailment")
        others = [at for at in range(len(LABELS)) if at != entailed]
        scores = logits[:, entailed] - logits[:, others].logsumexp(1)
        lists: tuple[list[list[int]], ...] = tuple(
            [[] for _ in range(int(batch.claims.max()) + 1)] for _ in range(2)
        )
        rows = zip(batch.claims.tolist(), batch.positive.tolist(), strict=True)
        for at, (claim, is_positive) in enumerate(rows):
            lists[not is_positive][claim].append(at)
        return ScoredBatch(scores, *lists)


class DenseLoss(EmModule):
    """An encoder with its loss."""

    def __init__(self, model: PreTrainedModel, config: EmConfig) -> None:
        super().__init__(config)
        self.model = model

    def scored(self, batch: PassageBatch) -> ScoredBatch:
        """Return the scaled cosines of all claims and passages, row by row."""
        queries = self._vectors(batch.query_ids, batch.query_mask)
        passages = self._vectors(batch.ids, batch.mask)
        owners, good = batch.claims.tolist(), batch.positive.tolist()
        width = len(owners)
        positives, negatives = [], []
        for claim in range(len(queries)):
            own = [at for at in range(width) if owners[at] == claim]
            right = {at for at in own if good[at]}
            shared = range(width) if self._config.shared_negatives else own
            positives.append([claim * width + at for at in sorted(right)])
            negatives.append([claim * width + at for at in shared if at not in right])
        scores = self._config.scale * queries @ passages.T
        return ScoredBatch(scores.flatten(), positives, negatives)

    def _vectors(self, ids: Tensor, mask: Tensor) -> Tensor:
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask[:, :, None].float()
        return normalize((states * weights).sum(1) / weights.sum(1), dim=-1)


_FIXED = (
    *("seed", "batch_claims", "max_length", "strategy", "sharpness", "scale", "shared_negatives"),
    "dropout",
)
_SELECTION = ("best_metric", "keep")
# Local paths, and settings that do not change the weights.
_OMITTED = {
    "out",
    "device",
    "tracker",
    "log_every",
    "save_every",
    "push_to_hub",
    "start",
    "pairs",
    "dev",
}


class EmProgram(Program):
    """Trains a model on claims with the passages of their page and of others."""

    reported_group = 0
    introduction: ClassVar[str]
    pipeline_tag: ClassVar[str]
    module: EmModule

    def __init__(self, config: EmConfig, accelerator: Accelerator, _: ExitStack) -> None:
        self._config, self._device = config, accelerator.device
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
        self._open()

    @abstractmethod
    def _open(self) -> None:
        """Set `module` and `groups`."""

    @abstractmethod
    def _inputs(
        self, items: Sequence[CitedPassages], rows: Sequence[tuple[int, bool, Titled]]
    ) -> dict[str, Tensor]:
        """Return the tensors of a batch; `rows` are its passages with the number of their claim."""

    def batches(self) -> Iterator[list[CitedPassages]]:
        """Yield the claims of batches forever, epoch after epoch."""
        size, epoch = self._config.batch_claims, 0
        while True:
            order = list(self._train)
            random.Random(f"{self._config.seed} {epoch}").shuffle(order)
            for first in range(0, len(order), size):
                yield order[first : first + size]
            epoch += 1

    def collate(self, items: Sequence[CitedPassages]) -> PassageBatch:
        """Return a padded batch; what does not fit the model is cut."""
        rows = [
            (number, is_positive, passage)
            for number, item in enumerate(items)
            for is_positive, passages in ((True, item.positives), (False, item.negatives))
            for passage in passages
        ]
        none = torch.zeros(0, dtype=torch.long)
        tensors = {"segments": none, "query_ids": none, "query_mask": none}
        return PassageBatch(
            claims=torch.tensor([number for number, _, _ in rows]),
            positive=torch.tensor([is_positive for _, is_positive, _ in rows]),
            **tensors | self._inputs(items, rows),
        )

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


class SourceVerifierProgram(EmProgram):
    """Trains a verifier."""

    product = "verifier"
    loss_kinds = ("verifier",)
    introduction = "A verifier of sources: how likely a passage supports a claim"
    pipeline_tag = "text-classification"
    module: SourceVerifierLoss

    def _open(self) -> None:
        config = self._config
        try:
            is_verifier = (self.start / HEADS).is_file()
            model, self._tokenizer = (
                read_model(self.start) if is_verifier else new_model(self.start, config.seed)
            )
            self._encoder = EvidenceEncoder.of(self._tokenizer, config.max_length)
        except ValueError as error:
            raise AdmiralError(str(error)) from error
        self.module = SourceVerifierLoss(model, config)
        encoder = model.encoder_parameters()
        self.groups = parameter_groups(self.module, encoder, config.lr, config.head_lr)

    def _inputs(
        self, items: Sequence[CitedPassages], rows: Sequence[tuple[int, bool, Titled]]
    ) -> dict[str, Tensor]:
        evidence = [
            [(title, sentence) for sentence in split_sentences(text) or [text]]
            for _, _, (title, text) in rows
        ]
        inputs = self._encoder.encode([items[number].claim for number, _, _ in rows], evidence)
        ids, segments = [one.ids for one in inputs], [one.segments for one in inputs]
        padded = pad_inputs(ids, segments, self._encoder.special.pad)
        return dict(zip(("ids", "mask", "segments"), padded, strict=True))

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the verifier."""
        write_model(folder, self.module.model, self._tokenizer, dtype, self._config.max_length)


class DenseProgram(EmProgram):
    """Trains an encoder of claims and passages."""

    product = "encoder"
    loss_kinds = ("encoder",)
    introduction = "An encoder of claims and of passages of sources, with mean pooling"
    pipeline_tag = "sentence-similarity"
    module: DenseLoss

    def _open(self) -> None:
        with quiet_transformers():
            self._tokenizer = AutoTokenizer.from_pretrained(self.start, local_files_only=True)
            # Exported weights are in half precision; training needs full precision.
            model = AutoModel.from_pretrained(
                self.start, local_files_only=True, dtype=torch.float32
            )
        self.module = DenseLoss(model, self._config)
        self.groups = [{"params": list(self.module.parameters()), "lr": self._config.lr}]

    def _inputs(
        self, items: Sequence[CitedPassages], rows: Sequence[tuple[int, bool, Titled]]
    ) -> dict[str, Tensor]:
        query_ids, query_mask = self._encoded([item.query for item in items])
        ids, mask = self._encoded([" ".join(filter(None, passage)) for _, _, passage in rows])
        return {"ids": ids, "mask": mask, "query_ids": query_ids, "query_mask": query_mask}

    def _encoded(self, texts: list[str]) -> tuple[Tensor, Tensor]:
        options = {"truncation": True, "max_length": self._config.max_length, "padding": True}
        encoded = self._tokenizer(texts, return_tensors="pt", **options)
        return encoded["input_ids"], encoded["attention_mask"]

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the encoder in the hub's layout."""
        weights = {
            name: tensor.detach().to("cpu", dtype).contiguous()
            for name, tensor in self.module.model.state_dict().items()
        }
        with quiet_transformers():
            self.module.model.save_pretrained(folder, state_dict=weights)
            self._tokenizer.save_pretrained(folder)


def _claims(path: Path, name: str) -> list[CitedPassages]:
    claims = read_cited_passages(path)
    if not claims:
        raise AdmiralError(f"{name}: {path}: holds no claims")
    return claims
