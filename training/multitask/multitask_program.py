"""Training of the multi-task model: its samples, its measures, its checkpoint and model card.

A checkpoint is evaluated on development samples with the parts of the system that use it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from huggingface_hub import ModelCardData

import admiral
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import ARCHITECTURES, Checkpoint, save_checkpoint
from admiral.records import Document, Sentence
from admiral.retrieval.hop_retriever import TrieHopRetriever
from admiral.retrieval.rerankers import CrossEncoderReranker, PointwiseReranker
from proofs.generation import ProofGenerator
from training.data.samples import ProveSample, RerankSample, RetrieveSample, Sample
from training.loop.run_files import Card, SourceFile
from training.loop.training_loop import Program, moved, parameter_groups
from training.multitask.multitask_model import (
    InitialCheckpoint,
    MultiTaskModel,
    open_initial_checkpoint,
)
from training.multitask.multitask_settings import METRICS, TrainConfig
from training.multitask.sample_batches import (
    KINDS,
    Batch,
    Examples,
    SequenceBatch,
    TrainingSet,
    collate,
    one_epoch,
    read_training_set,
)
from trie import Seq2Seq

_BATCH_SIZE = 32  # samples that are decoded together
T = TypeVar("T")

# Sum over samples and number of samples of each metric.
MetricSums = dict[str, tuple[float, float]]


class Evaluator:
    """Measure each task of a run with the stage that uses its checkpoint.

    `kb`: knowledge base whose titles may be generated; None without retrieval samples. `share`:
    number of this process and number of processes, which share the samples.
    """

    def __init__(
        self,
        start: InitialCheckpoint,
        samples: Sequence[Sample],
        kb: KnowledgeBase | None,
        config: TrainConfig,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._start, self._kb, self._config, self._share = start, kb, config, share
        self._samples: dict[str, list[Any]] = {
            task: [sample for sample in samples if sample.task == task] for task in METRICS
        }
        if kb is not None:
            found = [
                sample
                for sample in self._samples["retrieve"]
                if all(kb.row(target.title) is not None for target in sample.targets())
            ]
            if not found:
                raise AdmiralError(
                    f"{config.dev}: none of its titles is in the knowledge base {config.kb!r}. "
                    "Set kb to the one that the samples were built from."
                )
            self._samples["retrieve"] = found

    @property
    def names(self) -> list[str]:
        """The metrics that the samples can measure."""
        return [name for task, own in self._samples.items() if own for name in METRICS[task]]

    def sums(self) -> MetricSums:
        """Return sums and counts of the metrics over the samples of this process."""
        dtype = torch.bfloat16 if self._config.precision == "bf16" else torch.float32
        trained = self._start.model
        if dtype is torch.bfloat16:  # a copy, since bf16 products round the weights
            trained = copy.deepcopy(trained)
        model = Seq2Seq(trained, dtype)
        sums: MetricSums = {}
        measures: dict[str, Callable[[Seq2Seq, Any], MetricSums]] = {
            "retrieve": self._retrieved,
            "rerank": self._reranked,
            "prove": self._proved,
        }
        for task, samples in self._samples.items():
            if samples:
                sums |= measures[task](model, samples[self._share[0] :: self._share[1]])
        return sums

    def _retrieved(self, model: Seq2Seq, samples: Sequence[RetrieveSample]) -> MetricSums:
        """Measure whether a gold document set is first, among the first five, or in the beams.

        Every set that a valid target stands for is gold. `retrieve_mass` is the summed probability
        of all sets in the beams.
        """
        tokens, beams, kb = self._start.tokens, self._config.eval_beams, self._kb
        assert kb is not None
        variant = "joint-docs" if self._config.target == "titles" else "ours"
        retriever = TrieHopRetriever(
            model,
            tokens,
            kb.title_trie(tokens),
            kb.title_index,
            beam_size=beams,
            title_beams=beams,
            variant=variant,
        )
        ranks: list[int | None] = []
        mass = 0.0
        for batch in _batches(samples):
            evidence = [
                [Sentence(t, n, text, 0.0) for n, (t, text) in enumerate(s.evidence)] for s in batch
            ]
            hops = [s.hop for s in batch]
            results = retriever.expand([s.claim for s in batch], evidence, hops)
            for sample, sets in zip(batch, results, strict=True):
                gold = {
                    frozenset((*(sample.evidence[i][0] for i in target.identifiers), target.title))
                    for target in sample.targets(None)
                }
                gold_ranks = (rank for rank, s in enumerate(sets) if frozenset(s.titles) in gold)
                ranks.append(next(gold_ranks, None))
                mass += sum(math.exp(document_set.score) for document_set in sets)
        found = [rank for rank in ranks if rank is not None]
        return {
            "retrieve_top1": (found.count(0), len(ranks)),
            "retrieve_top5": (sum(rank < 5 for rank in found), len(ranks)),
            "retrieve_found": (len(found), len(ranks)),
            "retrieve_mass": (mass, len(ranks)),
        }

    def _reranked(self, model: Seq2Seq, samples: Sequence[RerankSample]) -> MetricSums:
        """Measure the reciprocal rank of the first gold sentence, and recall at 5."""
        start = self._start
        kind = PointwiseReranker if start.head is None else CrossEncoderReranker
        reranker = kind(Checkpoint(start.path, model, start.tokens, start.head))
        reciprocal = recall = 0.0
        for batch in _batches(samples):
            rankings = reranker.score(
                [s.claim for s in batch],
                [[Document(d.title, d.sentences) for d in s.documents] for s in batch],
                [[Sentence(t, 0, text, 0.0) for t, text in s.evidence] for s in batch],
            )
            for sample, ranking in zip(batch, rankings, strict=True):
                gold = {(d.title, i) for d in sample.documents for i in d.relevant}
                ranks = [rank for rank, s in enumerate(ranking) if (s.title, s.index) in gold]
                reciprocal += 1 / (ranks[0] + 1) if ranks else 0.0
                recall += sum(rank < 5 for rank in ranks) / len(gold) if gold else 0.0
        return {"rerank_mrr": (reciprocal, len(samples)), "rerank_recall5": (recall, len(samples))}

    def _proved(self, model: Seq2Seq, samples: Sequence[ProveSample]) -> MetricSums:
        """Compare generated proofs with annotated ones; "insufficient" is the positive class.

        A claim for which no proof can be generated counts as insufficient.
        """
        generator = ProofGenerator(
            model, self._start.tokens, beam_size=self._config.proof_beams, batch_size=_BATCH_SIZE
        )
        proofs = generator.generate([s.claim for s in samples], [s.evidence for s in samples])
        best = [beams[0].proof if beams else None for beams in proofs]
        predicted = [proof is None or not proof.sufficient for proof in best]
        actual = [not sample.proof.sufficient for sample in samples]
        hits = sum(p and a for p, a in zip(predicted, actual, strict=True))
        correct = sum(p == a for p, a in zip(predicted, actual, strict=True))
        exact = sum(proof == s.proof for proof, s in zip(best, samples, strict=True))
        return {
            "prove_precision": (hits, sum(predicted)),
            "prove_recall": (hits, sum(actual)),
            "prove_f1": (2 * hits, sum(predicted) + sum(actual)),
            "prove_accuracy": (correct, len(samples)),
            "prove_exact": (exact, len(samples)),
        }


def metrics(sums: MetricSums) -> dict[str, float]:
    """Return metrics from the sums of all processes, and `score`, the mean of each task's first.

    A metric with a count of zero, such as precision without predictions, is zero. A loss without
    samples is left out.
    """
    values = {
        name: total / count if count else 0.0
        for name, (total, count) in sums.items()
        if count or not name.startswith("loss")
    }
    first = [values[names[0]] for names in METRICS.values() if names[0] in values]
    return {"score": sum(first) / len(first)} | values if first else values


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), _BATCH_SIZE):
        yield items[begin : begin + _BATCH_SIZE]


# Settings that decide the order of batches. All parts of a run must agree on them.
_FIXED = {
    *("hops", "target", "seed", "batch_tokens", "rerank_tokens", "max_source", "max_target"),
    *("objective", "reranker", "markers"),
}
# Settings that decide which state is best.
_SELECTION = {"best_metric", "keep", "kb", "eval_samples", "eval_beams", "proof_beams"}
_TASK_NAMES = {
    "retrieve": "hop retrieval: sentence identifiers and the title of the next document",
    "rerank": "sentence reranking, with the head in `rerank_head.safetensors`",
    "prove": "natural-logic proofs",
}
_POINTWISE = "sentence reranking, one at a time, with `--reranker pointwise`"


class MultiTaskProgram(Program):
    """Trains a multi-task model on generation and reranking batches.

    `tasks`: those of the checkpoint, some of `trie.safe_tokenizer.TASKS`.
    """

    settings = TrainConfig
    product = "checkpoint"
    loss_kinds = KINDS
    reported_group = 1  # of the decoder

    def __init__(
        self,
        config: TrainConfig,
        accelerator: Accelerator,
        stack: ExitStack,
        tasks: tuple[str, ...],
    ) -> None:
        self._config, self._accelerator = config, accelerator
        self._start = start = open_initial_checkpoint(config, tasks)
        self.start = start.path
        self._train = train = read_training_set(
            "train", config.samples, config, tasks, start.tokens
        )
        base = SourceFile.of("start from", start.path / "model.safetensors")
        files = [base, train.source]
        self._dev: TrainingSet | None = None
        if config.dev:
            self._dev = read_training_set(
                "evaluate", config.dev, config, tasks, start.tokens, config.eval_samples
            )
            files.append(self._dev.source)
            self._evaluator = self._open_evaluator(self._dev, stack)
        self.fixed = config.model_dump(include=_FIXED) | {
            "tasks": ", ".join(tasks),
            "start": base.sha256,
            "samples": train.source.sha256,
        }
        self.selection = config.model_dump(include=_SELECTION) | {
            "dev": self._dev.source.sha256 if self._dev else None
        }
        self.module: MultiTaskModel = MultiTaskModel(
            start.model, start.head, config.attention_loss_weight, config.label_smoothing
        )
        encoder = self.module.encoder_parameters()
        self.groups = parameter_groups(self.module, encoder, config.encoder_lr, config.decoder_lr)
        left_out = f"{train.left_out} left out: too long, or nothing to rank"
        self.summary = f"{train.source.content} samples{f' ({left_out})' * bool(train.left_out)}"
        names = _TASK_NAMES | ({"rerank": _POINTWISE} if start.head is None else {})
        model_type = str(start.model.config.model_type)
        is_of_hub = start.name == config.start and start.name.count("/") == 1
        self.card = Card(
            ModelCardData(
                library_name="transformers",
                tags=["fact-verification", "multi-hop-retrieval", "natural-logic", model_type],
                base_model=start.name if is_of_hub else None,
            ),
            [
                f"A {ARCHITECTURES[model_type]} sequence-to-sequence model for AdMIRaL "
                f"{admiral.__version__}, started from {start.name}. Tasks:",
                "",
                *(f"- {names[task]}" for task in tasks),
                "",
                '    admiral retrieve --model DIRECTORY "A claim."',
            ],
            files,
            f"on at most {config.eval_samples} development samples of each task",
        )

    def batches(self) -> Iterator[Examples]:
        """Yield the samples of batches forever."""
        config = self._config
        for epoch in count(config.seed):
            budgets = config.batch_tokens, config.rerank_tokens
            yield from one_epoch(self._train.examples, *budgets, epoch)

    def collate(self, items: Any) -> Batch:
        """Return a padded batch."""
        return collate(items, self._start.tokens.pad, self._start.tokens.start)

    def kind(self, batch: Any) -> str:
        """Return the name of the loss of a batch."""
        return "generation" if isinstance(batch, SequenceBatch) else "reranking"

    def measure(self) -> dict[str, float]:
        """Return the development metrics of the current weights."""
        assert self._dev is not None
        config, accelerator = self._config, self._accelerator
        batches = one_epoch(self._dev.examples, config.batch_tokens, config.rerank_tokens, 0)
        own = batches[accelerator.process_index :: accelerator.num_processes]
        losses = dict.fromkeys(KINDS, (0.0, 0))
        self.module.eval()
        with accelerator.autocast(), torch.no_grad():
            for items in own:
                batch = moved(self.collate(items), accelerator.device)
                total, samples = losses[self.kind(batch)]
                loss = float(self.module(batch))
                losses[self.kind(batch)] = (total + loss * len(items), samples + len(items))
        all_total, all_samples = map(sum, zip(*losses.values(), strict=True))
        sums: MetricSums = {
            "loss": (all_total, all_samples),
            **{f"loss_{kind}": sums for kind, sums in losses.items()},
            **self._evaluator.sums(),
        }
        self.module.train()
        values = torch.tensor(list(sums.values()), device=accelerator.device)
        rows = accelerator.reduce(values, "sum").tolist()
        return metrics({name: (total, n) for name, (total, n) in zip(sums, rows, strict=True)})

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the checkpoint."""
        start = self._start
        save_checkpoint(folder, start.model, start.head, start.tokenizer, dtype)

    def _open_evaluator(self, dev: TrainingSet, stack: ExitStack) -> Evaluator:
        config, accelerator, kb = self._config, self._accelerator, None
        if any(isinstance(sample, RetrieveSample) for sample in dev.samples):
            kb = stack.enter_context(KnowledgeBase.open(locate(config.kb)))
            # The main process builds the title trie if it is not cached yet.
            with accelerator.main_process_first():
                kb.title_trie(self._start.tokens)
        share = (accelerator.process_index, accelerator.num_processes)
        evaluator = Evaluator(self._start, dev.samples, kb, config, share)
        available = ["score", "loss", *evaluator.names]
        if config.best_metric not in available:
            raise AdmiralError(
                f"{config.dev}: holds no samples for {config.best_metric!r}. "
                f"Choose one of {', '.join(available)}, or build such samples."
            )
        return evaluator
