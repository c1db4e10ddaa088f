"""Training on citations of which only the cited page is known, not the passage that supports them.

A verifier and an encoder of passages learn from the same file of claims with the passages of their
page and others, by expectation maximisation. The passages of the cited page are the positives of a
claim, other passages its negatives. The E step weights the positives by the current scores, without
a gradient; the M step is the negative log-likelihood of each positive against the negatives alone
(Petroni et al., 2023): the other positives are not in its denominator.

The verifier ranks passages by their log-odds of entailment. The encoder learns as in DPR (Karpukhin
et al., 2020), but one encoder reads claims and passages, and a text is the mean of its states: the
form that knowledge bases store. SIDE has two encoders, and the state of the first token.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

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
from proofs.verifier.classifier_verifier import EvidenceModel, pad_inputs, write_model
from training.data.records import read_records
from training.loop import Count, Dropout, LoopSettings, MaxLength, Rate
from training.loop.run_files import Card, SourceFile
from training.loop.training_loop import Program, moved, parameter_groups
from training.verification.verifier_program import VerifierLoss, open_start
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
    positives: Tensor,
    negatives: Tensor,
    strategy: Strategy,
    *,
    sharpness: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the mean loss of claims.

    - `scores`: of each claim and passage, (claims, passages).
    - `positives`, `negatives`: whether a passage is of the cited page of a claim, in the order of
      the page, and whether it is compared with them; a claim needs one of each, (claims, passages).
    - `strategy`: how positives are weighted.
    - `sharpness`: factor of the scores in the weights of ``soft``; with a large one, it is
      ``hard``.
    - `generator`: source of randomness for ``random``.
    """
    weights = positive_weights(
        scores, positives, strategy, sharpness=sharpness, generator=generator
    )
    against = scores.masked_fill(~negatives, -torch.inf).logsumexp(1, keepdim=True)
    # log(exp(score) + sum of exp(negatives)) for each positive by itself.
    losses = torch.logaddexp(scores, against) - scores
    return (weights * losses).sum(1).mean()


