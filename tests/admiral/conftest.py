"""A checkpoint over the demo knowledge base, opened once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import admiral
from admiral import Admiral, RetrievalConfig
from admiral.checkpoint import RerankHead, save_checkpoint
from admiral.stages.similarity import minilm_directory
from training.warm_start import mini_tokenizer, warm_start


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled checkpoint; where a checkout lacks it, the untrained one that it starts from."""
    bundled = Path(admiral.__file__).parent / "data" / "mini"
    if bundled.is_dir():
        return bundled
    torch.manual_seed(0)
    source, out = minilm_directory(), tmp_path_factory.mktemp("warm")
    mini_tokenizer(source).save_pretrained(out)
    started = warm_start(source)
    save_checkpoint(out, started, RerankHead(started.lm_head.in_features), out)
    return out


@pytest.fixture(scope="session")
def system(user_cache: None, model: Path) -> Iterator[Admiral]:
    config = RetrievalConfig(beam_size=8, rerank_documents=8, top_k=20, title_beams=4)
    with Admiral.from_pretrained(model, config=config) as opened:
        yield opened
