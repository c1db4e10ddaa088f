"""The bundled checkpoint over the demo knowledge base, opened once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from admiral import Admiral, RetrievalConfig


@pytest.fixture(scope="session")
def system(user_cache: None) -> Iterator[Admiral]:
    config = RetrievalConfig(beam_size=8, rerank_documents=8, top_k=20, title_beams=4)
    with Admiral.from_pretrained(config=config) as opened:
        yield opened
