"""Build the stages that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from admiral.models.checkpoint import Checkpoint
from admiral.models.devices import choose_device, choose_dtype
from admiral.protocols import (
    FirstStage,
    GraphProximity,
    GraphSearch,
    HopRetriever,
    SentenceReranker,
    Stages,
    TitleScorer,
)
from admiral.requirements import MINILM, minilm_directory
from admiral.retrieval.cross_encoder import CrossEncoderReranker
from admiral.retrieval.document_ranking import (
    GENERATIVE_FEATURES,
    GRAPH_FEATURES,
    NetworkDocumentScorer,
)
from admiral.retrieval.evidence import PassageReader
from admiral.retrieval.first_stage import Bm25FirstStage, FusedFirstStage
from admiral.retrieval.hop_retriever import (
    ForcedTitleScorer,
    HyperlinkHopRetriever,
    NoGenerator,
    TrieHopRetriever,
)
from admiral.retrieval.mean_pooling import PASSAGE_TOKENS, MeanPoolingEncoder
from admiral.retrieval.mentions import TitleMentionFinder
from admiral.retrieval.proving import build_judge
from admiral.retrieval.rerankers import BM25Reranker, CombinedReranker, SimilarityReranker


class Graph(GraphSearch, GraphProximity, Protocol):
    """The two stages that read a graph, such as `admiral.graph.GraphCandidates`."""


def build_stages(
    kb: KnowledgeBase,
    checkpoint: Checkpoint,
    config: RetrievalConfig,
    graph: Graph | None = None,
) -> Stages:
    """Build all stages, with a graph if there is one to use (`admiral.graph.graph_to_use`).

    Raises
    ------
    AdmiralError
        If a stage lacks a file or a package, or a setting exceeds what the model supports.
    """
    generator = build_generator(kb, checkpoint, config) if config.generator else None
    title_generator = generator if config.title_beams else None
    first_stage: FirstStage = Bm25FirstStage(kb)
    if title_generator is not None or config.mentions or graph is not None:
        first_stage = FusedFirstStage(kb, title_generator, graph)
    hop_retriever: HopRetriever = generator or NoGenerator()
    if config.hyperlinks:
        hop_retriever = HyperlinkHopRetriever(hop_retriever, kb)
    document_scorer = build_document_scorer(config, graph=graph is not None)
    # Weights that give the generative scores, or proximity, no weight save their computation.
    generative = document_scorer is not None and document_scorer.reads(GENERATIVE_FEATURES)
    proximity = document_scorer is not None and document_scorer.reads(GRAPH_FEATURES)
    if proximity and graph is None:
        raise AdmiralError(
            f"setting 'ranking_weights': {config.ranking_weights} has weights for the graph. Set "
            "graph=true, or give weights that were fitted without it"
        )
    stages = Stages(
        first_stage,
        build_reranker(checkpoint, config, kb),
        build_judge(checkpoint, config),
        hop_retriever,
        TitleMentionFinder(kb, aliases=config.aliases) if config.mentions else None,
        build_title_scorer(kb, checkpoint, config) if generative else None,
        document_scorer,
        PassageReader(kb, config.rerank_sentences, config.rerank_characters),
        graph,
        graph if proximity else None,
    )
    if stages.max_evidence is not None and config.evidence > stages.max_evidence:
        raise AdmiralError(
            f"setting 'evidence': {config.evidence} is too large; {checkpoint.path} has tokens to "
            f"name {stages.max_evidence} sentences, so give {stages.max_evidence} or less"
        )
    return stages


def build_generator(
    kb: KnowledgeBase, checkpoint: Checkpoint, config: RetrievalConfig
) -> TrieHopRetriever:
    """Build the hop retriever that generates documents; it opens the title trie."""
    return TrieHopRetriever(
        checkpoint.model,
        checkpoint.tokens,
        kb.title_trie(checkpoint.tokens),
        kb,
        beam_size=config.beam_size,
        title_beams=max(config.title_beams, 1),
        normalise=config.trie_normalised,
        variant=config.variant,
    )


def build_title_scorer(
    kb: KnowledgeBase, checkpoint: Checkpoint, config: RetrievalConfig
) -> TitleScorer | None:
    """Build the title scorer; None without a generator, or for a variant without such scores."""
    if not config.generator or config.variant == "joint-docs":
        return None
    return ForcedTitleScorer(
        checkpoint.model,
        checkpoint.tokens,
        kb.title_trie(checkpoint.tokens),
        config.trie_normalised,
        config.variant,
    )


def build_sentence_encoder(config: RetrievalConfig) -> MeanPoolingEncoder:
    """Build the encoder of the similarity reranker."""
    device, dtype = choose_device(config.device), choose_dtype(config)
    return MeanPoolingEncoder(minilm_directory(), MINILM, device=device, dtype=dtype)


def build_passage_encoder(
    config: RetrievalConfig, directory: Path | None = None
) -> MeanPoolingEncoder:
    """Build the encoder of the passages of a library, which are longer than sentences.

    `directory`: of the encoder; all-MiniLM-L6-v2 by default. Raises AdmiralError if there is none.
    """
    if directory is not None and not (directory / "model.safetensors").is_file():
        raise AdmiralError(
            f"{directory}: there is no model.safetensors. Give the directory of an encoder with "
            "mean pooling, as training.dense_retriever writes it"
        )
    place = minilm_directory() if directory is None else directory
    name = MINILM if directory is None else directory.name
    device, dtype = choose_device(config.device), choose_dtype(config)
    return MeanPoolingEncoder(place, name, device=device, dtype=dtype, max_tokens=PASSAGE_TOKENS)


def build_reranker(
    checkpoint: Checkpoint, config: RetrievalConfig, kb: KnowledgeBase | None = None
) -> SentenceReranker:
    """Build the sentence reranker; it uses the sentence vectors that `kb` stores, if any."""
    if config.reranker == "cross-encoder":
        return CrossEncoderReranker(checkpoint)
    if config.reranker == "bm25":
        return BM25Reranker()
    encoder = build_sentence_encoder(config)
    similarity = SimilarityReranker(encoder, None if kb is None else kb.stored_vectors(encoder))
    if config.reranker == "similarity":
        return similarity
    return CombinedReranker(
        [similarity, BM25Reranker()],
        CrossEncoderReranker(checkpoint) if config.cross_encoder_documents else None,
        config.cross_encoder_documents,
    )


def build_document_scorer(
    config: RetrievalConfig, *, graph: bool = False
) -> NetworkDocumentScorer | None:
    """Build the document scorer; None unless the setting `ranking` is ``learned``.

    The weights are those of the settings, or else the bundled ones for retrieval with or without a
    graph.
    """
    if config.ranking != "learned":
        return None
    if not config.ranking_weights:
        return NetworkDocumentScorer.bundled(graph=graph)
    try:
        return NetworkDocumentScorer.read(Path(config.ranking_weights))
    except AdmiralError as error:
        raise AdmiralError(f"setting 'ranking_weights': {error}") from error