def positive_weights(
    scores: Tensor,
    positives: Tensor,
    strategy: Strategy,
    *,
    sharpness: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the weights of passages, which sum to 1 over the positives and have no gradient.

    See `em_loss` for the parameters.
    """
    fixed = scores.detach()
    if strategy == "soft":
        fixed = sharpness * fixed
    elif strategy == "uniform":
        fixed = torch.zeros_like(fixed)
    elif strategy == "first":
        fixed = -torch.arange(fixed.shape[1], device=fixed.device).expand_as(fixed).float()
    elif strategy == "random":
        fixed = torch.rand(fixed.shape, generator=generator).to(fixed.device)
    fixed = fixed.masked_fill(~positives, -torch.inf)
    if strategy in ("soft", "uniform"):
        return fixed.softmax(1)
    return torch.zeros_like(scores).scatter(1, fixed.argmax(1, keepdim=True), 1.0)


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
    # whether a passage is of the cited page of a claim, and of its others, (claims, passages)
    positives: Tensor
    negatives: Tensor
    # segments of inputs that hold claim and passage, (passages, length), or else inputs of the
    # queries, (claims, length)
    segments: Tensor
    query_ids: Tensor
    query_mask: Tensor


class EmModule(nn.Module):
    """A model with its loss.

    `score`: returns the scores that a model gives to a batch, (claims, passages).
    """

    def __init__(
        self, model: Any, score: Callable[[Any, PassageBatch], Tensor], config: EmConfig
    ) -> None:
        super().__init__()
        self.model, self._score, self._config = model, score, config

    def scores(self, batch: PassageBatch) -> Tensor:
        """Return the scores of a batch, (claims, passages)."""
        return self._score(self.model, batch)

    def loss(self, scores: Tensor, batch: PassageBatch) -> Tensor:
        """Return the mean loss of claims."""
        config = self._config
        sides = batch.positives, batch.negatives
        return em_loss(scores, *sides, config.strategy, sharpness=config.sharpness)

    def forward(self, batch: PassageBatch) -> Tensor:
        """Return the mean loss of a batch."""
        return self.loss(self.scores(batch), batch)


def entailment_odds(model: EvidenceModel, batch: PassageBatch) -> Tensor:
    """Return the log-odds of entailment by a verifier, which reads a passage with its own claim."""
    logits = model(batch.ids, batch.mask, batch.segments)[0].float()
    entailed = LABELS.index("entailment")
    others = [at for at in range(len(LABELS)) if at != entailed]
    odds: Tensor = logits[:, entailed] - logits[:, others].logsumexp(1)
    return odds.expand(len(batch.positives), -1)


def cosines(model: PreTrainedModel, batch: PassageBatch) -> Tensor:
    """Return the cosines of claims and passages by an encoder with mean pooling."""
    queries, passages = (
        normalize((states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), dim=-1)
        for ids, mask in ((batch.query_ids, batch.query_mask), (batch.ids, batch.mask))
        for states in [model(input_ids=ids, attention_mask=mask).last_hidden_state.float()]
    )
    similarity: Tensor = queries @ passages.T
    return similarity


# Settings that all parts of a run must agree on.
_FIXED = {
    *("seed", "batch_claims", "max_length", "strategy", "sharpness", "scale", "shared_negatives"),
    "dropout",
}


class EmProgram(Program):
    """Trains a model on claims with the passages of their page and of others."""

    settings = EmConfig
    introduction: ClassVar[str]
    pipeline_tag: ClassVar[str]
    can_share_negatives: ClassVar[bool] = False  # whether it scores each claim with each passage
    module: EmModule

    def __init__(self, config: EmConfig, accelerator: Accelerator, _: ExitStack) -> None:
        self._config, self._device = config, accelerator.device
        self.start = start = Path(config.start)
        self._open()
        self._train, files = self._read("train", config.pairs)
        self._dev: list[CitedPassages] = []
        if config.dev:
            self._dev, dev_files = self._read("evaluate", config.dev)
            files += dev_files
        base = SourceFile.of("start from", start / "model.safetensors")
        self.fixed = config.model_dump(include=_FIXED) | {
            "start": base.sha256,
            "pairs": files[0].sha256,
        }
        self.selection = config.model_dump(include={"best_metric", "keep"}) | {
            "dev": files[1].sha256 if config.dev else None
        }
        self.summary = f"claims: {len(self._train):,}"
        self.card = Card(
            ModelCardData(library_name="transformers", pipeline_tag=self.pipeline_tag),
            [
                f"{self.introduction}, trained by AdMIRaL {admiral.__version__} on cited pages, "
                f"from {start.name}."
            ],
            [base, *files],
            "on all development claims",
        )

    def _read(self, role: str, path: str) -> tuple[list[CitedPassages], list[SourceFile]]:
        claims = read_cited_passages(Path(path))
        if not claims:
            raise AdmiralError(f"{path}: holds no claims")
        return claims, [SourceFile.of(role, Path(path), {"claims": len(claims)})]

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
        own = torch.tensor([number for number, _, _ in rows]) == torch.arange(len(items))[:, None]
        positives = own & torch.tensor([is_positive for _, is_positive, _ in rows])
        is_shared = self.can_share_negatives and self._config.shared_negatives
        none = torch.zeros(0, dtype=torch.long)
        tensors = {"segments": none, "query_ids": none, "query_mask": none}
        return PassageBatch(
            positives=positives,
            negatives=~positives if is_shared else own & ~positives,
            **tensors | self._inputs(items, rows),
        )

    def measure(self) -> dict[str, float]:
        """Return the loss, and the share of claims whose best passage is of the cited page."""
        losses, right = 0.0, 0
        size = self._config.batch_claims
        self.module.eval()
        with torch.no_grad():
            for first in range(0, len(self._dev), size):
                items = self._dev[first : first + size]
                batch = moved(self.collate(items), self._device)
                scores = self.module.scores(batch)
                losses += float(self.module.loss(scores, batch)) * len(items)
                good, bad = (
                    scores.masked_fill(~side, -torch.inf).amax(1)
                    for side in (batch.positives, batch.negatives)
                )
                right += int((good > bad).sum())
        self.module.train()
        return {"loss": losses / len(self._dev), "accuracy": right / len(self._dev)}


class SourceVerifierProgram(EmProgram):
    """Trains a verifier."""

    product = "verifier"
    loss_kinds = ("verifier",)
    introduction = "A verifier of sources: how likely a passage supports a claim"
    pipeline_tag = "text-classification"

    def _open(self) -> None:
        config = self._config
        model, self._tokenizer, self._encoder = open_start(
            self.start, config.seed, config.max_length
        )
        model = VerifierLoss(model, config.dropout).model  # which has the dropout
        self.module = EmModule(model, entailment_odds, config)
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
        model = self.module.model
        write_model(folder, model, self._tokenizer, dtype, self._config.max_length)


class DenseProgram(EmProgram):
    """Trains an encoder of claims and passages."""

    product = "encoder"
    loss_kinds = ("encoder",)
    introduction = "An encoder of claims and of passages of sources, with mean pooling"
    pipeline_tag = "sentence-similarity"
    can_share_negatives = True

    def _open(self) -> None:
        if not (self.start / "config.json").is_file():
            raise AdmiralError(
                f"start: {self.start}: there is no config.json; give the directory of an encoder"
            )
        with quiet_transformers():
            self._tokenizer = AutoTokenizer.from_pretrained(self.start, local_files_only=True)
            # Exported weights are in half precision; training needs full precision.
            model = AutoModel.from_pretrained(
                self.start, local_files_only=True, dtype=torch.float32
            )
        scale = self._config.scale
        self.module = EmModule(model, lambda *both: scale * cosines(*both), self._config)
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
        model = self.module.model
        weights = {
            k: v.detach().to("cpu", dtype).contiguous() for k, v in model.state_dict().items()
        }
        with quiet_transformers():
            model.save_pretrained(folder, state_dict=weights)
            self._tokenizer.save_pretrained(folder)
