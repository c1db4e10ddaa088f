"""The bundled checkpoint over the demo knowledge base, opened once."""

import pytest

from admiral import Admiral, RetrievalConfig
from admiral.models.checkpoint import locate_checkpoint


@pytest.fixture(scope="session")
def model():
    return locate_checkpoint("mini")


@pytest.fixture(scope="session")
def system(user_cache, model):
    # In float32 on all processors: some tests compare it with the model itself.
    config = RetrievalConfig(
        beam_size=8, rerank_documents=8, top_k=20, title_beams=4, precision="fp32"
    )
    with Admiral.from_pretrained(model, config=config) as opened:
        yield opened


@pytest.fixture(scope="session")
def quick(system):
    """The same model and documents with stages that take little time."""
    config = RetrievalConfig(
        reranker="bm25",
        judge="lexical",
        beam_size=4,
        rerank_documents=8,
        top_k=20,
        title_beams=0,
        precision="fp32",
    )
    return Admiral(system.kb, system.checkpoint, config)
