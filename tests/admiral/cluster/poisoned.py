"""A pipeline in which some claims raise an error, hang or kill the process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator

from admiral import RetrievalConfig
from admiral.cluster.worker import RetrievalSystem, open_system
from admiral.errors import AdmiralError
from admiral.records import Claim, RetrievalResult


class Poisoned:
    def __init__(self, system: RetrievalSystem) -> None:
        self._system = system

    def retrieve_many(self, claims: Iterable[Claim]) -> Iterator[RetrievalResult]:
        batch = list(claims)
        for claim in batch:
            if "deadly" in claim.text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "poisonous" in claim.text:
                raise ValueError("poison")
            if "endless" in claim.text:
                time.sleep(3600)
        yield from self._system.retrieve_many(batch)


def open_poisoned(config: RetrievalConfig) -> RetrievalSystem:
    return Poisoned(open_system(config))


def open_nothing(config: RetrievalConfig) -> RetrievalSystem:
    raise AdmiralError("kb: is not there. Bring it")


def open_and_die(config: RetrievalConfig) -> RetrievalSystem:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
