"""Open the search of the settings: words, vectors or both, with generated titles or without."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from admiral.citations.citation_settings import CitationConfig
from admiral.citations.claim_context import ContextForm
from admiral.citations.source_search import QUERY_FORMS, Expansion, Fusion, SourceSearch
from admiral.citations.title_writer import TitleWriter
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.library import Library
from admiral.library.source_filters import SourceFilter, blocked_sites
from admiral.models.checkpoint import choose_device, load_checkpoint
from admiral.retrieval.rerankers import MeanPoolingEncoder
from admiral.retrieval.stage_assembly import build_passage_encoder

#: What a model reads to write a title: the title of the page, the sentence before, and the claim.
EXPANDER_CONTEXT: ContextForm = "sentence"


def open_search(library: Library, config: CitationConfig) -> SourceSearch:
    """Return the search of the settings over a library.

    Raises AdmiralError if a model of the settings cannot be opened, or the library has no vectors
    of the encoder.
    """
    expander = None
    if config.expander:
        try:
            checkpoint = load_checkpoint(config.expander, choose_device(config.device))
        except AdmiralError as error:
            raise AdmiralError(f"setting 'expander': {error}") from error
        expander = TitleWriter(checkpoint, EXPANDER_CONTEXT)
    return SourceSearch(
        library,
        sparse=None if config.index == "dense" else library,
        dense=None if config.index == "bm25" else library.dense(open_encoder(config)),
        form=QUERY_FORMS[config.query],
        fusion=cast(Fusion, config.fusion),
        filter=SourceFilter(blocked=blocked_sites(config.blocked_sites)),
        passages=config.sparse_passages,
        expander=expander,
        expansion=cast(Expansion, config.expansion),
    )


def open_encoder(config: CitationConfig) -> MeanPoolingEncoder:
    """Return the encoder of passages of the settings.

    Raises AdmiralError if it is no encoder with mean pooling, or is not installed.
    """
    runtime = RetrievalConfig(device=config.device, precision=config.precision)
    return build_passage_encoder(runtime, Path(config.encoder) if config.encoder else None)
