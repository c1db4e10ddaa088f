"""The pipeline: run the retrieval method for claims and return their results."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.rendering import claim_notes
from admiral.io.text_cleaning import clean_text
from admiral.kb import KnowledgeBase, locate
from admiral.kb.writing import GRAPH_REQUEST
from admiral.models.checkpoint import (
    Checkpoint,
    choose_device,
    choose_dtype,
    load_checkpoint,
    precision_of,
)
from admiral.protocols import Graph, OnStage, OnTiming, timed, timing_stages
from admiral.records import (
    Claim,
    Document,
    Hop,
    RetrievalResult,
    Sentence,
    as_claim,
    check_claims,
)
from admiral.retrieval.document_ranking import cut_claim_warnings, ranked_documents
from admiral.retrieval.search import Search
from admiral.retrieval.stage_assembly import Stages, build_stages, judge_evidence
from admiral.retrieval.state import SearchState
from proofs import Judgement
from trie.safe_tokenizer import SafeTokenizer

logger = logging.getLogger(__name__)


class Admiral:
    """Retrieve the documents and sentences that verify claims.

    Several threads may share one object; a program with an event loop calls it by
    `asyncio.to_thread`.

    - `kb`: the open knowledge base; it is closed together with this object.
    - `checkpoint`: the model that the stages share.
    - `config`: the settings. The precision ``auto`` is replaced by the precision of the checkpoint.
    - `stages`: the stages; built from the settings by default.
    - `in_use`: reference count: enter it (``with``) while reading the knowledge base, to keep it
      open.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        checkpoint: Checkpoint,
        config: RetrievalConfig,
        stages: Stages | None = None,
    ) -> None:
        if config.precision == "auto":
            config = config.changed(precision=precision_of(checkpoint.model.dtype))
        self.kb, self.checkpoint, self.config = kb, checkpoint, config
        if stages is None:
            stages = build_stages(kb, checkpoint, config, graph_to_use(kb, config.graph))
        self.stages = stages
        self.in_use = ReferenceCount()
        if config.threads:
            torch.set_num_threads(config.threads)

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        kb: str | Path | None = None,
        *,
        config: RetrievalConfig | None = None,
    ) -> Admiral:
        """Open a checkpoint and a knowledge base by name or directory.

        `model`, `kb`: names or directories; those of the settings by default.
        """
        if not isinstance(config, RetrievalConfig | None):
            raise AdmiralError(
                f"config: is of type {type(config).__name__}; give a RetrievalConfig, for example "
                "RetrievalConfig(hops=1)"
            )
        config = config or RetrievalConfig()
        config = config.changed(model=str(model or config.model), kb=str(kb or config.kb))
        checkpoint = load_checkpoint(
            config.model, choose_device(config.device), choose_dtype(config)
        )
        logger.debug("%s: opening", config.kb)
        opened_kb = open_kb(config.kb, config)
        try:
            logger.debug("%d documents; opening the stages", len(opened_kb))
            return cls(opened_kb, checkpoint, config)
        except BaseException:
            opened_kb.close()
            raise

    def retrieve(self, claim: str | Claim, hops: str | int | None = None) -> RetrievalResult:
        """Retrieve the documents and the evidence for one claim.

        `claim`: the claim; the id of a plain text is "1". `hops`: ``dynamic`` or a number; the
        setting `hops` by default.
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

        Claims are searched for in batches of `batch_size` (a setting), and the results of a batch
        come together. From a stream with a method `ready`, which says whether the next claim has
        arrived (`Prefetch`), a batch takes the claims that have.

        - `claims`: the claims; the id of a plain text is its number, from "1".
        - `hops`: ``dynamic`` or a number; the setting `hops` by default.
        - `on_stage`: receives a short text when a stage begins, such as ``Hop 2: reading 40
          documents``, and the claims that share it.
        - `on_hop`: receives each claim with the hop that it has completed.
        - `on_timing`: receives the name of each stage that has ended, its seconds and the number of
          claims that shared it.

        An error of one claim or of the stream is raised after the results of all claims before it.
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
        config = self.config if hops is None else self.config.changed(hops=hops)
        with self.in_use:
            search = Search(self.stages, config, on_stage, on_hop, on_timing)
        ready = getattr(claims, "ready", None)
        checked = map(_checked, check_claims(claims), count(1))
        for batch in _batches(checked, config.batch_size, ready):
            with self.in_use:
                states = search.run(batch)
            yield from states

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs with the configured judge."""
        with self.in_use:
            return judge_evidence(self.stages.judge, claim, evidence)

    def document(self, title: str) -> Document:
        """Return the document with a title."""
        with self.in_use:
            return self.kb.document(title)

    def close(self) -> None:
        """Wait for the work of other threads, then close the knowledge base.

        Running calls of `retrieve` and `prove` are completed; `retrieve_many` completes its running
        batch and then raises `AdmiralError`.
        """
        self.in_use.close()
        self.kb.close()

    def __enter__(self) -> Admiral:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked(given: str | Claim, number: int) -> Claim:
    claim = as_claim(given, number)
    if not claim.text.strip():
        raise AdmiralError(f"claim {claim.id!r}: is empty; give a sentence to verify")
    return Claim(claim.id, clean_text(claim.text))


