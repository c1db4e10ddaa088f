"""The real pipeline, but for claims that make it raise an error, hang or kill its process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator

from admiral import RetrievalConfig
from admiral.cluster.worker import System, open_system
from admiral.errors import AdmiralError
from admiral.records import Claim, RetrievalResult


class Poisoned:
    def __init__(self, system: System) -> None:
        self._system = system

    def retrieve_many(self, claims: Iterable[Claim]) -> Iterator[RetrievalResult]:
        asked = list(claims)
        for claim in asked:
            if "deadly" in claim.text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "poisonous" in claim.text:
                raise ValueError("poison")
            if "endless" in claim.text:
                time.sleep(3600)
        yield from self._system.retrieve_many(asked)


def open_poisoned(config: RetrievalConfig) -> System:
    return Poisoned(open_system(config))


def open_nothing(config: RetrievalConfig) -> System:
    raise AdmiralError("kb: is not there. Bring it")


def open_and_die(config: RetrievalConfig) -> System:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
