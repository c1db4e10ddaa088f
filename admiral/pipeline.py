"""The pipeline: run the retrieval method for claims and return their results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.graph import graph_to_use
from admiral.io.claims import ReadyStream
from admiral.io.text_cleaning import clean_text
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import (
    Checkpoint,
    choose_device,
    choose_dtype,
    load_checkpoint,
    precision_of,
)
from admiral.protocols import OnStage, OnTiming, Stages, timed, timing_stages
from admiral.records import (
    Claim,
    Document,
    Hop,
    RetrievalResult,
    Sentence,
    as_claim,
    check_claims,
)
from admiral.retrieval.document_ranking import build_result
from admiral.retrieval.hop_loop import HopLoop
from admiral.retrieval.stage_assembly import build_stages, judge_evidence
from admiral.retrieval.state import SearchState
from admiral.scheduling import (
    AsyncRetrieval,
    BatchScheduler,
    ReferenceCount,
    using_torch_threads,
)
from proofs import Judgement

logger = logging.getLogger(__name__)

# On a CPU, cores that each process claims of their own are faster than cores that share every
# matrix product. More workers than this would wait for Python's global lock.
_MAX_WORKERS = 4


class Admiral(AsyncRetrieval):
    """Retrieve the documents and sentences that verify claims.

    Several threads may share one object. For asyncio, see `aretrieve` and `aretrieve_many`.

    - `kb`: the open knowledge base; it is closed together with this object.
    - `checkpoint`: the model that the stages share.
    - `config`: the settings. The precision ``auto`` is replaced by the precision of the checkpoint.
    - `stages`: the stages; built from the settings by default.
    - `in_use`: reference count: enter it (``with``) while reading the knowledge base, to keep it
      open.

    Raises AdmiralError if a setting is invalid or more than the model can do, or a stage lacks a
    file or a package.
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
        if config.precision == "auto":
            config = replace(config, precision=precision_of(checkpoint.model.dtype))
        self.kb, self.checkpoint, self.config = kb, checkpoint, config
        if stages is None:
            stages = build_stages(kb, checkpoint, config, graph_to_use(kb, config.graph))
        self.stages = stages
        self.in_use = ReferenceCount()
        # Read once, because torch's own number depends on the calling thread.
        self._threads = config.threads or torch.get_num_threads()

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        kb: str | Path | None = None,
        *,
        config: RetrievalConfig | None = None,
    ) -> Admiral:
        """Open a checkpoint and a knowledge base by name or directory.

        `model`, `kb`: names or directories; those of the settings by default. Raises AdmiralError
        if the checkpoint or the knowledge base does not exist or is damaged, or a setting is
        invalid.
        """
        if not isinstance(config, RetrievalConfig | None):
            raise AdmiralError(
                f"config: is of type {type(config).__name__}; give a RetrievalConfig, for example "
                "RetrievalConfig(hops=1)"
            )
        config = replace(config or RetrievalConfig())
        config.model, config.kb = str(model or config.model), str(kb or config.kb)
        config.validate()
        checkpoint = load_checkpoint(
            config.model, choose_device(config.device), choose_dtype(config)
        )
        logger.debug("%s: opening", config.kb)
        opened_kb = KnowledgeBase.open(
            locate(config.kb),
            bm25=None if config.bm25 == "auto" else config.bm25,
            title_weight=config.title_weight,
            text_weight=config.text_weight,
        )
        try:
            logger.debug("%d documents; opening the stages", len(opened_kb))
            return cls(opened_kb, checkpoint, config)
        except BaseException:
            opened_kb.close()
            raise

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve the documents and the evidence for one claim.

        `claim`: the claim; the id of a plain text is "1". `hops`: ``dynamic`` or a number; the
        setting `hops` by default. Raises AdmiralError as `retrieve_many` does.
        """
        with self.in_use:
            (result,) = self.retrieve_many([claim], hops=hops)
        return result

    def retrieve_many(
        self,
        claims: Iterable[str | Claim],
        hops: str | int | None = None,
        on_stage: OnStage | None = None,
        on_hop: Callable[[Claim, Hop], None] | None = None,
        on_timing: OnTiming | None = None,
    ) -> Iterator[RetrievalResult]:
        """Yield the result of each claim, in order.

        Claims are processed in batches of `batch_size` (a setting). This method therefore reads a
        few batches ahead of the results that it yields, and waits until a batch is complete; from a
        stream that knows whether it is `ready` (`Prefetch`) it takes the claims that have arrived.

        - `claims`: the claims; the id of a plain text is its number, from "1".
        - `hops`: ``dynamic`` or a number; the setting `hops` by default.
        - `on_stage`: receives a short text when a stage begins, such as ``Hop 2: reading 40
          documents``, and the claims that share it. It may be called from several threads.
        - `on_hop`: receives each claim with the hop that it has completed; it may be called from
          several threads.
        - `on_timing`: receives the name of each stage that has ended, its seconds and the number of
          claims that shared it; it may be called from several threads.

        Raises AdmiralError if a claim is empty, or this object was closed. An error of one claim or
        of the stream is raised after the results of all claims before it.
        """
        for state in self.search_states(claims, hops, on_stage, on_hop, on_timing):
            with self.in_use, timing_stages(on_timing, 1), timed("ranking"):
                result = build_result(state, self.stages, self.config, self.checkpoint.tokens)
                result = with_origins(result, self.kb)
            yield result

    def search_states(
        self,
        claims: Iterable[str | Claim],
        hops: str | int | None = None,
        on_stage: OnStage | None = None,
        on_hop: Callable[[Claim, Hop], None] | None = None,
        on_timing: OnTiming | None = None,
    ) -> Iterator[SearchState]:
        """Yield the search state of each claim after its last hop, before documents are ranked.

        Use this to rank the documents in another way or to inspect the hops. Parameters and errors
        are those of `retrieve_many`.
        """
        config = replace(self.config)
        config.hops = config.hops if hops is None else str(hops)
        config.validate()
        with self.in_use:
            hop_loop = HopLoop(self.kb, self.stages, config, on_stage, on_hop, on_timing)

        def advance(batch: Sequence[SearchState]) -> None:
            with self.in_use:
                hop_loop.advance(batch)

        on_cpu = self.checkpoint.model.device.type == "cpu"
        scheduler = BatchScheduler(
            advance,
            batch_size=config.batch_size,
            workers=_MAX_WORKERS if on_cpu else 1,
            threads=self._threads,
        )
        states = map(_new_state, check_claims(claims), count(1))
        if isinstance(claims, ReadyStream):
            yield from scheduler.run(states, claims.ready)
        else:
            yield from scheduler.run(states)

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs with the configured judge.

        Raises AdmiralError if an argument is of another type, there are more sentences than the
        judge accepts, or this object was closed.
        """
        with self.in_use, using_torch_threads(self._threads):
            return judge_evidence(self.stages.judge, claim, evidence)

    def document(self, title: str) -> Document:
        """Return the document with a title.

        Raises AdmiralError if there is none, or this object was closed.
        """
        with self.in_use:
            return self.kb.document(title)

    def close(self) -> None:
        """Wait for the work of other threads, then close the knowledge base.

        Running calls of `retrieve` and `prove` are completed; `retrieve_many` completes its running
        batch and then raises `AdmiralError`.
        """
        self._worker.close()
        self.in_use.close()
        self.kb.close()

    def __enter__(self) -> Admiral:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _new_state(given: str | Claim, number: int) -> SearchState:
    claim = as_claim(given, number)
    if not claim.text.strip():
        raise AdmiralError(f"claim {claim.id!r}: is empty; give a sentence to verify")
    return SearchState(Claim(claim.id, clean_text(claim.text)))


def with_origins(result: RetrievalResult, kb: KnowledgeBase) -> RetrievalResult:
    """Return a result with the origins of its documents and sentences.

    Documents that were neither read from files nor have ids have no origin, so the result stays as
    it is.
    """
    if not kb.has_origins:
        return result
    documents: dict[str, Document] = {}

    def document(title: str) -> Document:
        if title not in documents:
            documents[title] = kb.document(title)
        return documents[title]

    def located(sentence: Sentence) -> Sentence:
        origin = document(sentence.title)
        return replace(
            sentence,
            source=origin.source,
            section=origin.sections[sentence.index] if origin.sections else "",
            offset=origin.offsets[sentence.index] if origin.offsets else None,
        )

    return replace(
        result,
        documents=tuple(
            replace(d, source=document(d.title).source, id=document(d.title).id)
            for d in result.documents
        ),
        evidence=tuple(map(located, result.evidence)),
        hops=tuple(replace(hop, evidence=tuple(map(located, hop.evidence))) for hop in result.hops),
    )
