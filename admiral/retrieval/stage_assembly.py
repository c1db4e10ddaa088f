"""The stages of a system, and how they are built from the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path

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
    Graph,
    HopRetriever,
    SentenceReranker,
    SufficiencyJudge,
    claim_limits,
    max_evidence,
)
from admiral.requirements import encoder_directory
from admiral.retrieval.document_ranking import GRAPH_FEATURES, NetworkDocumentScorer
from admiral.retrieval.first_stage import Bm25FirstStage, FusedFirstStage, TitleMentionFinder
from admiral.retrieval.hop_retriever import (
    HyperlinkHopRetriever,
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

# Judges that read the checkpoint.
MODEL_JUDGES = ("generated", "classifier")


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a system, in their order; use `dataclasses.replace` to try another one."""

    # finds the documents that claims and evidence mention; None to ignore mentions
    mention_finder: TitleMentionFinder | None
    first_stage: FirstStage  # finds documents for the claim alone
    document_reader: PassageReader  # chooses the sentences of long documents that a hop reads
    reranker: SentenceReranker
    # scores documents by their features, for the choice of evidence and the final ranking; None to
    # choose evidence by sentences alone and to rank by votes
    document_scorer: NetworkDocumentScorer | None
    judge: SufficiencyJudge  # decides whether the evidence is sufficient
    # generates the documents of the next hop; None to read mentions and candidates only
    hop_retriever: HopRetriever | None
    # finds documents close to the evidence, and measures how close; None to do without
    graph: Graph | None

    @property
    def claim_limits(self) -> Mapping[str, int]:
        """The claim limits of all stages."""
        limits: dict[str, int] = {}
        for field in fields(self):
            limits.update(claim_limits(getattr(self, field.name)))
        return limits

    @property
    def max_evidence(self) -> int | None:
        """The number of evidence sentences that every stage accepts; None for any number."""
        limits = [max_evidence(getattr(self, field.name)) for field in fields(self)]
        return min((limit for limit in limits if limit is not None), default=None)


