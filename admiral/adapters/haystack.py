"""Retrieve in a Haystack pipeline; needs the extra ``haystack``."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from admiral.requirements import missing_extra

try:
    from haystack import Document, component
    from haystack.utils import Secret
except ImportError as error:
    raise missing_extra("haystack", "the retriever of Haystack") from error

from admiral.adapters import retrieved_documents
from admiral.client import Client
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.pipeline import Admiral


@component
class AdmiralRetriever:
    """Retrieve documents that verify or refute a claim, in several hops.

    The component can be saved with its pipeline, since its parameters are names, paths and
    settings. The model is loaded by `warm_up`, which pipelines call, or by the first run.

    - `model`, `kb`: names or directories; the bundled ones by default. With `url`, `kb` is the name
      of a knowledge base of the service; its first one by default.
    - `hops`: ``dynamic`` or a number; the default of the settings if not given.
    - `settings`: other settings by name; see `admiral.RetrievalConfig`.
    - `url`: address of an `admiral serve` that retrieves in place of this process. It has a model
      and settings of its own.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        kb: str | Path | None = None,
        top_k: int = 10,
        hops: str | int | None = None,
        settings: dict[str, Any] | None = None,
        url: str | None = None,
        api_key: Secret | None = None,
    ) -> None:
        self.model = None if model is None else str(model)
        self.kb = None if kb is None else str(kb)
        self.url, self.api_key = url, api_key
        self.top_k, self.hops, self.settings = top_k, hops, dict(settings or {})
        _check_top_k(top_k)
        if url is not None and (model is not None or settings):
            raise AdmiralError(
                "AdmiralRetriever: url: a service has its own model and settings; leave `model` "
                "and `settings` out"
            )
        given = self.settings if hops is None else {**self.settings, "hops": str(hops)}
        self._config = RetrievalConfig.build(("AdmiralRetriever", key, given[key]) for key in given)
        self._system: Admiral | Client | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Load the model and open the knowledge base, unless they are open."""
        self._open()

    def _open(self) -> Admiral | Client:
        with self._opening:
            if self._system is None and self.url is not None:
                key = None if self.api_key is None else self.api_key.resolve_value()
                self._system = Client(self.url, kb=self.kb, api_key=key)
            elif self._system is None:
                self._system = Admiral.from_pretrained(self.model, self.kb, config=self._config)
            return self._system

    def close(self) -> None:
        """Release the model and the knowledge base; the next run opens them again."""
        with self._opening:
            if self._system is not None:
                self._system.close()
                self._system = None

    @component.output_types(documents=list[Document], record=dict[str, Any])
    def run(
        self, query: str, top_k: int | None = None, hops: str | int | None = None
    ) -> dict[str, Any]:
        """Retrieve for one claim.

        `top_k`, `hops`: override those of the component. Returns ``documents``, best first, with
        the title as `id` and the metadata of `RetrievedDocument` as `meta`; and ``record``, the
        whole result as `admiral retrieve --json` prints it.
        """
        limit = self.top_k if top_k is None else top_k
        _check_top_k(limit)
        system = self._open()
        result = system.retrieve(query, self.hops if hops is None else hops)
        documents = [
            Document(id=each.title, content=each.text, score=each.score, meta=each.metadata)
            for each in retrieved_documents(system, result, limit)
        ]
        return {"documents": documents, "record": result.to_json()}

    @component.output_types(documents=list[Document], record=dict[str, Any])
    async def run_async(
        self, query: str, top_k: int | None = None, hops: str | int | None = None
    ) -> dict[str, Any]:
        """Retrieve for one claim without blocking the event loop; see `run`."""
        return await asyncio.to_thread(self.run, query, top_k, hops)


def _check_top_k(top_k: int) -> None:
    if top_k < 1:
        raise AdmiralError(f"AdmiralRetriever: top_k={top_k} is too small; the minimum is 1")
