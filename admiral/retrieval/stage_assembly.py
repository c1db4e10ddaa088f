"""From settings to stages: which implementation of each stage a configuration names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from admiral.models.checkpoint import Checkpoint
from admiral.models.devices import choose_device, choose_dtype
from admiral.models.heads import load_sufficiency_head
from admiral.protocols import FirstStage, HopRetriever, SentenceReranker, SufficiencyJudge
from admiral.ranking.document_scorer import Relevance
from admiral.reranking.bm25_sentences import TermReranker
from admiral.reranking.combined import CombinedReranker
from admiral.reranking.cross_encoder import CrossEncoderReranker
from admiral.reranking.similarity import SimilarityReranker, minilm_directory
from admiral.retrieval.first_stage import Bm25FirstStage, FusedFirstStage
from admiral.retrieval.hop_retriever import TrieHopRetriever
from admiral.retrieval.hyperlinks import LinkedRetriever
from admiral.retrieval.lexicon_settings import open_lexicon
from admiral.retrieval.mentions import MentionFinder
from proofs.generation.generator import ProofGenerator
from proofs.judges.basic import AlwaysSufficient, GeneratedProofJudge, LexicalJudge, NeverSufficient
from proofs.judges.calibrated import CalibratedJudge, Weights
from proofs.judges.classifier import ClassifierJudge
from trie import NoIdentifierError


@dataclass(frozen=True, slots=True)
class Stages:
    """The four stages; replace one to try another (see `admiral.protocols`)."""

    first: FirstStage
    reranker: SentenceReranker
    judge: SufficiencyJudge
    retriever: HopRetriever


def build_stages(kb: KnowledgeBase, checkpoint: Checkpoint, config: RetrievalConfig) -> Stages:
    """Build the stages that the settings name.

    Raises
    ------
    AdmiralError
        If a stage lacks a file or a package, or a setting is more than the model can do.
    """
    _check_evidence(checkpoint, config.evidence)
    retriever = TrieHopRetriever(
        checkpoint.model,
        checkpoint.tokens,
        kb.title_trie(checkpoint.tokens),
        kb,
        beam_size=config.beam_size,
        title_beams=max(config.title_beams, 1),
        normalise=config.trie_normalised,
        variant=config.variant,
    )
    generator = retriever if config.title_beams else None
    mentions = MentionFinder(kb) if config.mentions else None
    first: FirstStage = Bm25FirstStage(kb)
    if generator or mentions:
        first = FusedFirstStage(kb, generator, mentions)
    reranker, judge = _reranker(checkpoint, config), build_judge(checkpoint, config)
    last = LinkedRetriever(retriever, kb) if config.hyperlinks else retriever
    return Stages(first, reranker, judge, last)


def _check_evidence(checkpoint: Checkpoint, count: int) -> None:
    """Refuse more sentences than the vocabulary has identifiers for."""
    for number in range(count):
        try:
            checkpoint.tokens.identifier(number)
        except NoIdentifierError as error:
            raise AdmiralError(
                f"setting 'evidence': {count} is too large; {checkpoint.path} has tokens to name "
                f"{number} sentences, so give {number} or less"
            ) from error


def _reranker(checkpoint: Checkpoint, config: RetrievalConfig) -> SentenceReranker:
    if config.reranker == "cross-encoder":
        return CrossEncoderReranker(checkpoint)
    if config.reranker == "bm25":
        return TermReranker()
    similarity = SimilarityReranker(
        minilm_directory(), device=choose_device(config.device), dtype=choose_dtype(config)
    )
    if config.reranker == "similarity":
        return similarity
    return CombinedReranker(
        [similarity, TermReranker()],
        CrossEncoderReranker(checkpoint),
        config.cross_encoder_documents,
    )


def build_judge(checkpoint: Checkpoint, config: RetrievalConfig) -> SufficiencyJudge:
    """Build the judge that the settings name."""
    match config.judge:
        case "never":
            return NeverSufficient()
        case "always":
            return AlwaysSufficient()
        case "lexical":
            return LexicalJudge(open_lexicon(config))
        case "calibrated":
            return CalibratedJudge(_weights(config), open_lexicon(config))
        case "classifier":
            head = load_sufficiency_head(checkpoint.path, 2 * checkpoint.model.width)
            return ClassifierJudge(checkpoint.model, checkpoint.tokens, *head)
        case _:
            return GeneratedProofJudge(
                ProofGenerator(
                    checkpoint.model, checkpoint.tokens, stop_at_independence=config.early_exit
                )
            )


def build_relevance(config: RetrievalConfig) -> Relevance | None:
    """Return what tells relevant documents by fitted weights; None where votes rank them."""
    if config.ranking != "learned":
        return None
    if not config.ranking_weights:
        return Relevance.bundled()
    try:
        return Relevance.read(Path(config.ranking_weights))
    except AdmiralError as error:
        raise AdmiralError(f"setting 'ranking_weights': {error}") from error


def _weights(config: RetrievalConfig) -> Weights | None:
    if not config.judge_weights:
        return None
    try:
        return Weights.read(Path(config.judge_weights))
    except ValueError as error:
        raise AdmiralError(f"setting 'judge_weights': {error} with training.judges") from error
