"""The worker on a node: opens the pipeline once and retrieves chunks of claims.

Claims and results are sent as JSON, so that nodes only have to agree on the format of records, and
Ray pickles no objects of this package.
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


class RetrievalSystem(Protocol):
    """The method of the pipeline that a worker calls; see `admiral.pipeline.Admiral`."""

    def retrieve_many(self, claims: Iterable[Claim]) -> Iterator[RetrievalResult]:
        """Yield a result for each claim, in order."""
        ...


Opener = Callable[[RetrievalConfig], RetrievalSystem]


def open_system(config: RetrievalConfig) -> RetrievalSystem:
    """Open the checkpoint and the knowledge base of this node."""
    from admiral.pipeline import Admiral

    return Admiral.from_pretrained(config.model, kb=config.kb, config=config)


def worker_config(config: RetrievalConfig, cpus: int, gpus: float) -> RetrievalConfig:
    """Return the settings of a worker, with absolute paths.

    Raises AdmiralError if the settings name a GPU and the worker has none.
    """
    device = config.device
    if device.startswith("cuda"):
        if not gpus:
            raise AdmiralError(f"device {device!r}: the workers have no GPU; add --gpus-per-worker")
        device = "cuda"  # Ray makes only its own GPU visible to a worker
    if device == "auto" and not gpus:
        device = "cpu"
    adapted = replace(config, device=device, threads=config.threads or cpus)
    # Resolved here to be the same on all nodes; this node may have no GPU even if the others do.
    adapted.precision = choose_precision(replace(adapted, device="cuda") if gpus else adapted)
    for key in ("model", "kb", *FILE_SETTINGS):
        value = getattr(config, key)
        if value and not is_bundled(value) and Path(value).exists():
            # Workers have another working directory.
            setattr(adapted, key, str(Path(value).absolute()))
    return adapted


class Worker:
    """A Ray actor that retrieves claims. It is replaced after its first failure.

    `config`: the settings; see `worker_config`. `opener`: opens the pipeline.
    """

    def __init__(self, config: RetrievalConfig, opener: Opener) -> None:
        self._config, self._opener = config, opener
        self._system: RetrievalSystem | None = None

    def open(self, expected: str) -> str:
        """Open the pipeline; return an error message, which is empty if it succeeded."""
        from admiral.retrieval.provenance import recorded_settings

        try:
            own, driver = recorded_settings(self._config), json.loads(expected)
            for key in sorted(own.keys() | driver.keys()):
                if own.get(key) != driver.get(key):
                    raise AdmiralError(
                        f"{key} is {own.get(key)!r} and not {driver.get(key)!r} as where the run "
                        "was started. Install the same release, model and knowledge base, at the "
                        "same place, on every node"
                    )
            self._system = self._opener(self._config)
        except AdmiralError as error:
            return f"node {platform.node()}: {error}"
        return ""

    def retrieve(self, claims: str) -> str:
        """Retrieve claims.

        `claims`: JSON written by `encode_claims`. Returns ``{"records": [...]}`` as JSON, or
        ``{"error": "..."}`` if the pipeline raised an error.
        """
        assert self._system is not None
        batch = [Claim(id, text) for id, text in json.loads(claims)]
        try:
            records = [result.to_json() for result in self._system.retrieve_many(batch)]
        except Exception as error:
            return json.dumps({"error": _error_message(error)})
        return json.dumps({"records": records})


def encode_claims(claims: Sequence[Claim]) -> str:
    """Return claims as JSON for `Worker.retrieve`."""
    return json.dumps([[claim.id, claim.text] for claim in claims])


def _error_message(error: Exception) -> str:
    text, kind = " ".join(str(error).split())[:500], type(error).__name__
    if isinstance(error, AdmiralError):
        return text
    return f"{kind}: {text}" if text else kind


def decode_results(results: str) -> tuple[list[dict[str, Any]], str]:
    """Return the records and the error (empty if there was none) from `Worker.retrieve`."""
    value = json.loads(results)
    return value.get("records", []), value.get("error", "")
