"""Evaluation on development samples, by what the parts are for rather than by the loss alone."""

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
from admiral.reranking.cross_encoder import CrossEncoderReranker
from admiral.retrieval.hop_retriever import TrieHopRetriever
from proofs.generation.generator import ProofGenerator
from training.data.samples import ProveSample, RerankSample, RetrieveSample, Sample
from training.loop.initial_checkpoint import Start
from training.run_config import METRICS, TrainConfig
from trie import Seq2Seq

_AT_ONCE = 32  # samples that are decoded together
T = TypeVar("T")

# Of each metric, what it adds up to over samples, and the count that this is divided by.
Sums = dict[str, tuple[float, float]]


class Evaluator:
    """Measures the tasks of a run with the parts of the system that use its checkpoint.

    Parameters
    ----------
    start
        The checkpoint whose model is trained; its weights change meanwhile.
    samples
        Development samples.
    kb
        Its titles may be retrieved. None where no sample is about retrieval.
    share
        This process's number and how many there are: they take the samples by turns.
    """

    def __init__(
        self,
        start: Start,
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
        """The metrics that there are samples for."""
        return [name for task, there in self._tasks.items() if there for name in METRICS[task]]

    def sums(self) -> Sums:
        """Evaluate this process's samples."""
        dtype = torch.bfloat16 if self._config.precision == "bf16" else torch.float32
        trained = self._start.model
        if dtype is torch.bfloat16:  # which rounds the weights that training goes on with
            trained = copy.deepcopy(trained)
        model = Seq2Seq(trained, dtype)
        found: Sums = {}
        if self._tasks["retrieve"] and self._kb is not None:
            found |= self._retrieved(model, self._kb)
        if self._tasks["rerank"]:
            found |= self._reranked(model)
        if self._tasks["prove"]:
            found |= self._proved(model)
        return found

    def _is_findable(self, sample: RetrieveSample) -> bool:
        kb = self._kb
        return kb is not None and all(kb.row(one.title) is not None for one in sample.targets())

    def _retrieved(self, model: Seq2Seq, kb: KnowledgeBase) -> Sums:
        """Count the samples with a gold document set first, among five, or found at all.

        Any set that a right sequence stands for is gold. `retrieve_mass` is the probability of all
        sets that the beams hold.
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
        places: list[int | None] = []
        mass = 0.0
        for batch in _batches(self._retrieve):
            evidence = [
                [Sentence(t, n, text, 0.0) for n, (t, text) in enumerate(s.evidence)] for s in batch
            ]
            hops = [s.hop for s in batch]
            found = retriever.expand([s.claim for s in batch], evidence, hops)
            for sample, sets in zip(batch, found, strict=True):
                gold = {
                    frozenset((*(sample.evidence[i][0] for i in one.identifiers), one.title))
                    for one in sample.targets(None)
                }
                right = (at for at, one in enumerate(sets) if frozenset(one.titles) in gold)
                places.append(next(right, None))
                mass += sum(math.exp(one.score) for one in sets)
        count = len(places)
        return {
            "retrieve_top1": (sum(place == 0 for place in places), count),
            "retrieve_top5": (sum(place is not None and place < 5 for place in places), count),
            "retrieve_found": (sum(place is not None for place in places), count),
            "retrieve_mass": (mass, count),
        }

    def _reranked(self, model: Seq2Seq) -> Sums:
        """Sum the reciprocal rank of the first gold sentence, and the share among the first 5."""
        start = self._start
        reranker = CrossEncoderReranker(Checkpoint(start.path, model, start.tokens, start.head))
        reciprocal = recall = 0.0
        for batch in _batches(self._rerank):
            found = reranker.score(
                [s.claim for s in batch],
                [[Document(d.title, d.sentences) for d in s.documents] for s in batch],
                [[Sentence(t, 0, text, 0.0) for t, text in s.evidence] for s in batch],
            )
            for sample, ranking in zip(batch, found, strict=True):
                gold = {(d.title, i) for d in sample.documents for i in d.relevant}
                places = [at for at, s in enumerate(ranking) if (s.title, s.index) in gold]
                reciprocal += 1 / (places[0] + 1) if places else 0.0
                recall += sum(place < 5 for place in places) / len(gold) if gold else 0.0
        count = len(self._rerank)
        return {"rerank_mrr": (reciprocal, count), "rerank_recall5": (recall, count)}

    def _proved(self, model: Seq2Seq) -> Sums:
        """Compare generated proofs with the annotated ones; "insufficient" is what is looked for.

        A claim that no proof can be written for counts as insufficient.
        """
        generator = ProofGenerator(
            model, self._start.tokens, beam_size=self._config.proof_beams, batch_size=_AT_ONCE
        )
        claims = [sample.claim for sample in self._prove]
        proofs = generator.generate(claims, [sample.evidence for sample in self._prove])
        best = [found[0].proof if found else None for found in proofs]
        said = [proof is None or not proof.sufficient for proof in best]
        true = [not sample.proof.sufficient for sample in self._prove]
        both = sum(s and t for s, t in zip(said, true, strict=True))
        same = sum(s == t for s, t in zip(said, true, strict=True))
        exact = sum(p == s.proof for p, s in zip(best, self._prove, strict=True))
        count = len(said)
        return {
            "prove_precision": (both, sum(said)),
            "prove_recall": (both, sum(true)),
            "prove_f1": (2 * both, sum(said) + sum(true)),
            "prove_accuracy": (same, count),
            "prove_exact": (exact, count),
        }


def metrics(sums: Sums) -> dict[str, float]:
    """Return the metrics of the sums of all processes, and `score`, the mean of each task's first.

    A metric of nothing, such as the precision where nothing was said, is zero; there is no loss of
    nothing.
    """
    found = {
        name: total / count if count else 0.0
        for name, (total, count) in sums.items()
        if count or not name.startswith("loss")
    }
    first = [found[names[0]] for names in METRICS.values() if names[0] in found]
    return {"score": sum(first) / len(first)} | found if first else found


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), _AT_ONCE):
        yield items[begin : begin + _AT_ONCE]
