"""The knowledge bases that a service has opened, and the limits of requests."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.kb.store.contents import ChangedFileError
from admiral.models.checkpoint import Checkpoint
from admiral.pipeline import Admiral
from admiral.serving.claim_queue import ClaimMetrics, ClaimQueue
from admiral.serving.request_models import ProblemError
from proofs import Judgement

logger = logging.getLogger(__name__)


def open_system(kb: str, checkpoint: Checkpoint, config: RetrievalConfig) -> Admiral:
    """Open a knowledge base with a checkpoint that is open already.

    Raises AdmiralError if it cannot be opened.
    """
    opened = KnowledgeBase.open(
        locate(kb),
        bm25=None if config.bm25 == "auto" else config.bm25,
        title_weight=config.title_weight,
        text_weight=config.text_weight,
    )
    try:
        # Opens the index now: later, its files may be those of another version.
        opened.search(["a document"], 1)
        return Admiral(opened, checkpoint, config.changed(kb=kb))
    except BaseException:
        opened.close()
        raise


class KbReloader:
    """Check in a thread whether knowledge bases have changed, and replace those that have.

    Claims that have begun are completed on the version on which they began. While a knowledge base
    is removed, or another version of it is damaged, requests are answered from the version that is
    open. If a file of this version was cut off, or another file has its place that does not belong
    there, they are refused until the knowledge base can be opened again.

    `interval`: seconds between two checks.
    """

    def __init__(self, queues: Mapping[str, ClaimQueue], interval: float) -> None:
        self._queues, self._interval = queues, interval
        self._problems: dict[str, str] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="admiral-reload", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; a replacement that has begun is completed."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval):
            for name, queue in self._queues.items():
                try:
                    if _refresh(queue):
                        logger.info("%s: has changed and was opened again", name)
                    self._problems.pop(name, None)
                except Exception as error:
                    if self._problems.get(name) != str(error):
                        logger.warning("%s: cannot be opened again: %s", name, error)
                    self._problems[name] = str(error)


def _refresh(queue: ClaimQueue) -> bool:
    """Open a knowledge base again if it has changed; return whether it has."""
    system = queue.system
    files, is_current = system.kb.opened_files, system.kb.current
    replaced = files.replaced()
    if is_current and replaced is None and not _is_cut_off(system.kb):
        return False
    try:
        opened = open_system(str(system.kb.path), system.checkpoint, system.config)
    except AdmiralError:
        if is_current and replaced is not None:
            files.refuse(replaced, "another file has its place")
        raise
    queue.replace(opened).close()
    gc.collect()  # closed knowledge bases are in cycles, which hold their files
    return True


def _is_cut_off(kb: KnowledgeBase) -> bool:
    try:
        kb.opened_files.check()
    except ChangedFileError:
        return True
    return False


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
    reload_seconds
        Seconds between two checks whether a knowledge base has changed on disk.
    """

    places: int = 64
    deadline: float = 120.0
    body_bytes: int = 1_000_000
    page_bytes: int = 8_000_000
    upload_bytes: int = 200_000_000
    claim_characters: int = 5_000
    read_seconds: float = 30.0
    reload_seconds: float = 2.0

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
            name: ClaimQueue(system, self.limits.places, self.claim_metrics)
            for name, system in systems.items()
        }
        self._changing = threading.Lock()
        self._reloader = KbReloader(self.queues, self.limits.reload_seconds)

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
                    opened = first
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
        """Open one more knowledge base, which is not watched for changes.

        Raises AdmiralError if it cannot be opened.
        """
        first = self.queue(None).system
        opened = open_system(str(kb), first.checkpoint, first.config)
        with self._changing:
            queue = ClaimQueue(opened, self.limits.places, self.claim_metrics)
            self.queues = {**self.queues, name: queue}

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
    def ready(self) -> bool:
        """Whether all queues process claims, and the files of their knowledge bases are whole."""
        return all(
            queue.alive and not _is_cut_off(queue.system.kb) for queue in self.queues.values()
        )

    def close(self) -> None:
        """Complete the claims that were accepted, then close the knowledge bases."""
        self._reloader.close()
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
