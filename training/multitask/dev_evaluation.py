"""Evaluate a checkpoint on development samples with the parts of the system that use it."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from admiral.models.checkpoint import Checkpoint
from admiral.records import Document, Sentence
from admiral.retrieval.hop_retriever import TrieHopRetriever
from admiral.retrieval.rerankers import CrossEncoderReranker
from proofs.generation.generator import ProofGenerator
from training.data.samples import ProveSample, RerankSample, RetrieveSample, Sample
from training.loop.batch_loading import moved
from training.loop.run_files import LossMeter
from training.multitask.multitask_model import InitialCheckpoint, MultiTaskModel
from training.multitask.multitask_settings import METRICS, TrainConfig
from training.multitask.sample_batches import KINDS, Counts, Examples, collate, kind_of
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
        self._start, self._kb, self._config = start, kb, config
        retrieve = [s for s in samples if isinstance(s, RetrieveSample) and self._is_findable(s)]
        rerank = [s for s in samples if isinstance(s, RerankSample)]
        prove = [s for s in samples if isinstance(s, ProveSample)]
        if kb is not None and not retrieve:
            raise AdmiralError(
                f"{config.dev}: none of its titles is in the knowledge base {config.kb!r}. "
                "Set kb to the one that the samples were built from."
            )
        self._tasks = {"retrieve": bool(retrieve), "rerank": bool(rerank), "prove": bool(prove)}
        self._retrieve = retrieve[share[0] :: share[1]]
        self._rerank = rerank[share[0] :: share[1]]
        self._prove = prove[share[0] :: share[1]]

    @property
    def names(self) -> list[str]:
        """The metrics that the samples can measure."""
        return [
            name for task, measured in self._tasks.items() if measured for name in METRICS[task]
        ]

    def sums(self) -> MetricSums:
        """Return sums and counts of the metrics over the samples of this process."""
        dtype = torch.bfloat16 if self._config.precision == "bf16" else torch.float32
        trained = self._start.model
        if dtype is torch.bfloat16:  # a copy, since bf16 products round the weights
            trained = copy.deepcopy(trained)
        model = Seq2Seq(trained, dtype)
        sums: MetricSums = {}
        if self._tasks["retrieve"] and self._kb is not None:
            sums |= self._retrieved(model, self._kb)
        if self._tasks["rerank"]:
            sums |= self._reranked(model)
        if self._tasks["prove"]:
            sums |= self._proved(model)
        return sums

    def _is_findable(self, sample: RetrieveSample) -> bool:
        kb = self._kb
        return kb is not None and all(
            kb.row(target.title) is not None for target in sample.targets()
        )

    def _retrieved(self, model: Seq2Seq, kb: KnowledgeBase) -> MetricSums:
        """Measure whether a gold document set is first, among the first five, or in the beams.

        Every set that a valid target stands for is gold. `retrieve_mass` is the summed probability
        of all sets in the beams.
        """
        tokens, beams = self._start.tokens, self._config.eval_beams
        variant = "joint-docs" if self._config.target == "titles" else "ours"
        retriever = TrieHopRetriever(
            model,
            tokens,
            kb.title_trie(tokens),
            kb,
            beam_size=beams,
            title_beams=beams,
            variant=variant,
        )
        ranks: list[int | None] = []
        mass = 0.0
        for batch in _batches(self._retrieve):
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
        count = len(ranks)
        return {
            "retrieve_top1": (sum(rank == 0 for rank in ranks), count),
            "retrieve_top5": (sum(rank is not None and rank < 5 for rank in ranks), count),
            "retrieve_found": (sum(rank is not None for rank in ranks), count),
            "retrieve_mass": (mass, count),
        }

    def _reranked(self, model: Seq2Seq) -> MetricSums:
        """Measure the reciprocal rank of the first gold sentence, and recall at 5."""
        start = self._start
        reranker = CrossEncoderReranker(Checkpoint(start.path, model, start.tokens, start.head))
        reciprocal = recall = 0.0
        for batch in _batches(self._rerank):
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
        count = len(self._rerank)
        return {"rerank_mrr": (reciprocal, count), "rerank_recall5": (recall, count)}

    def _proved(self, model: Seq2Seq) -> MetricSums:
        """Compare generated proofs with annotated ones; "insufficient" is the positive class.

        A claim for which no proof can be generated counts as insufficient.
        """
        generator = ProofGenerator(
            model, self._start.tokens, beam_size=self._config.proof_beams, batch_size=_BATCH_SIZE
        )
        claims = [sample.claim for sample in self._prove]
        proofs = generator.generate(claims, [sample.evidence for sample in self._prove])
        best = [beams[0].proof if beams else None for beams in proofs]
        predicted = [proof is None or not proof.sufficient for proof in best]
        actual = [not sample.proof.sufficient for sample in self._prove]
        hits = sum(p and a for p, a in zip(predicted, actual, strict=True))
        correct = sum(p == a for p, a in zip(predicted, actual, strict=True))
        exact = sum(proof == s.proof for proof, s in zip(best, self._prove, strict=True))
        count = len(predicted)
        return {
            "prove_precision": (hits, sum(predicted)),
            "prove_recall": (hits, sum(actual)),
            "prove_f1": (2 * hits, sum(predicted) + sum(actual)),
            "prove_accuracy": (correct, count),
            "prove_exact": (exact, count),
        }


@torch.no_grad()
def development_losses(
    multitask: MultiTaskModel,
    batches: Sequence[Examples],
    pad: int,
    start: int,
    device: torch.device,
) -> MetricSums:
    """Return sums and counts of development losses, by kind and in total."""
    meter = LossMeter(KINDS, device)
    for items in batches:
        batch = moved(collate(items, pad, start), device)
        meter.add(kind_of(batch), multitask(batch, Counts.of(items)), len(items))
    sums = meter.sums()
    by_kind = {f"loss_{kind}": (total, count) for kind, (total, count) in sums.items()}
    total, count = map(sum, zip(*sums.values(), strict=True))
    return {"loss": (total, count)} | by_kind


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
