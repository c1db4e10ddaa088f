"""The knowledge bases that a service has opened.

Each claim is retrieved for on the newest version of its knowledge base; those that have begun are
completed on theirs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint, choose_device, choose_dtype, load_checkpoint
from admiral.pipeline import Admiral, graph_to_use, open_kb
from admiral.records import Claim, Hop, RetrievalResult
from admiral.retrieval.stage_assembly import Stages, build_stages
from admiral.serving import metrics
from admiral.serving.claim_queue import ClaimQueue
from admiral.serving.jobs import Jobs
from admiral.serving.problems import ProblemError

Answer = TypeVar("Answer")


def open_system(
    kb: str | Path, checkpoint: Checkpoint, config: RetrievalConfig, known: Stages | None = None
) -> Admiral:
    """Open a knowledge base with a checkpoint that is open already.

    `known`: the stages of another version of it, whose models are used again.
    """
    opened = open_kb(kb, config)
    try:
        opened.search(["a document"], 1)
        config = config.changed(kb=str(kb))
        graph = graph_to_use(opened, config.graph)
        stages = build_stages(opened, checkpoint, config, graph, known)
        return Admiral(opened, checkpoint, config, stages)
    except BaseException:
        opened.close()
        raise


def _reopened(system: Admiral) -> Admiral | None:
    """Return a system of the newest version of a knowledge base; None if that is open already."""
    if system.kb.current:
        return None
    return open_system(system.kb.path, system.checkpoint, system.config, system.stages)


class Service:
    """Knowledge bases by name, each with a queue of claims; they share one checkpoint.

    `systems`: by the name of their knowledge base; they are closed with this object. The first is
    the default. `places`: claims of a knowledge base that may wait or be processed; also the
    largest batch. `deadline`: seconds until a request is given up.
    """

    def __init__(
        self, systems: Mapping[str, Admiral], places: int = 64, deadline: float = 120.0
    ) -> None:
        self.places, self.deadline, self.jobs = places, deadline, Jobs()
        self._changing = threading.Lock()
        #: Replaced as a whole by `add` and `remove`, since others may be reading it.
        self.queues: Mapping[str, ClaimQueue] = {}
        for name, system in systems.items():
            self._add(name, system)

    @classmethod
    def open(
        cls,
        kbs: Sequence[str],
        config: RetrievalConfig,
        places: int = 64,
        deadline: float = 120.0,
    ) -> Service:
        """Open knowledge bases by name or directory; the last part of a path is the name."""
        names = check_kbs(kbs, config)  # before the model is loaded
        checkpoint = load_checkpoint(
            config.model, choose_device(config.device), choose_dtype(config)
        )
        systems = [open_system(kb, checkpoint, config) for kb in kbs]
        return cls(dict(zip(names, systems, strict=True)), places, deadline)

    def queue(self, name: str | None) -> ClaimQueue:
        """Return the queue of a knowledge base; None stands for the first one.

        Raises ProblemError if there is no knowledge base with this name.
        """
        queues = self.queues
        name = next(iter(queues), "") if name is None else name
        if name not in queues:
            raise ProblemError(404, f"there is no knowledge base {name!r}", "See GET /v1/kbs", "kb")
        return queues[name]

    def add(self, name: str, kb: Path) -> None:
        """Open one more knowledge base; raise AdmiralError if it cannot be opened."""
        first = self.queue(None).system
        self._add(name, open_system(kb, first.checkpoint, first.config))

    def _add(self, name: str, system: Admiral) -> None:
        queue = ClaimQueue(system, self.places, _reopened)
        metrics.PLACES.labels(name).set(self.places)
        metrics.TAKEN.labels(name).set_function(lambda: queue.taken)
        metrics.WAITING.labels(name).set_function(lambda: queue.waiting)
        with self._changing:
            self.queues = {**self.queues, name: queue}

    def remove(self, name: str) -> None:
        """Complete the claims on a knowledge base and close it, if there is one of this name."""
        with self._changing:
            queues = dict(self.queues)
            queue = queues.pop(name, None)
            self.queues = queues
        if queue is not None:
            for gauge in (metrics.PLACES, metrics.TAKEN, metrics.WAITING):
                gauge.remove(name)
            queue.close()
            queue.system.close()

    async def use(self, kb: str | None, work: Callable[[Admiral], Answer]) -> Answer:
        """Return what a function makes of a system, in another thread and a place of its queue.

        Raises ProblemError, TimeoutError if there is no free place, or at the deadline.
        """
        queue = self.queue(kb)

        def run() -> Answer:
            with queue.open_system() as system:
                return work(system)

        with queue.reserve():
            return await asyncio.wait_for(asyncio.to_thread(run), self.deadline)

    async def follow(
        self, queue: ClaimQueue, claim: str, hops: str | int | None
    ) -> AsyncIterator[str | Hop | RetrievalResult]:
        """Yield what the stages of a claim do, its hops, and then its result.

        Raises TimeoutError at the deadline.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self.deadline
        events: asyncio.Queue[str | Hop | None] = asyncio.Queue()

        def put(event: str | Hop | None) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        (future,) = queue.submit([Claim("1", claim)], hops, put)
        future.add_done_callback(lambda _: put(None))
        try:
            while True:
                async with asyncio.timeout_at(end):
                    event = await events.get()
                if event is None:
                    break
                yield event
            yield future.result()
        finally:
            future.cancel()

    @property
    def problem(self) -> str:
        """Why requests cannot be answered from the newest versions; empty if they can."""
        for name, queue in self.queues.items():
            if problem := queue.refresh():
                return f"{name}: {problem}"
        return ""

    def close(self) -> None:
        """Stop the jobs, complete the claims that were accepted, and close the knowledge bases."""
        self.jobs.close()
        for name in self.queues:
            self.remove(name)


def check_kbs(kbs: Sequence[str], config: RetrievalConfig) -> list[str]:
    """Return the names of knowledge bases, the last parts of their paths."""
    names = [Path(kb).resolve().name for kb in kbs]
    for name, kb in zip(names, kbs, strict=True):
        if names.count(name) > 1:
            raise AdmiralError(f"--kb: two knowledge bases are named {name!r}. Rename a directory")
        open_kb(kb, config).close()
    return names
