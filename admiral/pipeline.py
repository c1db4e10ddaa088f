"""The whole method: first stage, rerank, prove, hop, and so on until the evidence suffices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.prefetch import Arriving
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import Checkpoint, load_checkpoint
from admiral.models.devices import choose_device, choose_dtype, precision_of
from admiral.records import Claim, RetrievalResult, given_claim, several
from admiral.retrieval.hop_loop import Hops
from admiral.retrieval.mentions import MentionFinder
from admiral.retrieval.result import answer
from admiral.retrieval.stage_assembly import Stages, build_relevance, build_stages
from admiral.retrieval.state import Progress
from admiral.scheduling.async_retrieval import AwaitableRetrieval
from admiral.scheduling.batch_scheduler import Flow
from admiral.scheduling.closing import Uses
from admiral.scheduling.memory import trim
from admiral.scheduling.torch_threads import taking_threads
from proofs import Judgement
from trie import NoIdentifierError

# On a processor a core does more with claims of its own than as the half of two that share every
# product. Beyond a few, they would wait for Python's lock.
_MOST_WORKERS = 4


class Admiral(AwaitableRetrieval):
    """Retrieves the documents and sentences that verify claims.

    Several threads may share one. `aretrieve` and `aretrieve_many` serve an event loop.

    Parameters
    ----------
    kb
        The open knowledge base; closed together with this object.
    checkpoint
        The model that the stages share.
    config
        Settings. The precision ``auto`` is that of the checkpoint here, and told so in `config`.
    stages
        The four stages; built from the settings where not given.

    Attributes
    ----------
    uses
        To be entered by whoever reads the knowledge base, which is not closed meanwhile.
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
        self.stages = stages or build_stages(kb, checkpoint, config)
        self._mentions = MentionFinder(kb) if config.mentions else None
        self._relevance = build_relevance(config)
        self.uses = Uses()
        # Once and for all: what torch tells later depends on the thread that asks.
        self._threads = config.threads or torch.get_num_threads()

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
        if not isinstance(config, RetrievalConfig | None):
            raise AdmiralError(
                f"config: is of type {type(config).__name__}; give RetrievalConfig(hops=1), say"
            )
        config = replace(config or RetrievalConfig())
        config.model, config.kb = str(model or config.model), str(kb or config.kb)
        config.validate()
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
        """Retrieve for one claim; `hops` is ``dynamic`` or a number, the setting by default.

        Raises `AdmiralError` as `retrieve_many` does.
        """
        with self.uses:
            (result,) = self.retrieve_many([claim], hops=hops)
        return result

    def retrieve_many(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order; `batch_size` claims travel at a time.

        A claim that is text has its place for an id: "1" is the first.

        It reads ahead of what it yields by a few batches, and waits for a batch to come together;
        of an `Arriving` stream it takes what is there. Raises `AdmiralError` for an empty claim,
        where memory is too small for a single one (several travel fewer at a time instead), and if
        this object was closed. What is wrong with a claim, or with the stream, is raised when
        those before it have been answered.
        """
        try:
            for progress in self.explore(claims, hops):
                with self.uses:
                    result = answer(progress, self.config, self.checkpoint, self._relevance)
                trim()
                yield result
        finally:
            trim(pause=0)

    def explore(
        self, claims: Iterable[str | Claim], hops: str | int | None = None
    ) -> Iterator[Progress]:
        """Yield what the hops of each claim have found, before its documents are ranked.

        That is for who ranks them in another way, or looks into the hops. It takes and raises what
        `retrieve_many` does.
        """
        config = replace(self.config)
        config.hops = config.hops if hops is None else str(hops)
        config.validate()
        with self.uses:
            hops_of = Hops(self.kb, self.stages, self._mentions, config, self._relevance)

        def step(batch: Sequence[Progress]) -> None:
            with self.uses:
                hops_of.step(batch)

        on_processor = self.checkpoint.model.device.type == "cpu"
        flow = Flow(
            step,
            batch_size=config.batch_size,
            workers=_MOST_WORKERS if on_processor else 1,
            threads=self._threads,
        )
        stream = map(_started, several(claims), count(1))
        if isinstance(claims, Arriving):
            yield from flow.run(stream, claims.ready)
        else:
            yield from flow.run(stream)

    def prove(self, claim: str, evidence: Sequence[tuple[str, str]]) -> Judgement:
        """Judge a claim against (title, sentence) pairs by the judge of the settings.

        Raises `AdmiralError` if this object was closed, something else is given, or the judge reads
        with a model whose vocabulary cannot name so many sentences.
        """
        if not isinstance(claim, str):
            raise AdmiralError(f"claim: is of type {type(claim).__name__}; give a text")
        clean = list(map(_pair, evidence, count(1)))
        with self.uses, taking_threads(self._threads):
            try:
                return self.stages.judge.judge([clean_text(claim)], [clean])[0]
            except NoIdentifierError as error:
                raise AdmiralError(
                    f"evidence: {len(clean)} sentences are too many for this judge; its model has "
                    f"tokens to name {error.number}, so give {error.number} or less"
                ) from error

    def close(self) -> None:
        """Close the knowledge base, once what other threads have begun is finished.

        That is a call of `retrieve` or `prove`, and of `retrieve_many` the hops under way; its next
        result is an `AdmiralError`.
        """
        self._worker.close()
        self.uses.close()
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


def _started(given: str | Claim, number: int) -> Progress:
    claim = given_claim(given, number)
    if not claim.text.strip():
        raise AdmiralError(f"claim {claim.id!r}: is empty; give a sentence to verify")
    return Progress(Claim(claim.id, clean_text(claim.text)))


def _pair(given: tuple[str, str], number: int) -> tuple[str, str]:
    match given:
        case (str(title), str(sentence)):
            return clean_title(title), clean_text(sentence)
    raise AdmiralError(f"evidence {number}: is no (title, sentence); the title may be ''")
