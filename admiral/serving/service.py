"""The knowledge bases that a service has opened, and the limits of requests.

Each claim is retrieved for on the newest version of its knowledge base; those that have begun are
completed on theirs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import Checkpoint
from admiral.pipeline import Admiral, graph_to_use
from admiral.retrieval.stage_assembly import Stages, build_stages
from admiral.serving.claim_queue import ClaimMetrics, ClaimQueue
from admiral.serving.request_models import ProblemError
from proofs import Judgement


def open_system(
    kb: str | Path, checkpoint: Checkpoint, config: RetrievalConfig, known: Stages | None = None
) -> Admiral:
    """Open a knowledge base with a checkpoint that is open already.

    `known`: the stages of another version of it, whose models are used again. Raises AdmiralError
    if it cannot be opened or searched.
    """
    opened = KnowledgeBase.open(
        locate(kb),
        bm25=None if config.bm25 == "auto" else config.bm25,
        title_weight=config.title_weight,
        text_weight=config.text_weight,
    )
    try:
        opened.search(["a document"], 1)
        config = config.changed(kb=str(kb))
        graph = graph_to_use(opened, config.graph)
        return Admiral(
            opened, checkpoint, config, build_stages(opened, checkpoint, config, graph, known)
        )
    except BaseException:
        opened.close()
        raise


def reopened(system: Admiral) -> Admiral | None:
    """Return a system of the newest version of a knowledge base; None if that is open already.

    Raises AdmiralError if the knowledge base is gone, or its newest version cannot be searched.
    """
    if system.kb.current:
        return None
    return open_system(system.kb.path, system.checkpoint, system.config, system.stages)


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits of requests.

    Attributes
    ----------
    places
        Claims of a knowledge base that may wait or be processed at a time; also the largest batch.
    deadline
        Seconds until a request is given up.
    body_bytes
        Length of a request's body, in bytes.
    page_bytes
        Length of the body of a request to audit a page, in bytes.
    upload_bytes
        Length of the body of an upload, and of the text of its files.
    claim_characters
        Length of a claim, in characters.
    read_seconds
        Seconds until the headers of a first request, and then its body, have to be there.
    """

    places: int = 64
    deadline: float = 120.0
    body_bytes: int = 1_000_000
    page_bytes: int = 8_000_000
    upload_bytes: int = 200_000_000
    claim_characters: int = 5_000
    read_seconds: float = 30.0

    def check_claim(self, claim: str, field: str = "claim") -> None:
        """Raise `ProblemError` if a claim is too long."""
        if len(claim) > self.claim_characters:
            raise ProblemError(
                422,
                f"the claim has {len(claim)} characters",
                f"Give at most {self.claim_characters} characters; split a text into its claims",
                field,
            )


class Service:
    """Knowledge bases by name, each with a queue of claims; they share one checkpoint.

    `systems`: the systems by the name of their knowledge base; they are closed with this object.
    The first is the default.
    """

    def __init__(self, systems: dict[str, Admiral], limits: ServiceLimits | None = None) -> None:
        self.limits = limits or ServiceLimits()
        self.claim_metrics = ClaimMetrics()
        #: Replaced as a whole by `add` and `remove`, since others may be reading it.
        self.queues: Mapping[str, ClaimQueue] = {
            name: self._queue(system) for name, system in systems.items()
        }
        self._changing = threading.Lock()

    @classmethod
    def open(
        cls,
        kbs: Sequence[str],
        config: RetrievalConfig,
        limits: ServiceLimits | None = None,
    ) -> Service:
        """Open knowledge bases by name or directory; the last part of a path is the name.

        Raises AdmiralError if two have the same name, or one cannot be opened.
        """
        names = kb_names(kbs)
        systems: dict[str, Admiral] = {}
        with ExitStack() as stack:
            for name, kb in zip(names, kbs, strict=True):
                if not systems:
                    first = Admiral.from_pretrained(kb=kb, config=config)
                    systems[name] = stack.enter_context(first)
                    first.kb.search(["a document"], 1)  # refuses what cannot be searched
                else:
                    opened = open_system(kb, first.checkpoint, first.config)
                    systems[name] = stack.enter_context(opened)
            stack.pop_all()
        return cls(systems, limits)

    def queue(self, name: str | None) -> ClaimQueue:
        """Return the queue of a knowledge base; None stands for the first one.

        Raises Problem if there is no knowledge base with this name.
        """
        if name is None:
            return next(iter(self.queues.values()))
        if name not in self.queues:
            raise ProblemError(404, f"there is no knowledge base {name!r}", "See GET /v1/kbs", "kb")
        return self.queues[name]

    def add(self, name: str, kb: Path) -> None:
        """Open one more knowledge base.

        Raises AdmiralError if it cannot be opened.
        """
        first = self.queue(None).system
        opened = open_system(str(kb), first.checkpoint, first.config)
        with self._changing:
            self.queues = {**self.queues, name: self._queue(opened)}

    def _queue(self, system: Admiral) -> ClaimQueue:
        return ClaimQueue(system, self.limits.places, self.claim_metrics, reopened)

    def remove(self, name: str) -> None:
        """Complete the claims on a knowledge base and close it, if there is one of this name."""
        with self._changing:
            queues = dict(self.queues)
            queue = queues.pop(name, None)
            self.queues = queues
        if queue is not None:
            queue.close()
            queue.system.close()

    async def prove(
        self, claim: str, evidence: Sequence[tuple[str, str]], kb: str | None
    ) -> Judgement:
        """Judge a claim against (title, sentence) pairs with the judge of a knowledge base.

        Raises QueueFullError, TimeoutError if there is no free place, or at the deadline.
        """
        queue = self.queue(kb)

        def judge() -> Judgement:
            with queue.open_system() as system:
                return system.prove(claim, evidence)

        with queue.reserve():
            return await asyncio.wait_for(asyncio.to_thread(judge), self.limits.deadline)

    @property
    def problem(self) -> str:
        """Why requests cannot be answered from the newest versions; empty if they can."""
        for name, queue in self.queues.items():
            if not queue.alive:
                return f"{name}: claims are not being processed"
            if problem := queue.refresh():
                return f"{name}: {problem}"
        return ""

    def close(self) -> None:
        """Complete the claims that were accepted, then close the knowledge bases."""
        for queue in self.queues.values():
            queue.close()
            queue.system.close()


def kb_names(kbs: Sequence[str]) -> list[str]:
    """Return the names of knowledge bases, the last parts of their paths.

    Raises AdmiralError if two have the same name.
    """
    names = [Path(kb).resolve().name for kb in kbs]
    for name in names:
        if names.count(name) > 1:
            raise AdmiralError(f"--kb: two knowledge bases are named {name!r}. Rename a directory")
    return names


def check_kbs(kbs: Sequence[str], config: RetrievalConfig) -> None:
    """Check the settings, and that knowledge bases can be opened.

    Raises AdmiralError if a setting is invalid, two knowledge bases have the same name, or one
    cannot be opened.
    """
    kb_names(kbs)
    for kb in kbs:
        KnowledgeBase.open(locate(kb), bm25=None if config.bm25 == "auto" else config.bm25).close()
