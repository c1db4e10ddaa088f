"""What runs on the nodes: the whole pipeline, opened once, answering lots of claims.

What travels is JSON: the nodes need to agree on our records, not on our classes, and Ray never
gets to take an object of ours apart.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from admiral.config import FILE_SETTINGS, RetrievalConfig
from admiral.errors import AdmiralError
from admiral.models.devices import choose_precision
from admiral.records import Claim, RetrievalResult
from admiral.storage.bundled_names import is_bundled


class System(Protocol):
    """What a worker asks of the pipeline."""

    def retrieve_many(self, claims: Iterable[Claim]) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order."""
        ...


Opener = Callable[[RetrievalConfig], System]


def open_system(config: RetrievalConfig) -> System:
    """Open the checkpoint and, by memory map, the knowledge base of this node."""
    from admiral.pipeline import Admiral

    return Admiral.from_pretrained(config.model, kb=config.kb, config=config)


def worker_config(config: RetrievalConfig, cpus: int, gpus: float) -> RetrievalConfig:
    """Return the settings of a worker that has so many CPUs and GPUs, with absolute paths.

    Raises
    ------
    AdmiralError
        If the settings ask for a GPU and it has none.
    """
    device = config.device
    if device.startswith("cuda"):
        if not gpus:
            raise AdmiralError(f"device {device!r}: the workers have no GPU; add --gpus-per-worker")
        device = "cuda"  # Ray shows a worker only its own
    if device == "auto" and not gpus:
        device = "cpu"
    made = replace(config, device=device, threads=config.threads or cpus)
    # Decided here, so that it is the same on all nodes; those that have GPUs may not be this one.
    made.precision = choose_precision(replace(made, device="cuda") if gpus else made)
    for key in ("model", "kb", *FILE_SETTINGS):
        value = getattr(config, key)
        if value and not is_bundled(value) and Path(value).exists():
            # A worker has another current directory.
            setattr(made, key, str(Path(value).absolute()))
    return made


class Worker:
    """An actor that answers claims, and is thrown away after the first fault.

    Parameters
    ----------
    config
        The settings, as `worker_config` made them.
    opener
        Opens the pipeline.
    """

    def __init__(self, config: RetrievalConfig, opener: Opener) -> None:
        self._config, self._opener = config, opener
        self._system: System | None = None

    def open(self, expected: str) -> str:
        """Open the pipeline; return why that cannot be, or nothing.

        Parameters
        ----------
        expected
            The run's settings as JSON, with what identifies the checkpoint and the knowledge base.
        """
        from admiral.retrieval.provenance import recorded_settings

        try:
            here, there = recorded_settings(self._config), json.loads(expected)
            for key in sorted(here.keys() | there.keys()):
                if here.get(key) != there.get(key):
                    raise AdmiralError(
                        f"{key} is {here.get(key)!r} and not {there.get(key)!r} as where the run "
                        "was started. Install the same release, model and knowledge base, at the "
                        "same place, on every node"
                    )
            self._system = self._opener(self._config)
        except AdmiralError as error:
            return f"node {platform.node()}: {error}"
        return ""

    def answer(self, claims: str) -> str:
        """Return ``{"records": [...]}`` for the claims that `encode_claims` wrote.

        If the pipeline raises an error it is ``{"error": "..."}`` instead.
        """
        assert self._system is not None
        asked = [Claim(id, text) for id, text in json.loads(claims)]
        try:
            records = [result.to_json() for result in self._system.retrieve_many(asked)]
        except Exception as error:
            return json.dumps({"error": _told(error)})
        return json.dumps({"records": records})


def encode_claims(claims: Sequence[Claim]) -> str:
    """Return claims as they are sent to a worker."""
    return json.dumps([[claim.id, claim.text] for claim in claims])


def _told(error: Exception) -> str:
    text, kind = " ".join(str(error).split())[:500], type(error).__name__
    if isinstance(error, AdmiralError):
        return text
    return f"{kind}: {text}" if text else kind


def decode_answer(answer: str) -> tuple[list[dict[str, Any]], str]:
    """Return the records of an answer, or the error."""
    value = json.loads(answer)
    return value.get("records", []), value.get("error", "")
