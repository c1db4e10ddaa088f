"""Retrieve in LangChain; needs the extra ``langchain``."""

from __future__ import annotations

import asyncio
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

from admiral.adapters import retrieved_documents
from admiral.client import Client
from admiral.errors import AdmiralError
from admiral.pipeline import Admiral
from admiral.records import Claim, RetrievalResult


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

        def retrieve(texts: list[str]) -> list[list[Document] | Exception]:
            given = [Claim(str(n), text) for n, text in enumerate(texts, 1) if text.strip()]
            results = self.system.retrieve_many(given, self.hops)
            documents = dict(zip((claim.id for claim in given), results, strict=True))
            return [
                self._documents(documents[str(number)])
                if str(number) in documents
                else AdmiralError(f"claim '{number}': is empty; give a sentence to verify")
                for number in range(1, len(texts) + 1)
            ]

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
        return [
            Document(
                id=found.title,
                page_content=found.text,
                metadata={**found.metadata, "score": found.score},
            )
            for found in retrieved_documents(self.system, result, self.k)
        ]
