"""Retrieve in LangChain; needs the extra ``langchain``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from admiral.requirements import missing_extra

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableConfig
    from pydantic import ConfigDict, Field
except ImportError as error:
    raise missing_extra("langchain", "the retriever of LangChain") from error

from admiral.adapters import RetrievedDocument, retrieved_documents
from admiral.client import Client
from admiral.errors import AdmiralError
from admiral.pipeline import Admiral
from admiral.records import Claim, RetrievalResult

# The documents of a claim, or the error that it raised.
Outcome = list[Document] | Exception


class AdmiralRetriever(BaseRetriever):
    """Retrieve documents that verify or refute a claim, in several hops.

    `invoke`, `ainvoke`, `batch` and `abatch` take claims as text. The claims of a batch are
    processed together, as in `Admiral.retrieve_many`. `system`: an open system, or the client of a
    service. Several retrievers may share it, and the caller closes it. `hops`: ``dynamic`` or a
    number; the setting of the system if not given.
    """

    model_config = ConfigDict(extra="forbid")  # the default ignores unknown parameters

    system: Admiral | Client
    k: int = Field(default=10, gt=0)
    hops: str | int | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self._documents(self.system.retrieve(query, self.hops))

    def batch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """Retrieve for several claims together; an empty claim does not fail the others."""

        def retrieve(texts: list[str]) -> list[Outcome]:
            results = self.system.retrieve_many(_claims(texts), self.hops)
            return _outcomes(texts, list(map(self._documents, results)))

        return self._batch_with_config(
            retrieve, inputs, config, return_exceptions=return_exceptions, run_type="retriever"
        )

    async def abatch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """Retrieve for several claims without blocking the event loop; see `batch`."""
        return await asyncio.to_thread(
            self.batch, inputs, config, return_exceptions=return_exceptions, **kwargs
        )

    def _documents(self, result: RetrievalResult) -> list[Document]:
        return list(map(_document, retrieved_documents(self.system, result, self.k)))


def _document(found: RetrievedDocument) -> Document:
    metadata = {**found.metadata, "score": found.score}
    return Document(id=found.title, page_content=found.text, metadata=metadata)


def _outcomes(texts: Sequence[str], documents: Sequence[list[Document]]) -> list[Outcome]:
    remaining = iter(documents)
    return [
        next(remaining)
        if text.strip()
        else AdmiralError(f"claim '{number}': is empty; give a sentence to verify")
        for number, text in enumerate(texts, 1)
    ]


def _claims(texts: Sequence[str]) -> Iterator[Claim]:
    return (Claim(str(number), text) for number, text in enumerate(texts, 1) if text.strip())