def build_stages(
    kb: KnowledgeBase,
    checkpoint: Checkpoint,
    config: RetrievalConfig,
    graph: Graph | None = None,
    known: Stages | None = None,
) -> Stages:
    """Build all stages, with a graph if there is one to use.

    `known`: stages for another version of the knowledge base, whose judge is used again. Raises
    AdmiralError if a stage lacks a file or a package, or a setting exceeds what the model supports.
    """
    models = Models(checkpoint, config)
    generator = build_generator(kb, models, config) if config.generator else None
    titles = generator if config.title_beams else None
    is_fused = titles is not None or config.mentions or graph is not None
    prover = models["prover"] if config.judge in MODEL_JUDGES and known is None else None
    stages = Stages(
        mention_finder=TitleMentionFinder(kb, aliases=config.aliases) if config.mentions else None,
        first_stage=FusedFirstStage(kb, titles, graph) if is_fused else Bm25FirstStage(kb),
        document_reader=PassageReader(kb, config.rerank_sentences, config.rerank_characters),
        reranker=build_reranker(models["reranker_model"], config, kb),
        document_scorer=build_document_scorer(config, graph=graph is not None),
        judge=build_judge(prover, config) if known is None else known.judge,
        hop_retriever=(
            HyperlinkHopRetriever(generator, kb) if config.hyperlinks and generator else generator
        ),
        graph=graph,
    )
    most = stages.max_evidence
    if most is not None and config.evidence > most:
        raise AdmiralError(
            f"setting 'evidence': {config.evidence} is too large; {models} has tokens to "
            f"name {most} sentences, so give {most} or less"
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


def build_generator(
    kb: KnowledgeBase, models: Models, config: RetrievalConfig
) -> TrieHopRetriever | PerHopRetriever:
    """Build the hop retriever that generates documents; it opens the title trie."""
    checkpoints = models.by_hop()
    built = {
        checkpoint.path: TrieHopRetriever(
            checkpoint.model,
            checkpoint.tokens,
            kb.title_trie(checkpoint.tokens),
            kb.title_index,
            beam_size=config.beam_size,
            title_beams=max(config.title_beams, 1),
            normalise=config.trie_normalised,
            variant=config.variant,
        )
        for checkpoint in {each.path: each for each in checkpoints}.values()
    }
    if len(built) > 1:
        return PerHopRetriever([built[checkpoint.path] for checkpoint in checkpoints])
    return built[checkpoints[0].path]


def build_sentence_encoder(config: RetrievalConfig, name: str = "") -> MeanPoolingEncoder:
    """Build an encoder by its name or directory, that of the setting by default.

    Raises AdmiralError if there is none.
    """
    name = name or config.sentence_encoder
    directory = encoder_directory(name)
    if not (directory / "model.safetensors").is_file():
        raise AdmiralError(
            f"{directory}: there is no model.safetensors. Give the directory of an encoder with "
            "mean pooling, as `python -m training dense_retriever` writes it"
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
    stored = None if kb is None else kb.stored_vectors(encoder)
    similarity = SimilarityReranker(encoder, None if stored is None else stored.unit_vectors)
    if config.reranker == "similarity":
        return similarity
    return CombinedReranker([similarity, BM25Reranker()])


def build_document_scorer(
    config: RetrievalConfig, *, graph: bool = False
) -> NetworkDocumentScorer | None:
    """Build the document scorer; None unless the setting `ranking` is ``learned``.

    The weights are those of the settings, or else the bundled ones for retrieval with or without a
    graph. Raises AdmiralError if they cannot be read, or need a graph and there is none.
    """
    if config.ranking != "learned":
        return None
    if not config.ranking_weights:
        return NetworkDocumentScorer.bundled(graph=graph)
    try:
        scorer = NetworkDocumentScorer.read(Path(config.ranking_weights))
    except AdmiralError as error:
        raise AdmiralError(f"setting 'ranking_weights': {error}") from error
    if not graph and scorer.reads(GRAPH_FEATURES):
        raise AdmiralError(
            f"setting 'ranking_weights': {config.ranking_weights} has weights for the graph. Set "
            "graph=true, or give weights that were fitted without it"
        )
    return scorer


def build_judge(checkpoint: Checkpoint | None, config: RetrievalConfig) -> SufficiencyJudge:
    """Build the sufficiency judge; only `MODEL_JUDGES` need a checkpoint."""
    match config.judge:
        case "never":
            return NeverSufficient()
        case "always":
            return AlwaysSufficient()
        case "lexical" | "verifier":
            if config.judge == "lexical" or not config.verifier:
                return LexicalJudge(open_lexicon(config))
            return VerifierJudge(open_configured_verifier(config), stop_at=config.stop_at)
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
            "train it with `python -m training prover` or `joint`, or choose another judge"
        ) from error
    return GeneratedProofJudge(generator)


def open_lexicon(config: RetrievalConfig) -> SpanLexicon:
    """Return the built-in lexicon, followed by the word lists and WordNet if configured.

    Raises AdmiralError if a word list cannot be read; the message names the setting, the file and
    the line.
    """
    word_lists = []
    for key, operator in (("antonyms", NatOp.NEGATION), ("paraphrases", NatOp.EQUIVALENCE)):
        if path := getattr(config, key):
            try:
                word_lists.append(PairLexicon.read(path, operator))
            except OSError as error:
                problem = f"{path}: cannot be read: {error.strerror}"
                raise AdmiralError(f"setting {key!r}: {problem}") from error
            except ValueError as error:
                remedy = "Each line holds words separated by tabs or spaces, in UTF-8"
                raise AdmiralError(f"setting {key!r}: {error}. {remedy}") from error
    return default_lexicon(*word_lists, wordnet=config.wordnet)


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
