"""Retrieve in LlamaIndex; needs the extra ``llamaindex``."""

from __future__ import annotations

import asyncio
from typing import Any

from admiral.requirements import missing_extra

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing_extra("llamaindex", "the retriever of LlamaIndex") from error

from admiral.adapters import RetrievedDocument, retrieved_documents
from admiral.client import Client
from admiral.errors import AdmiralError
from admiral.pipeline import Admiral


class AdmiralRetriever(BaseRetriever):
    """Retrieve documents that verify or refute a claim, in several hops.

    - `system`: an open system, or the client of a service. Several retrievers may share it, and the
      caller closes it.
    - `hops`: ``dynamic`` or a number; the setting of the system if not given.
    - `options`: those of LlamaIndex's own retrievers, such as `callback_manager`.
    """

    def __init__(
        self,
        system: Admiral | Client,
        k: int = 10,
        hops: str | int | None = None,
        **options: Any,
    ) -> None:
        if k < 1:
            raise AdmiralError(f"AdmiralRetriever: k={k} is too small; the minimum is 1")
        self.system, self.k, self.hops = system, k, hops
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        result = self.system.retrieve(query_bundle.query_str, self.hops)
        return list(map(_node, retrieved_documents(self.system, result, self.k)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(found: RetrievedDocument) -> NodeWithScore:
    # Of the metadata, a language model or an encoder is to read the title only.
    others = [key for key in found.metadata if key != "title"]
    node = TextNode(
        id_=found.title,
        text=found.text,
        metadata=found.metadata,
        excluded_llm_metadata_keys=others,
        excluded_embed_metadata_keys=others,
    )
    return NodeWithScore(node=node, score=found.score)