def _batches(
    claims: Iterator[Claim], size: int, ready: Callable[[], bool] | None
) -> Iterator[list[Claim]]:
    """Yield claims in lists of at most `size`; a list is shorter if no more claims are ready.

    An error of the stream is raised after the claims before it have been yielded.
    """
    batch: list[Claim] = []
    try:
        for claim in claims:
            batch.append(claim)
            if len(batch) == size or (ready is not None and not ready()):
                yield batch
                batch = []
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def open_kb(kb: str | Path, config: RetrievalConfig) -> KnowledgeBase:
    """Open a knowledge base with the settings of its search."""
    return KnowledgeBase.open(
        locate(kb),
        bm25=None if config.bm25 == "auto" else config.bm25,
        title_weight=config.title_weight,
        text_weight=config.text_weight,
    )


class ReferenceCount:
    """Count the ``with`` blocks that are being run; `close` waits until there are none."""

    def __init__(self) -> None:
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            if self._closed:
                raise closed_error()
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Wait until no block is being run; later ones raise an `AdmiralError`."""
        with self._changed:
            self._changed.wait_for(lambda: self._count == 0)
            self._closed = True


def closed_error() -> AdmiralError:
    """Return the error for a call on a closed system."""
    return AdmiralError("the system was closed. Open another one.")


def graph_to_use(kb: KnowledgeBase, setting: str) -> Graph | None:
    """Open the graph of a knowledge base as the setting `graph` says; None to do without.

    With ``auto``, a graph that cannot be used is reported as a warning. So is a missing one, but
    only if the build of the knowledge base asked for it.
    """
    wanted = (kb.folder / "graph").exists() or kb.settings.get(GRAPH_REQUEST)
    if setting == "false" or (setting == "auto" and not wanted):
        return None
    from admiral.graph import GraphCandidates, MentionGraph

    try:
        return GraphCandidates(kb, MentionGraph.open(kb))
    except AdmiralError as error:
        if setting != "auto":
            raise
        logger.warning("%s Until then, retrieval does without the graph.", error)
        return None


def build_result(
    state: SearchState, stages: Stages, config: RetrievalConfig, tokens: SafeTokenizer
) -> RetrievalResult:
    """Return the result of a claim that has stopped: its documents ranked, and warnings."""
    claim, ranked = state.claim, ranked_documents(state, config, stages.document_scorer)
    cut = cut_claim_warnings(claim.text, stages.claim_limits, tokens)
    return RetrievalResult(
        *(claim.id, claim.text),
        tuple(ranked[: config.top_k]),
        state.evidence,
        tuple(state.hops),
        state.stopped or "dead_end",
        warnings=claim_notes(claim.text) + cut,
    )


def with_origins(result: RetrievalResult, kb: KnowledgeBase) -> RetrievalResult:
    """Return a result with the origins of its documents and sentences.

    Documents that were neither read from files nor have ids have no origin, so the result stays as
    it is.
    """
    if not kb.has_origins:
        return result
    document = cache(kb.document)

    def located(sentence: Sentence) -> Sentence:
        origin = document(sentence.title)
        if not origin.source:
            return sentence
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
