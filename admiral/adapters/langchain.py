"""Retrieve in LangChain; needs the extra ``langchain``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from admiral.requirements import missing_extra

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableConfig
    from pydantic import ConfigDict, Field
except ImportError as error:
    raise missing_extra("langchain", "the retriever of LangChain") from error

from admiral.adapters import (
    RetrievedDocument,
    aretrieved_documents,
    fetched_documents,
    retrieved_documents,
)
from admiral.client import AsyncClient, Client
from admiral.errors import AdmiralError
from admiral.pipeline import Admiral
from admiral.records import Claim, RetrievalResult

# The documents of a claim, or the error that it raised.
Outcome = list[Document] | Exception


class AdmiralRetriever(BaseRetriever):
    """Retrieve documents that verify or refute a claim, in several hops.

    `invoke`, `ainvoke`, `batch` and `abatch` take claims as text. The claims of a batch are
    processed together, as in `Admiral.retrieve_many`. `system`: an open system, or the client of a
    service. Several retrievers may share it, and the caller closes it. With an `AsyncClient`, only
    `ainvoke` and `abatch` work. `hops`: ``dynamic`` or a number; the setting of the system if not
    given.
    """

    model_config = ConfigDict(extra="forbid")  # the default ignores unknown parameters

    system: Admiral | Client | AsyncClient
    k: int = Field(default=10, gt=0)
    hops: str | int | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        system = self._blocking()
        return self._documents(system, system.retrieve(query, self.hops))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = await aretrieved_documents(self.system, query, self.hops, self.k)
        return list(map(_document, found))

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
            system = self._blocking()
            results = system.retrieve_many(_claims(texts), self.hops)
            return _outcomes(texts, [self._documents(system, result) for result in results])

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

        async def retrieve(texts: list[str]) -> list[Outcome]:
            system = self.system
            if isinstance(system, AsyncClient):
                many = system.retrieve_many(_claims(texts), self.hops)
                return _outcomes(texts, [await self._fetched(system, each) async for each in many])
            results = system.aretrieve_many(_claims(texts), self.hops)
            collected = [result async for result in results]
            documents = await asyncio.to_thread(
                lambda: [self._documents(system, result) for result in collected]
            )
            return _outcomes(texts, documents)

        return await self._abatch_with_config(
            retrieve, inputs, config, return_exceptions=return_exceptions, run_type="retriever"
        )

    def _blocking(self) -> Admiral | Client:
        if isinstance(self.system, AsyncClient):
            raise AdmiralError(
                "AdmiralRetriever: system: an AsyncClient is used by ainvoke and abatch only; give "
                "a Client for invoke and batch"
            )
        return self.system

    def _documents(self, system: Admiral | Client, result: RetrievalResult) -> list[Document]:
        return list(map(_document, retrieved_documents(system, result, self.k)))

    async def _fetched(self, client: AsyncClient, result: RetrievalResult) -> list[Document]:
        return list(map(_document, await fetched_documents(client, result, self.k)))


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
