"""The whole method: first stage, rerank, prove, hop, and so on until the evidence suffices."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import TracebackType

import torch

from admiral.assembly import Stages, build_stages, choose_device, choose_dtype
from admiral.awaitable import AwaitableRetrieval
from admiral.checkpoint import Checkpoint, load_checkpoint
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.progress import Progress
from admiral.records import Claim, Hop, RetrievalResult
from admiral.stages.evidence import choose_evidence, favoured
from admiral.stages.long_documents import shortened
from admiral.stages.mentions import MentionFinder
from admiral.stages.ranking import rank_documents
from proofs import Judgement
from trie.inputs import claim_ids


class Admiral(AwaitableRetrieval):
    """Retrieves the documents and sentences that verify claims.

    Several threads may share one; they take turns, a batch each. `aretrieve` and `aretrieve_many`
    do the same for an event loop.

    Parameters
    ----------
    kb
        The open knowledge base; closed together with this object.
    checkpoint
        The model that the stages share.
    config
        Settings.
    stages
        The four stages; built from the settings where not given.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        checkpoint: Checkpoint,
        config: RetrievalConfig,
        stages: Stages | None = None,
    ) -> None:
        super().__init__()
        config.validate()
        self.kb, self.checkpoint, self.config = kb, checkpoint, config
        self.stages = stages or build_stages(kb, checkpoint, config)
        self._mentions = MentionFinder(kb) if config.mentions else None
        self._turn = threading.Lock()

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        kb: str | Path | None = None,
        *,
        config: RetrievalConfig | None = None,
    ) -> Admiral:
        """Open a checkpoint and a knowledge base, by name or directory.

        Raises
        ------
        AdmiralError
            If either does not exist or is damaged, or a setting makes no sense.
        """
        config = replace(config or RetrievalConfig())
        config.model, config.kb = str(model or config.model), str(kb or config.kb)
        config.validate()
        if config.threads:
            torch.set_num_threads(config.threads)
        checkpoint = load_checkpoint(
            config.model, choose_device(config.device), choose_dtype(config)
        )
        opened = KnowledgeBase.open(
            locate(config.kb),
            bm25=None if config.bm25 == "auto" else config.bm25,
            title_weight=config.title_weight,
            text_weight=config.text_weight,
        )
        try:
            return cls(opened, checkpoint, config)
        except BaseException:
            opened.close()
            raise

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve for one claim; `hops` is ``dynamic`` or a number, the setting by default."""
        one = Claim("1", claim) if isinstance(claim, str) else claim
        return next(self.retrieve_many([one], hops=hops))

    def retrieve_many(
        self, claims: Iterable[Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order; `batch_size` claims travel together."""
        config = replace(self.config)
        config.hops = config.hops if hops is None else str(hops)
        config.validate()
        stream = iter(claims)
        while batch := list(islice(stream, config.batch_size)):
            with self._turn:
                results = self._batch(batch, config)
            yield from results

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs by the judge of the settings."""
        with self._turn:
            return self.stages.judge.judge([claim], [evidence])[0]

    def _batch(self, claims: Sequence[Claim], config: RetrievalConfig) -> list[RetrievalResult]:
        for claim in claims:
            if not claim.text.strip():
                raise AdmiralError(f"claim {claim.id!r}: is empty; give a sentence to verify")
        began = time.perf_counter()
        dynamic = config.hops == "dynamic"
        limit = config.max_hops if dynamic else int(config.hops)
        found = self.stages.first.candidates([c.text for c in claims], config.first_stage_documents)
        everyone = [Progress(c, titles) for c, titles in zip(claims, found, strict=True)]
        for number in range(1, limit + 1):
            active = [p for p in everyone if p.stopped is None]
            if not active:
                break
            if number > 1:
                began = time.perf_counter()
                self._expand(active, number - 1)
                active = [p for p in active if p.stopped is None]
            may_stop = dynamic and number >= min(config.min_hops, limit)
            self._hop(active, number, config, began, stop=may_stop)
            for progress in active:
                if progress.stopped is None and number == limit:
                    progress.stopped = "max_hops"
        return [self._result(p, config) for p in everyone]

    def _expand(self, active: Sequence[Progress], hop: int) -> None:
        """Find the document sets of the next hop, and mark the claims that have none."""
        expanded = self.stages.retriever.expand(
            [p.claim.text for p in active], [p.evidence for p in active], hop
        )
        for progress, sets in zip(active, expanded, strict=True):
            if sets:
                progress.sets.append(sets)
            else:
                progress.stopped = "dead_end"

    def _hop(
        self,
        active: Sequence[Progress],
        number: int,
        config: RetrievalConfig,
        began: float,
        *,
        stop: bool,
    ) -> None:
        """Rerank, choose the evidence and judge it, for all claims that are still under way."""
        texts = [p.claim.text for p in active]
        documents = [
            [
                shortened(p.claim.text, self.kb.document(title), config.rerank_sentences)
                for title in p.to_read(config.rerank_documents)
            ]
            for p in active
        ]
        kept = [p.kept() for p in active]
        scored = [
            favoured(sentences, p.mentioned)
            for p, sentences in zip(
                active, self.stages.reranker.score(texts, documents, kept), strict=True
            )
        ]
        evidence = [
            choose_evidence(s, config.evidence, config.evidence_per_document) for s in scored
        ]
        judgements = self.stages.judge.judge(
            texts, [[(s.title, s.text) for s in sentences] for sentences in evidence]
        )
        seconds = (time.perf_counter() - began) / max(len(active), 1)
        for progress, sentences, chosen, judgement in zip(
            active, scored, evidence, judgements, strict=True
        ):
            progress.note_read(sentences)
            progress.linked.append(self._mentions.in_evidence(chosen) if self._mentions else [])
            progress.hops.append(
                Hop(
                    number,
                    tuple(progress.sets[-1][: config.beam_size]),
                    chosen,
                    judgement.proof,
                    judgement.sufficient,
                    seconds,
                    tuple(progress.read[-1]),
                )
            )
            if not chosen:
                progress.stopped = "dead_end"
            elif stop and judgement.sufficient:
                progress.stopped = "sufficient"

    def _result(self, progress: Progress, config: RetrievalConfig) -> RetrievalResult:
        ranking = rank_documents(
            progress.sets,
            progress.candidates,
            config.top_k,
            read=progress.read,
            linked=progress.linked,
            named=self._mentions.in_text(progress.claim.text) if self._mentions else (),
            fused=config.ranking == "fused",
        )
        return RetrievalResult(
            progress.claim,
            tuple(ranking),
            progress.evidence,
            tuple(progress.hops),
            progress.stopped or "dead_end",
            self._warnings(progress.claim.text),
        )

    def _warnings(self, claim: str) -> tuple[str, ...]:
        """Say which end of a claim the model did not see."""
        room = self.checkpoint.model.max_source // 2
        tokens = self.checkpoint.tokens
        ids, cut = claim_ids(tokens, "retrieve", claim, room)
        if not cut:
            return ()
        seen = len(ids) - 2 - (tokens.task("retrieve") is not None)
        _, spans = tokens.encode_with_offsets(claim)
        rest = claim[spans[seen][0] :]
        shown = rest if len(rest) <= 60 else rest[:60] + "…"
        return (
            f"the claim has {len(spans)} tokens, the model reads {seen} of them beside evidence; "
            f"cut from: {shown!r}",
        )

    def close(self) -> None:
        """Close the knowledge base, once a batch that another thread has begun is finished."""
        self._worker.close()
        with self._turn:
            self.kb.close()

    def __enter__(self) -> Admiral:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
