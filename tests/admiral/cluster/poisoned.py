"""A pipeline in which some claims raise an error, hang or kill the process."""

import os
import signal
import time

from admiral.cluster.distributed_retrieval import open_system
from admiral.errors import AdmiralError


class Poisoned:
    def __init__(self, system):
        self._system = system

    def retrieve_many(self, claims):
        batch = list(claims)
        for claim in batch:
            if "deadly" in claim.text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "poisonous" in claim.text:
                raise ValueError("poison")
            if "endless" in claim.text:
                time.sleep(3600)
        yield from self._system.retrieve_many(batch)


def open_poisoned(config):
    return Poisoned(open_system(config))


def open_nothing(config):
    raise AdmiralError("kb: is not there. Bring it")


def open_and_die(config):
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
