"""Open knowledge bases again once they have changed on disk, without dropping a request."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import replace

from admiral.config import RetrievalConfig
from admiral.kb import KnowledgeBase, locate
from admiral.models.checkpoint import Checkpoint
from admiral.pipeline import Admiral
from admiral.serving.claim_queue import ClaimQueue

logger = logging.getLogger(__name__)


def open_system(kb: str, checkpoint: Checkpoint, config: RetrievalConfig) -> Admiral:
    """Open a knowledge base with a checkpoint that is open already.

    Raises
    ------
    AdmiralError
        If it cannot be opened.
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
        return Admiral(opened, checkpoint, replace(config, kb=kb))
    except BaseException:
        opened.close()
        raise


class KbReloader:
    """Check in a thread whether knowledge bases have changed, and replace those that have.

    Claims that have begun are completed on the version on which they began. While a knowledge base
    is removed or damaged, requests are answered from the version that is open.

    Parameters
    ----------
    queues
        The queues by the names of their knowledge bases.
    interval
        Seconds between two checks.
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
                    if not queue.system.kb.current:
                        _replace(queue)
                        logger.info("%s: has changed and was opened again", name)
                    self._problems.pop(name, None)
                except Exception as error:
                    if self._problems.get(name) != str(error):
                        logger.warning("%s: cannot be opened again: %s", name, error)
                    self._problems[name] = str(error)


def _replace(queue: ClaimQueue) -> None:
    system = queue.system
    opened = open_system(str(system.kb.path), system.checkpoint, system.config)
    former = queue.replace(opened)
    former.close()
