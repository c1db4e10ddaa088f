"""Build the stages that the settings name, and the judge, which also works on given sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Protocol, TypeVar

import torch

from admiral.config import RetrievalConfig, names_of_retrievers
from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.kb import KnowledgeBase
from admiral.models.checkpoint import (
    Checkpoint,
    choose_device,
    choose_dtype,
    load_checkpoint,
    load_sufficiency_head,
    locate_checkpoint,
)
from admiral.models.verifiers import open_configured_verifier
from admiral.protocols import (
    FirstStage,
    GraphProximity,
    GraphSearch,
    HopRetriever,
    SentenceReranker,
    Stages,
    SufficiencyJudge,
    max_evidence,
)
from admiral.requirements import MINILM, encoder_directory
from admiral.retrieval.document_ranking import (
    GRAPH_FEATURES,
    NetworkDocumentScorer,
)
from admiral.retrieval.first_stage import Bm25FirstStage, FusedFirstStage, TitleMentionFinder
from admiral.retrieval.hop_retriever import (
    HyperlinkHopRetriever,
    NoGenerator,
    PerHopRetriever,
    TrieHopRetriever,
)
from admiral.retrieval.rerankers import (
    PASSAGE_TOKENS,
    BM25Reranker,
    CombinedReranker,
    CrossEncoderReranker,
    MeanPoolingEncoder,
    PointwiseReranker,
    SimilarityReranker,
)
from admiral.retrieval.state import PassageReader
from proofs import Judgement, NatOp, PairLexicon, SpanLexicon, default_lexicon
from proofs.generation import ProofGenerator
from proofs.judges.generated import ClassifierJudge, GeneratedProofJudge
from proofs.judges.judgement import AlwaysSufficient, LexicalJudge, NeverSufficient
from proofs.judges.verifier_judge import VerifierJudge

T = TypeVar("T")

# Judges that read the checkpoint.
MODEL_JUDGES = ("generated", "classifier")


def build_judge(checkpoint: Checkpoint | None, config: RetrievalConfig) -> SufficiencyJudge:
    """Build the sufficiency judge; only `MODEL_JUDGES` need a checkpoint."""
    match config.judge:
        case "never":
            return NeverSufficient()
        case "always":
            return AlwaysSufficient()
        case "lexical" | "verifier":
            lexicon = open_lexicon(config)
            if config.judge == "lexical" or not config.verifier:
                return LexicalJudge(lexicon)
            verifier = open_configured_verifier(config)
            return VerifierJudge(verifier, lexicon, stop_at=config.stop_at)
    assert checkpoint is not None
    if config.judge == "classifier":
        head = load_sufficiency_head(checkpoint.path, 2 * checkpoint.model.hidden_size)
        return ClassifierJudge(checkpoint.model, checkpoint.tokens, *head)
    try:
        generator = ProofGenerator(
            checkpoint.model, checkpoint.tokens, stop_at_independence=config.early_exit
        )
    except ValueError as error:
        raise AdmiralError(
            f"setting 'judge': {checkpoint.path} cannot write proofs ({error}); "
            "train it with training.prover or training.joint, or choose another judge"
        ) from error
    return GeneratedProofJudge(generator)


def open_lexicon(config: RetrievalConfig) -> SpanLexicon:
    """Return the built-in lexicon, followed by the word lists and WordNet if configured.

    Raises AdmiralError if a word list cannot be read; the message names the setting, the file and
    the line.
    """
    word_lists = [
        _read_word_list(key, path, operator)
        for key, path, operator in (
            ("antonyms", config.antonyms, NatOp.NEGATION),
            ("paraphrases", config.paraphrases, NatOp.EQUIVALENCE),
        )
        if path
    ]
    return default_lexicon(*word_lists, wordnet=config.wordnet)


def _read_word_list(key: str, path: str, operator: NatOp) -> PairLexicon:
    try:
        return PairLexicon.read(path, operator)
    except OSError as error:
        raise AdmiralError(f"setting {key!r}: {path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        remedy = "Each line holds words separated by tabs or spaces, in UTF-8"
        raise AdmiralError(f"setting {key!r}: {error}. {remedy}") from error


def open_judge(config: RetrievalConfig) -> SufficiencyJudge:
    """Open the judge of the settings, and the checkpoint only if the judge reads it.

    Raises AdmiralError if a setting is invalid, or the checkpoint or another file is missing or
    damaged.
    """
    checkpoint = None
    if config.threads and (config.judge in MODEL_JUDGES or config.verifier):
        torch.set_num_threads(config.threads)
    if config.judge in MODEL_JUDGES:
        checkpoint = _load(config.prover or config.model, config)
    return build_judge(checkpoint, config)


def judge_evidence(
    judge: SufficiencyJudge, claim: str, evidence: Sequence[tuple[str, str]]
) -> Judgement:
    """Judge a claim against (title, sentence) pairs.

    Raises AdmiralError if an argument is of another type, or there are more sentences than the
    judge accepts.
    """
    if not isinstance(claim, str):
        raise AdmiralError(f"claim: is of type {type(claim).__name__}; give a text")
    pairs = list(map(_clean_pair, evidence, count(1)))
    limit = max_evidence(judge)
    if limit is not None and len(pairs) > limit:
        raise AdmiralError(
            f"evidence: {len(pairs)} sentences are too many for this judge; its model has "
            f"tokens to name {limit}, so give {limit} or less"
        )
    text = clean_text(claim)
    (judgement,) = judge.judge([text], [pairs])
    return judgement.located(text, pairs)


def _clean_pair(given: tuple[str, str], number: int) -> tuple[str, str]:
    match given:
        case (str(title), str(sentence)):
            return clean_title(title), clean_text(sentence)
    raise AdmiralError(f"evidence {number}: is not a (title, sentence) pair; the title may be ''")


class Graph(GraphSearch, GraphProximity, Protocol):
    """The two stages that read a graph, such as `admiral.graph.GraphCandidates`."""


def build_stages(
    kb: KnowledgeBase,
    checkpoint: Checkpoint,
    config: RetrievalConfig,
    graph: Graph | None = None,
    known: Stages | None = None,
) -> Stages:
    """Build all stages, with a graph if there is one to use (`admiral.graph.graph_to_use`).

    `known`: stages for another version of the knowledge base, whose judge is used again. Raises
    AdmiralError if a stage lacks a file or a package, or a setting exceeds what the model supports.
    """
    models = Models(checkpoint, config)
    prover = models["prover"] if config.judge in MODEL_JUDGES and known is None else None
    generator = build_generator(kb, models, config) if config.generator else None
    title_generator = generator if config.title_beams else None
    first_stage: FirstStage = Bm25FirstStage(kb)
    if title_generator is not None or config.mentions or graph is not None:
        first_stage = FusedFirstStage(kb, title_generator, graph)
    hop_retriever: HopRetriever = generator or NoGenerator()
    if config.hyperlinks:
        hop_retriever = HyperlinkHopRetriever(hop_retriever, kb)
    document_scorer = build_document_scorer(config, graph=graph is not None)
    # Weights that give proximity no weight save its computation.
    proximity = document_scorer is not None and document_scorer.reads(GRAPH_FEATURES)
    if proximity and graph is None:
        raise AdmiralError(
            f"setting 'ranking_weights': {config.ranking_weights} has weights for the graph. Set "
            "graph=true, or give weights that were fitted without it"
        )
    stages = Stages(
        first_stage,
        build_reranker(models["reranker_model"], config, kb),
        build_judge(prover, config) if known is None else known.judge,
        hop_retriever,
        TitleMentionFinder(kb, aliases=config.aliases) if config.mentions else None,
        document_scorer,
        PassageReader(kb, config.rerank_sentences, config.rerank_characters),
        graph,
        graph if proximity else None,
    )
    if stages.max_evidence is not None and config.evidence > stages.max_evidence:
        raise AdmiralError(
            f"setting 'evidence': {config.evidence} is too large; {models} has tokens to "
            f"name {stages.max_evidence} sentences, so give {stages.max_evidence} or less"
        )
    return stages


class Models:
    """The checkpoints that the settings name, each loaded once."""

    def __init__(self, checkpoint: Checkpoint, config: RetrievalConfig) -> None:
        self._main, self._config = checkpoint, config
        self._loaded = {checkpoint.path.resolve(): checkpoint}

    def __getitem__(self, setting: str) -> Checkpoint:
        """Return the checkpoint of a setting, or of `model` if it is empty."""
        name = getattr(self._config, setting)
        return self._open(setting, name) if name else self._main

    def by_hop(self) -> list[Checkpoint]:
        """Return the checkpoints of hop 0, which generates titles from the claim, of hop 1, ..."""
        names = names_of_retrievers(self._config)
        later = [self._open("retriever_models", name) for name in names]
        return [self["title_model"], *(later or [self._main])]

    def __str__(self) -> str:
        return " and ".join(map(str, self._loaded))

    def _open(self, setting: str, name: str) -> Checkpoint:
        try:
            path = locate_checkpoint(name).resolve()
            if path not in self._loaded:
                self._loaded[path] = _load(name, self._config)
        except AdmiralError as error:
            raise AdmiralError(f"setting {setting!r}: {error}") from error
        return self._loaded[path]


def _load(name: str, config: RetrievalConfig) -> Checkpoint:
    return load_checkpoint(name, choose_device(config.device), choose_dtype(config))


def _by_hop(models: Models, build: Callable[[Checkpoint], T]) -> list[T]:
    """Return the stage of each hop, built once for each checkpoint; one if all hops share it."""
    checkpoints = models.by_hop()
    built = {path: build(one) for path, one in {one.path: one for one in checkpoints}.items()}
    return [built[one.path] for one in checkpoints] if len(built) > 1 else [*built.values()]


def build_generator(kb: KnowledgeBase, models: Models, config: RetrievalConfig) -> HopRetriever:
    """Build the hop retriever that generates documents; it opens the title trie."""

    def build(checkpoint: Checkpoint) -> TrieHopRetriever:
        return TrieHopRetriever(
            checkpoint.model,
            checkpoint.tokens,
            kb.title_trie(checkpoint.tokens),
            kb.title_index,
            beam_size=config.beam_size,
            title_beams=max(config.title_beams, 1),
            normalise=config.trie_normalised,
            variant=config.variant,
        )

    first, *later = _by_hop(models, build)
    return PerHopRetriever([first, *later]) if later else first


def build_sentence_encoder(config: RetrievalConfig) -> MeanPoolingEncoder:
    """Build the encoder of the similarity reranker.

    Raises AdmiralError if the setting ``sentence_encoder`` names none.
    """
    return _encoder(config.sentence_encoder, config)


def build_passage_encoder(
    config: RetrievalConfig, directory: Path | None = None
) -> MeanPoolingEncoder:
    """Build the encoder of the passages of a library.

    `directory`: of the encoder; all-MiniLM-L6-v2 by default. Raises AdmiralError if there is none.
    """
    return _encoder(MINILM if directory is None else str(directory), config)


def _encoder(name: str, config: RetrievalConfig) -> MeanPoolingEncoder:
    directory = encoder_directory(name)
    if not (directory / "model.safetensors").is_file():
        raise AdmiralError(
            f"{directory}: there is no model.safetensors. Give the directory of an encoder with "
            "mean pooling, as training.dense_retriever writes it"
        )
    device, dtype = choose_device(config.device), choose_dtype(config)
    return MeanPoolingEncoder(
        directory, Path(name).name, device=device, dtype=dtype, max_tokens=PASSAGE_TOKENS
    )


def build_reranker(
    checkpoint: Checkpoint, config: RetrievalConfig, kb: KnowledgeBase | None = None
) -> SentenceReranker:
    """Build the sentence reranker; it uses the sentence vectors that `kb` stores, if any."""
    if config.reranker == "cross-encoder":
        return CrossEncoderReranker(checkpoint, config.cross_encoder_tokens)
    if config.reranker == "pointwise":
        return PointwiseReranker(checkpoint)
    if config.reranker == "bm25":
        return BM25Reranker()
    encoder = build_sentence_encoder(config)
    similarity = SimilarityReranker(encoder, None if kb is None else kb.stored_vectors(encoder))
    if config.reranker == "similarity":
        return similarity
    return CombinedReranker([similarity, BM25Reranker()])


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
